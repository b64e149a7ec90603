/* A model opened for prediction, as the tools see it: nn.h's nn_model with its description. */
#ifndef NN_PREDICT_MODEL_H
#define NN_PREDICT_MODEL_H

#include "data/schema/schema.h"
#include "device/products.h"
#include "device/stored.h"
#include "graph/graph.h"
#include "model/model.h"
#include "predict/score/metrics.h"

/* Of a model over several processes: which one this is, and its nodes. */
struct nn_model_part {
	int rank, ranks; /* ranks 0: the whole model is here */
	int first, last;
	uint64_t number; /* by which the ranks know the model; the caller's */
};

struct nn_model {
	struct nn_model_file *file; /* NULL: opened from a net */
	const struct nn_net *net;
	const struct nn_program *program;
	struct nn_schema *schema; /* always there; n_targets 0 without nn.target */
	const struct nn_device *device;
	const struct nn_device *host; /* computes on outputs in memory of the host */
	struct nn_graph *weights;     /* one row, the packed weights all sessions share */
	struct nn_model_part part;
	bool passing; /* large weights are in the file, until nn_model_load_rest */
	int threads;  /* that read and pack them, as nn_model_source says */
	struct nn_loss_spec
		*losses;        /* [n_targets of the schema] from nn.train; else by the target */
	double **class_weights; /* [n_targets] what losses point to */
	double threshold;       /* nn-train --threshold: of two classes, above 0; 0: none */
	char *weight; /* the column whose values rows of the training weighed; NULL: none */
	size_t inputs, outputs;     /* values per row over all tensors */
	char note[NN_STORED_NOTE];  /* what there is to say about the device of auto; "" */
	struct nn_idle *idle;       /* sessions that nn_model_predict keeps for its next caller */
	struct nn_encoder *encoder; /* of fields; NULL unless asked for */
};

struct nn_model_source {
	const char *path;               /* model file, or weights where as is given */
	const struct nn_weights_as *as; /* -m TEXT of weights made elsewhere; NULL */
	int precision; /* 0: as the weights are, else 1 + enum nn_dtype (f32, f64) */
	bool fields;   /* that nn_model_encode takes will come */
	enum nn_products products;
	const char *device_name; /* of --device; NULL: cpu */
	size_t batch;            /* rows at once, which auto asks for; 0: 1 */
	int threads;             /* that read and pack large weights; 0: the caller's; -1: as many as there are */
	bool passing;            /* leave large weights in the file if rows can do without */
	const struct nn_device
		*device; /* in place of the name: its type is that of the computation */
	/*
	 * In place of a file: a resolved network and its parameters (canonical, of the device's
	 * type), which must outlive the model.
	 */
	const struct nn_net *net;
	const void *const *params;
	struct nn_model_part part; /* rank, ranks and number; of a file alone */
};

int nn_model_load(struct nn_model **model, const struct nn_model_source *source,
		  struct nn_error *err);
/* Inside: model->file and model->part; model->weights, of the file if params is NULL. */
int nn_model_read_file(struct nn_model *model, const struct nn_model_source *source,
		       struct nn_error *err);
int nn_model_load_weights(struct nn_model *model, const struct nn_model_source *source,
			  struct nn_error *err);
/* What is in the file still, if anything is; sessions go on. */
int nn_model_load_rest(struct nn_model *model, struct nn_error *err);
/* Few rows that need not wait for it: forward through a graph that shares the model's weights. */
int nn_model_pass(const struct nn_model *model, struct nn_graph *graph, const struct nn_span *span,
		  struct nn_error *err);

/* nn_model_encode that adds to `unseen`. */
struct nn_encoder_unseen;
int nn_model_encode_counting(const struct nn_model *model, const char *const *fields, float *row,
			     struct nn_encoder_unseen *unseen, struct nn_error *err);

#endif
