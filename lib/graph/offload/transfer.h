/* The steps that write values to the graph's file and read them back. */
#ifndef NN_GRAPH_OFFLOAD_TRANSFER_H
#define NN_GRAPH_OFFLOAD_TRANSFER_H

#include "graph/steps.h"

/*
 * A step that waits for what was asked of the file before, and then asks for item `spilled` (-1:
 * nothing) to be written, or read where backward has it. Both stay in use until the next such step.
 */
void nn_steps_add_spill(struct nn_steps *to, int spilled, bool backward);

#endif
