/* The claims of graph.c over ten times as many networks. */
#define TIMES 10
#define FIRST_SEED 1000000000
#include "graph.c"
