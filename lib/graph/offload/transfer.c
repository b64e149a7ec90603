/*
 * Steps that write and read. Where the graph's memory is the host's a thread does it beside the
 * steps that follow; of a device's own it goes through a piece of host memory at once.
 */
#include <stdlib.h>

#include "base/memory.h"
#include "graph/instance.h"
#include "graph/offload/transfer.h"

struct spill_call {
	struct nn_call call;
	struct nn_spill *spill;
	struct nn_queue *queue;
	bool reads;
	char *memory; /* NULL: nothing goes */
	size_t at, bytes, row_bytes;
};

static void move_pieces(const struct spill_call *own, size_t bytes)
{
	char *piece = nn_spill_piece(own->spill);

	for (size_t at = 0, n; at < bytes && !nn_spill_failed(own->spill); at += n) {
		n = bytes - at < NN_SPILL_PIECE ? bytes - at : NN_SPILL_PIECE;
		if (own->reads) {
			nn_spill_read(own->spill, own->at + at, piece, n);
			nn_spill_settle(own->spill);
			nn_queue_write(own->queue, own->memory + at, piece, n);
		} else {
			nn_queue_read(own->queue, piece, own->memory + at, n);
			nn_spill_write(own->spill, own->at + at, piece, n);
			nn_spill_settle(own->spill);
		}
	}
}

static void run(const struct nn_call *call)
{
	const struct spill_call *own = (const struct spill_call *)call;
	size_t bytes = own->row_bytes ? call->rows * own->row_bytes : own->bytes;

	nn_spill_settle(own->spill);
	if (!own->memory)
		return;
	if (own->queue)
		move_pieces(own, bytes);
	else if (own->reads)
		nn_spill_read(own->spill, own->at, own->memory, bytes);
	else
		nn_spill_write(own->spill, own->at, own->memory, bytes);
}

static int fill(struct nn_graph *graph, const struct nn_planned_step *step,
		struct nn_graph_step *made, struct nn_error *err)
{
	const struct nn_bound *b = &graph->bound;
	const struct nn_memory_plan *plan = &graph->plan;
	struct spill_call *own = made->owned = nn_alloc(1, sizeof *own, err);
	size_t place;

	if (!own)
		return -1;
	own->spill = graph->spill;
	own->queue = b->queue;
	own->reads = step->backward;
	if (step->spilled >= 0) {
		const struct nn_spilled *item = &b->spilled[step->spilled];

		if (item->saved)
			place = plan->saved[(step->backward ? b->n_nodes : 0) + item->index];
		else
			place = (step->backward ? plan->again : plan->value)[item->index];
		own->memory = nn_graph_at(graph, place);
		own->at = graph->slot * b->spilled_bytes + item->at;
		own->bytes = item->bytes;
		own->row_bytes = item->row_bytes;
	}
	made->call = &own->call;
	made->run = run;
	return 0;
}

void nn_steps_add_spill(struct nn_steps *to, int spilled, bool backward)
{
	nn_steps_add(to, &(struct nn_planned_step){ .fill = fill,
						    .node = -1,
						    .event = -1,
						    .backward = backward,
						    .spilled = spilled,
						    .use = to->n_uses });
}

const char *nn_offload_folder(const char *folder)
{
	const char *tmp = getenv("TMPDIR");

	return folder ? folder : tmp && *tmp ? tmp : "/var/tmp";
}

int nn_graph_open_spill(struct nn_graph *graph, const char *folder, struct nn_error *err)
{
	const struct nn_bound *b = &graph->bound;

	return b->n_spilled ? nn_spill_open(&graph->spill, nn_offload_folder(folder),
					    graph->slots * b->spilled_bytes,
					    b->queue ? NN_SPILL_PIECE : 0, err)
			    : 0;
}
