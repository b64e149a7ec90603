/* Carried states of rows (nn_graph_options.states) from and to the host's memory, for files. */
#ifndef NN_GRAPH_STATES_H
#define NN_GRAPH_STATES_H

#include "graph/graph.h"

/* Bytes of a row, all layers together. */
size_t nn_graph_state_bytes(const struct nn_graph *graph);
/* Rows from .. to - 1, one after the other. */
void nn_graph_read_states(const struct nn_graph *graph, size_t from, size_t to, void *rows);
void nn_graph_write_states(struct nn_graph *graph, size_t from, size_t to, const void *rows);

#endif
