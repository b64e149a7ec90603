/* A program bound to a device: layout, fusion, memory plan, forward and backward. */
#ifndef NN_GRAPH_GRAPH_H
#define NN_GRAPH_GRAPH_H

#include "device/device.h"
#include "device/queue.h"
#include "op/program.h"

struct nn_graph;

/*
 * Ranks that share the out-channels of products (dense; conv2d, of several groups whole ones) and
 * the rows of tables in training: each has the weights of its own, and what others have or make is
 * brought together before anything is summed over it, so that the bytes are those of one graph.
 * Rank r of n has channels (groups, rows) floor(r c / n) to floor((r + 1) c / n) - 1 of c; with
 * fewer than ranks each has and computes the whole. How arrays travel is the caller's: all ranks
 * call in the same order. Where that fails the caller has to know.
 */
struct nn_column_shard {
	int rank, ranks;
	void *arg;
	/*
	 * Of `lines` lines of n elements of `size` bytes every rank has its columns: part
	 * [lines][its]; whole [lines][n] has all.
	 */
	void (*gather)(void *arg, const void *part, void *whole, size_t lines, size_t n,
		       size_t size);
	/*
	 * send[r] to each other rank r, receive[r] from it; bytes of each. Entries of the rank
	 * itself are left alone.
	 */
	void (*exchange)(void *arg, void *const *send, const size_t *send_bytes,
			 void *const *receive, const size_t *receive_bytes);
};

struct nn_graph_options {
	const struct nn_device *device;
	struct nn_pool *pool; /* borrowed; NULL: the caller's thread */
	size_t max_rows;      /* rows of a call at most */
	size_t max_leaves;    /* leaves of a call at most (training) */
	/* rows of all calls between two nn_graph_begin at most (training); 0: max_rows */
	size_t batch;
	/*
	 * activations kept, gradients; false: memory reused, dropout gone, batchnorm folded or from
	 * running values
	 */
	bool training;
	uint64_t seed; /* dropout */
	/*
	 * the caller fills each thread's copy of an input (nn_graph_copies); false: there is one of
	 * each
	 */
	bool copies;
	/*
	 * Memory for them that others see too, zeroed, of the sizes that nn_graph_plan says; NULL:
	 * the graph takes its own.
	 */
	void *weights, *gradients;
	/*
	 * A part of the program: nodes first .. last - 1 of those that nn_graph_nodes lists; last
	 * 0: all.
	 */
	int first, last;
	const struct nn_column_shard
		*columns; /* training; borrowed; NULL: all products are whole */
	/* spans that may be between forward and backward at once (nn_graph_use); 0 is 1 */
	size_t slots;
	/* rows whose state is carried from call to call; 0: all begin anew */
	size_t states;
	/*
	 * Training: the most bytes that activations and gradients of a row are to take, for which
	 * nodes are computed again in backward, with as little work as that takes; where it takes
	 * more, as few bytes as can be. 0: nothing is computed again.
	 */
	size_t recompute;
	/*
	 * The same with values that are written to a file after forward and read back in backward,
	 * of what is left then. The file has no name and lies in the folder, NULL: TMPDIR or
	 * /var/tmp. nn_graph_check says whether it could be written and read.
	 */
	size_t offload;
	const char *offload_folder;
	/*
	 * Prediction: use the loaded weights of this graph, bound from the same program, which must
	 * live longer. Of a training graph too: then batchnorm is not folded, and what is predicted
	 * is what the weights are at that moment.
	 */
	const struct nn_graph *share;
};

/* Rows of a global batch that go through at once (nn_call says what leaf, first and group mean). */
struct nn_span {
	size_t rows;
	uint64_t sample;
	const uint32_t *lengths; /* [rows] positions of each; NULL: all are of one length */
	size_t step;             /* prediction with states: how many steps were before */
	const size_t *leaf;
	size_t n_leaves;
	bool first;
	size_t leaf_number; /* of its first leaf in the batch */
	const size_t *group;
	size_t n_groups;
	/*
	 * [n_groups][nn_graph_statistics]: what buffers are to be advanced by; NULL: forward
	 * advances them
	 */
	void *statistics;
};

/*
 * All memory is taken here; forward and backward allocate nothing. The program is borrowed for the
 * graph's life.
 */
int nn_graph_bind(struct nn_graph **graph, const struct nn_program *program,
		  const struct nn_graph_options *options, struct nn_error *err);
