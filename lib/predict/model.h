/* A model opened for prediction, as the tools see it: nn.h's nn_model with its description. */
#ifndef NN_PREDICT_MODEL_H
#define NN_PREDICT_MODEL_H

#include "data/schema.h"
#include "device/stored.h"
#include "graph/graph.h"
#include "model/model.h"
#include "predict/metrics.h"

struct nn_session;

struct nn_model {
	struct nn_model_file *file; /* NULL: opened from a net */
	const struct nn_net *net;
	const struct nn_program *program;
	struct nn_schema *schema; /* always there; n_targets 0 without nn.target */
	const struct nn_device *device;
	struct nn_graph *weights; /* one row, the packed weights all sessions share */
	struct nn_loss_spec
		*losses;           /* [n_targets of the schema] from nn.train; else by the target */
	double **class_weights;    /* [n_targets] what losses point to */
	size_t inputs, outputs;    /* values per row over all tensors */
	char note[NN_STORED_NOTE]; /* what there is to say about the device of auto; "" */
	struct nn_idle *idle;      /* sessions that nn_model_predict keeps for its next caller */
};

struct nn_model_source {
	const char *path;        /* model file, or weights where text is given */
	const char *text;        /* -m TEXT of weights made elsewhere; NULL */
	int precision;           /* 0: as the weights are, else 1 + enum nn_dtype (f32, f64) */
	bool any_order;          /* --reproducible=no: sums need no order */
	const char *device_name; /* of --device; NULL: cpu */
	size_t batch;            /* rows at once, which auto asks for; 0: 1 */
	const struct nn_device
		*device; /* in place of the name: its type is that of the computation */
	/* In place of a file: a resolved network and its parameters (canonical, of the device's
	 * type), which must outlive the model. */
	const struct nn_net *net;
	const void *const *params;
};

int nn_model_load(struct nn_model **model, const struct nn_model_source *source,
		  struct nn_error *err);

/* The free list behind nn_model_predict. */
struct nn_idle *nn_idle_new(struct nn_error *err);
void nn_idle_free(struct nn_idle *idle);

/*
 * Between values as callers give them and tensors as graphs hold them. An input: numbers (value -
 * mean) / sd, images channels last. An output: language order, numbers * sd + mean.
 */
struct nn_door {
	size_t size;                /* values per row */
	size_t channels, positions; /* channels last inside; channels 0: held as given */
	void *mean, *sd;            /* real [size] or NULL */
	void *missing;              /* real [size]: what nan becomes before that, or NULL */
	enum nn_dtype dtype;        /* of the graph */
};

int nn_door_input(struct nn_door *door, const struct nn_model *model, struct nn_graph *graph,
		  size_t input, struct nn_error *err);
int nn_door_output(struct nn_door *door, const struct nn_model *model, size_t output,
		   struct nn_error *err);
void nn_door_fini(struct nn_door *door);
/* Are values of that type held as they are given, so that nothing has to be done? */
bool nn_door_is_open(const struct nn_door *door, enum nn_dtype dtype);
/* rows x size of `from` (f32 or f64) into the graph's input, and back out: `real` rows in language
 * order to `to`. */
void nn_door_in(const struct nn_door *door, const void *from, enum nn_dtype dtype, size_t rows,
		void *real);
void nn_door_out(const struct nn_door *door, const void *real, size_t rows, void *to,
		 enum nn_dtype dtype);

#endif
