/* The claims of graph.c over five times as many networks. */
#define TIMES 5
#define FIRST_SEED 1000000000
#include "graph.c"