void nn_graph_free(struct nn_graph *graph);

/* The plan alone, without allocating: bytes. */
struct nn_graph_memory {
	size_t parameters, gradients, activations, activations_per_row, workspace, input, derived;
	/* of parts of tables: entries and sums; gradients have no other bytes of tables */
	size_t rows;
	/* of gradients: never touched by nn_graph_backward_update, as pages of memory go */
	size_t untouched;
	size_t block, trained; /* elements: of the flat block, of all that is trained */
	size_t statistics;     /* of a group, the caller's */
	size_t canonical;      /* room for a parameter, of a device with memory of its own alone */
	uint64_t again_flops;  /* of one row: computed again in backward */
	size_t spilled;        /* bytes of the file of what is offloaded */
};
int nn_graph_plan(const struct nn_program *program, const struct nn_graph_options *options,
		  struct nn_graph_memory *memory, struct nn_error *err);
#define NN_SPILL_PIECE ((size_t)1 << 20) /* of host memory, through which a device's goes there */
/* Where the file of what is offloaded lies: the folder, or if that is NULL the usual one. */
const char *nn_offload_folder(const char *folder);
/* What is done with outputs of a canonical line between forward and backward. */
struct nn_relief {
	bool recomputed; /* dropped, and computed again */
	bool offloaded;  /* written to a file, and read back */
};
/* lines[i] of canonical line i, n of them; what is so is set to true. */
int nn_graph_relieved(const struct nn_program *program, const struct nn_graph_options *options,
		      struct nn_relief *lines, int n, struct nn_error *err);

/*
 * Parameters in program order, canonical layout, the graph's dtype. load folds and packs; save only
 * from training graphs. A part takes and gives its own alone.
 */
int nn_graph_load(struct nn_graph *graph, const void *const *params, struct nn_error *err);
/*
 * The same of values that are fetched when they are packed, large ones in pieces, on all threads of
 * the pool (NULL: the caller's), which get must bear. get gives elements [first, first + n) of a
 * parameter: where they lie, or in room, which has place for them; NULL and an error where it cannot.
 * Without room: where they lie, else NULL.
 */
struct nn_graph_values {
	const void *(*get)(void *arg, int param, size_t first, size_t n, void *room,
			   struct nn_error *err);
	void *arg;
};
int nn_graph_load_values(struct nn_graph *graph, const struct nn_graph_values *values,
			 struct nn_pool *pool, struct nn_error *err);
void nn_graph_save(const struct nn_graph *graph, void *const *params);

/*
 * The flat block of trained parameters (packed), its gradients; a parameter's place in it. Behind
 * the weights of the block lie the tables, which have no part in the gradients.
 */
size_t nn_graph_block(const struct nn_graph *graph); /* elements */
size_t
nn_graph_trained(const struct nn_graph *graph); /* the same with the tables: elements of moments */
void *nn_graph_weights(struct nn_graph *graph);
void *nn_graph_gradients(struct nn_graph *graph);
/* false for buffers and tables, and for what a part does not have */
bool nn_graph_place(const struct nn_graph *graph, int param, size_t *offset, size_t *packed);
/* From or to any block of that form (moments with tables; gradients): canonical order. */
void nn_graph_unpack(const struct nn_graph *graph, int param, const void *block, void *canonical);
/* The same to device memory, in the queue's order. */
void nn_graph_canonical(const struct nn_graph *graph, int param, const void *block, void *to);
void nn_graph_pack(const struct nn_graph *graph, int param, const void *canonical, void *block);
/*
 * Tables: parameters [rows, width] of which a batch needs some rows, whose gradient is a list of
 * rows. Of a table that ranks share rows are those of this rank, numbered from its first.
 */
struct nn_graph_table {
	int param;
	size_t rows, width;
	size_t offset; /* elements, from the beginning of weights and moments */
	bool lazy;     /* rows that a batch does not have stay as they are */
};
int nn_graph_tables(const struct nn_graph *graph);
struct nn_graph_table nn_graph_table(const struct nn_graph *graph, int table);
/* A batch begins: nothing is listed. */
void nn_graph_begin(struct nn_graph *graph);
/*
 * What backward listed since then, summed by row inside the subtrees that the leaves first_leaf to
 * end_leaf-1 consist of.
 */
void nn_graph_sum_tables(struct nn_graph *graph, size_t first_leaf, size_t end_leaf);
/*
 * Those sums; entries in which those of several ranks may be put together, for nn_graph_sum_tables
 * again. Room: nn_graph_bind's batch.
 */
