/* What the files of nn-allreduce share: its options, and arrays as they come from files and pipes. */
#ifndef NN_CMD_ALLREDUCE_H
#define NN_CMD_ALLREDUCE_H

#include "cmd/tool.h"
#include "comm/comm.h"
#include "file/npy.h"
#include "file/safetensors.h"

struct allreduce_options {
	int op;                      /* enum nn_reduce_op */
	uint64_t ranks;              /* 0: not given */
	int algorithm;               /* enum nn_algorithm */
	bool stream;
	bool bench;
	const char *sizes;
	int to;                      /* enum nn_report_format */
	const char *model;           /* NULL: no prediction for a model */
	double step_ms;
	bool f64;                    /* --precision, of what is measured */
};

/* The tensors of a file: the one of an .npy file has the name "". An .npy array is read piece by piece, safetensors lie in memory. */
struct source {
	const char *name;            /* borrowed */
	bool named;                  /* safetensors */
	struct nn_st_tensor *tensors;
	size_t n_tensors;
	const char *model;           /* nn.model, NULL: none */
	struct nn_st *st;
	struct nn_st_tensor one;
	struct nn_input *input;
	bool stream;                 /* other arrays may follow */
	struct nn_npy_header header;
	struct nn_block block;       /* a piece; an array in another order of dimensions whole */
};

/* Every error text begins with the file's name. Zero-initialize; source_close frees what an open that failed has left, too. */
int source_open(struct source *source, const char *path, struct nn_error *err);
/* .npy arrays one after the other; source_next makes the next one the tensor `one`: 1, 0 at the end, -1. */
int source_open_stream(struct source *source, const char *path, struct nn_error *err);
int source_next(struct source *source, struct nn_error *err);
void source_close(struct source *source);
/* Values at..at+count of a tensor, valid until the next call; of an .npy array they are asked for in order, without gaps. */
int source_read(struct source *source, const struct nn_st_tensor *tensor, size_t at, size_t count, const void **values,
		struct nn_error *err);
/* Error naming file and tensor unless both hold the same names, types, shapes and network. */
int source_compare(const struct source *source, const struct source *first, struct nn_error *err);

/* `tensor "w": `, or "" where there is no name. */
#define TENSOR_LABEL (NN_QUOTED + 16)
char *tensor_label(char buffer[TENSOR_LABEL], const struct nn_st_tensor *tensor);
/* What was found in a result: an error where a value does not fit, a warning where values are NaN. */
int check_found(const struct nn_reduce *reduce, const struct nn_st_tensor *tensor, const struct nn_reduce_found *found,
		struct nn_error *err);

/* Several files in one process. 0 or -1. */
int allreduce_files(const struct allreduce_options *options, char **files, size_t n, const char *output, struct nn_error *err);

/* --bench in a rank: rows of rank 0 to output (NULL: stdout), notes on stderr. 0 or -1. */
int allreduce_bench(const struct allreduce_options *options, struct nn_comm *comm, const char *output, struct nn_error *err);
#define ALLREDUCE_SIZES 256
/* Bytes, of a list of FIRST or FIRST:LAST*FACTOR: how many, or -1 with NN_EUSAGE. */
int allreduce_sizes(const char *list, size_t sizes[ALLREDUCE_SIZES], struct nn_error *err);
int allreduce_check_sizes(const char *value, struct nn_error *err);
/* This process is a rank, or the only one: its file or frames among those of all. 0, -1, or the status of what another rank explains. */
int allreduce_rank(const struct allreduce_options *options, const char *file, const char *output, struct nn_error *err);
/* This tool as options->ranks ranks under mpirun; the status of the whole, or -1. */
int allreduce_launch(const struct allreduce_options *options, char *const *argv, struct nn_error *err);

#endif
