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
	 * true: activations are kept and gradients computed; false: memory is reused, dropout left
	 * out, batchnorm folded or computed from running values
	 */
	bool training;
	uint64_t seed; /* dropout */
	/*
	 * true: the caller fills each thread's copy of an input (nn_graph_copies); false: one copy
	 * of each input
	 */
	bool copies;
	/*
	 * Memory for weights and gradients that other ranks see too, zeroed, of nn_graph_plan's
	 * sizes; NULL: the graph takes its own.
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
	 * Training: upper limit in bytes for activations and gradients of a row. Nodes are computed
	 * again in backward to stay below it, chosen for the least work; where it cannot be met,
	 * for the fewest bytes. 0: nothing is computed again.
	 */
	size_t recompute;
	/*
	 * The same limit, met by writing values to a file after forward and reading them back in
	 * backward, after recompute has done its part. The file has no name and lies in the folder,
	 * NULL: TMPDIR or /var/tmp. nn_graph_check reports failed writes and reads.
	 */
	size_t offload;
	const char *offload_folder;
	/*
	 * Prediction: use the loaded weights of this graph, bound from the same program, which must
	 * live longer. It may be a training graph: then batchnorm is not folded, and predictions
	 * follow its weights as they change.
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
/* How outputs of a canonical line are held between forward and backward. */
struct nn_relief {
	bool recomputed; /* dropped, and computed again */
	bool offloaded;  /* written to a file, and read back */
};
/* lines[n], by canonical line; members that hold are set to true. */
int nn_graph_relieved(const struct nn_program *program, const struct nn_graph_options *options,
		      struct nn_relief *lines, int n, struct nn_error *err);

/*
 * Parameters in program order, canonical layout, the graph's dtype. load folds and packs; save only
 * from training graphs. A part takes and gives its own alone.
 */
int nn_graph_load(struct nn_graph *graph, const void *const *params, struct nn_error *err);
/*
 * The same with values fetched while they are packed, large ones in pieces, by all threads of the
 * pool at once (NULL: by the caller's). get returns elements [first, first + n) of a parameter:
 * where they lie, or in room, which has space for them; NULL with an error where it fails. With
 * room NULL: where they lie, else NULL.
 */
struct nn_graph_values {
	const void *(*get)(void *arg, int param, size_t first, size_t n, void *room,
			   struct nn_error *err);
	void *arg;
};
/* All; or some, without which nn_graph_pass can do, and later the rest. */
enum nn_graph_load { NN_LOAD_ALL, NN_LOAD_SOME, NN_LOAD_REST };
int nn_graph_load_values(struct nn_graph *graph, const struct nn_graph_values *values,
			 enum nn_graph_load which, struct nn_pool *pool, struct nn_error *err);
/* Is there a rest? Weights of large dense layers, of which nothing is derived. */
bool nn_graph_has_rest(const struct nn_graph *graph);
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
/* false for buffers, tables, and parameters that are not in this part */
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
 * Sum the entries backward has listed since nn_graph_begin, by row, inside the subtrees that make
 * up the leaves first_leaf to end_leaf-1.
 */
void nn_graph_sum_tables(struct nn_graph *graph, size_t first_leaf, size_t end_leaf);
/*
 * Those sums; and the entries, into which the sums of several ranks may be put for another
 * nn_graph_sum_tables. Room: nn_graph_bind's batch.
 */
/* Number of sums. */
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
 * of the node's. nn_graph_wait_weights does so for all nodes at once, and nothing where no weights
 * are outstanding. Until then no other function may read weights.
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
 * The queue of the graph's work, which any other work on its memory has to go through; NULL on the
 * CPU.
 */
struct nn_queue *nn_graph_queue(const struct nn_graph *graph);
/*
 * What changes from step to step: [0] of the graph (the samples that were drawn before those that
 * spans count from) and of the optimizer, [1 + o] of the loss of output o. nn_graph_now is host
 * memory to be written, nn_graph_send_now sends all of it, nn_graph_now_there is the device's.
 */
struct nn_now *nn_graph_now(struct nn_graph *graph, int which);
void nn_graph_send_now(struct nn_graph *graph);
struct nn_now *nn_graph_now_there(const struct nn_graph *graph, int which);
/*
 * On a device with memory of its own: from now on values are written on side `side`, 0 or 1, while
 * those of the other may still be on their way. follows: what they are sent for updates nothing
 * where the work before it was held (nn_now.hold).
 */
void nn_graph_use_now(struct nn_graph *graph, int side, bool follows);
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

/* With states: reset them, so that all rows begin anew. */
void nn_graph_forget(struct nn_graph *graph);
void nn_graph_forward(struct nn_graph *graph, const struct nn_span *span);
/*
 * The same of few rows where the rest is not loaded: its weights are fetched, multiplied and
 * forgotten, by all threads of the pool.
 */
int nn_graph_pass(struct nn_graph *graph, const struct nn_span *span,
		  const struct nn_graph_values *values, struct nn_pool *pool, struct nn_error *err);
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
 * Backward of a whole batch in one span with its update at once, on host memory: `update` covers
 * the whole block, without gradients, which are undefined afterwards. What is derived from weights
 * is not refreshed.
 */
void nn_graph_backward_update(struct nn_graph *graph, const struct nn_span *span,
			      const struct nn_update *update);
/*
 * Elements of the statistics forward computes of a batch-norm group, for all buffers; advance
 * updates the buffers with those of n_groups groups, in order.
 */
size_t nn_graph_statistics(const struct nn_graph *graph);
void nn_graph_advance(struct nn_graph *graph, const void *statistics, size_t n_groups);
/*
 * The first node (canonical line number) whose output in the last forward is not finite, or -1.
 * Call it before backward; a value not needed after forward may have been overwritten, then the
 * fault shows in the node that read it.
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
 * What each of the ranks that share columns exchanges and saves: bytes sent and received for a row
 * in a step, and once in each step; exchanges of a call; FLOP of a row forward, and those that
 * other ranks compute instead, counted in whole vectors of channels.
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
 * Values that travel from part to part: the edges going out of a part are those coming into the
 * next, in the same order. In training every part reads the program's inputs itself; in prediction
 * the first part does, and passes on what later ones need.
 */
struct nn_graph_edge {
	void *value; /* [rows], of the current slot: filled before forward, read after it */
	/* for backward, in the opposite direction; NULL: no gradient is needed */
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