/* How many sums there are. */
size_t nn_graph_table_count(const struct nn_graph *graph, int table);
struct nn_row_list *nn_graph_table_sums(struct nn_graph *graph, int table);
struct nn_row_list *nn_graph_table_entries(struct nn_graph *graph, int table);
/*
 * The gradient of any trained parameter in canonical order; of a table, which has to be summed, all
 * rows.
 */
void nn_graph_gradient(const struct nn_graph *graph, int param, void *canonical);
/* After the weights changed: make what kernels derive from them. load does it too. */
void nn_graph_refresh(struct nn_graph *graph);
/*
 * In place of refresh, where weights of the block are still on their way: the next forward calls
 * arrive(arg, end) before a node that reads elements before `end`, and then makes what is derived
 * of the node's. nn_graph_wait_weights does so for all nodes at once; nothing where all are there.
 * Until then nobody else may read weights.
 */
void nn_graph_defer_weights(struct nn_graph *graph, void (*arrive)(void *arg, size_t end),
			    void *arg);
void nn_graph_wait_weights(struct nn_graph *graph);

/*
 * Is the parameter, buffer or not, one of this graph? Is input i read by it? Parts have some of
 * both.
 */
bool nn_graph_has(const struct nn_graph *graph, int param);
/* Is it trained here, in the block or as a table? */
bool nn_graph_trains(const struct nn_graph *graph, int param);
bool nn_graph_reads(const struct nn_graph *graph, int input);
/*
 * Of a parameter that ranks share (nn_columns) canonical values that a graph is given or gives are
 * its part alone: nn_graph_count of them, those of nn_column_shard_slice. channels: out-channels,
 * groups, or rows of a table, of the whole; 0: all ranks have all of it.
 */
size_t nn_graph_channels(const struct nn_graph *graph, int param);
size_t nn_graph_count(const struct nn_graph *graph, int param);
/* Elements [*from, *from + n) of `count` that rank r of n_ranks has; returns n. */
size_t nn_column_shard_slice(size_t count, size_t channels, int r, int n_ranks, size_t *from);
/*
 * The queue in which all of the graph's work is, and what others do with its memory has to be; NULL
 * on the CPU.
 */
struct nn_queue *nn_graph_queue(const struct nn_graph *graph);
/*
 * What changes from step to step: [0] of the graph (the samples that were drawn before those that
 * spans count from) and of the optimizer, [1 + o] of the loss of output o. To be written in host
 * memory and then sent, all at once; where it lies for calls.
 */
struct nn_now *nn_graph_now(struct nn_graph *graph, int which);
void nn_graph_send_now(struct nn_graph *graph);
struct nn_now *nn_graph_now_there(const struct nn_graph *graph, int which);
/*
 * [max_rows][size] of input i in host memory, to be filled and then sent; channels_last: a sample
 * C,H,W is expected H,W,C. Of a device whose memory is the host's it is the graph's own.
 */
void *nn_graph_input(struct nn_graph *graph, int input, size_t *size, bool *channels_last);
/* Rows that were filled go to the device, in the order of its queue. */
void nn_graph_send(struct nn_graph *graph, int input, size_t rows);
/* Rows of the input, laid out the same, that are in the device's memory already. */
void nn_graph_put(struct nn_graph *graph, int input, const void *there, size_t rows);
/* The same of rows of which that memory has many: their numbers lie there, too. */
void nn_graph_gather(struct nn_graph *graph, int input, const void *there, const uint32_t *numbers,
		     size_t rows);
/*
 * Copies of input i, `step` bytes apart from the first one, all to be filled with the same: a
 * thread computes with its own.
 */
size_t nn_graph_copies(const struct nn_graph *graph, int input, size_t *step);
/*
 * Let the next forwards of a prediction graph read input i from `rows`, laid out as
 * nn_graph_input's memory, which is what to give to return to it. Nothing is copied; rows must stay
 * until then. false: not possible, the input is an output too or goes to another part, or its
 * memory is not the host's.
 */
bool nn_graph_borrow(struct nn_graph *graph, int input, const void *rows);
/*
 * Is input i read by products alone? These take a subnormal for the zero of its sign, as it is;
 * other ops may pass it on.
 */
bool nn_graph_only_multiplies(const struct nn_graph *graph, int input);
/*
 * Raw output o of the last forward: [rows][positions][columns], columns = classes or the last
 * dimension, whatever the language order. Device memory.
 */
const void *nn_graph_output(const struct nn_graph *graph, int output, size_t *positions,
			    size_t *columns);
/*
 * The same in host memory, complete when the queue was waited for: of the first `rows` rows, until
 * the next forward.
 */
const void *nn_graph_fetch(struct nn_graph *graph, int output, size_t rows);
/* Where the gradient of output o is to be written before backward, laid out as nn_graph_output. */
void *nn_graph_output_gradient(struct nn_graph *graph, int output);

/* With states: all rows begin anew. */
void nn_graph_forget(struct nn_graph *graph);
void nn_graph_forward(struct nn_graph *graph, const struct nn_span *span);
/*
 * Fill nn_graph_gradients with the sum over the span's leaves (or go on with a leaf's chain). ready
 * (may be NULL) is called with each parameter whose gradient is finished, last layer first; not
 * with tables.
 */
void nn_graph_backward(struct nn_graph *graph, const struct nn_span *span,
		       void (*ready)(void *arg, int param), void *arg);
/*
 * -1: the file of what is offloaded could not be written or read, and forward and backward ended
 * there: nothing of that step may be used.
 */
int nn_graph_check(const struct nn_graph *graph, struct nn_error *err);
/*
 * The same of a whole batch in one span, and its update at once, on the host's memory: `update` is
 * that of the whole block, without gradients, which need not be there afterwards. What is derived
 * from weights is not refreshed.
 */
void nn_graph_backward_update(struct nn_graph *graph, const struct nn_span *span,
			      const struct nn_update *update);
/*
 * Elements that forward finds out about a group of batch norm, for all buffers; advance these by
 * those of n_groups, in order.
 */
size_t nn_graph_statistics(const struct nn_graph *graph);
void nn_graph_advance(struct nn_graph *graph, const void *statistics, size_t n_groups);
/*
 * The first node (canonical line number) whose output in the last forward is not finite, or -1. To
 * be asked before backward; values that nothing needed after forward may be gone, their fault shows
 * in the next one.
 */
int nn_graph_first_nonfinite(const struct nn_graph *graph, size_t rows);

/*
 * ---- parts: one program over several graphs, the same arithmetic in the same order as in one ----
 */

/* The nodes of a training, or of a prediction, as they run, with fusion done. */
struct nn_graph_node {
	int line;        /* canonical line number; -1: behind the last layer */
	uint64_t flops;  /* of one row forward */
	size_t elements; /* of one row that nodes before this one leave to it and those after it */
	/* nodes of the program whose parameters it has: its own, a batchnorm's folded; -1: none */
	int source, norm;
};
/* List them as options.training says; free with nn_free. Their number, or -1. */
int nn_graph_nodes(const struct nn_program *program, const struct nn_graph_options *options,
		   struct nn_graph_node **nodes, struct nn_error *err);

/*
 * What ranks that share columns save and exchange, each: bytes sent and received of a row in a
 * step, and once in each step, in so many exchanges for each call; FLOP of a row forward, and those
 * that others make, counted in whole vectors of channels.
 */
struct nn_graph_sharing {
	double row_bytes, step_bytes, exchanges;
	double flops, saved;
	/* host memory through which max_rows rows go from and to a device that has its own */
	size_t host;
};
int nn_graph_sharing(const struct nn_program *program, const struct nn_graph_options *options,
		     struct nn_graph_sharing *sharing, struct nn_error *err);

/*
 * Rows that go from part to part: what comes from the part before, what goes to the one after, the
 * same in both, in the same order. In training every part reads the program's inputs itself; in
 * prediction the first does, and passes on what others need of them.
 */
struct nn_graph_edge {
	void *value; /* [rows], of the current slot: filled before forward, read after it */
	/* the same for backward, the other way round; NULL: nothing learns from it */
	void *gradient;
	size_t row_bytes;
};
enum nn_graph_side { NN_SIDE_COMING, NN_SIDE_GOING };
size_t nn_graph_edges(const struct nn_graph *graph, enum nn_graph_side side);
struct nn_graph_edge nn_graph_edge(struct nn_graph *graph, enum nn_graph_side side, size_t edge);

/*
 * Work on this slot from now on: forward, then backward of one span, each slot with values of its
 * own.
 */
void nn_graph_use(struct nn_graph *graph, size_t slot);

#endif
