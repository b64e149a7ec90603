/* Inside the metrics: what is counted and summed, and what the figures are made of. */
#ifndef NN_PREDICT_METRICS_SUMS_H
#define NN_PREDICT_METRICS_SUMS_H

#include "predict/metrics.h"

struct column_sums {
	double squared, absolute; /* of prediction - target */
	double mean,
		spread; /* Welford's running mean and sum of squared deviations of the target */
};

/* Of a run of rows. All doubles, so that ranks may send it. */
struct nn_metric_sums {
	double rows;
	double loss, weight;          /* the loss is their quotient */
	struct column_sums columns[]; /* numbers alone */
};

#define NN_METRICS_LEVELS 40 /* of the tree over blocks */

struct nn_metrics {
	const struct nn_target_schema *target;
	const struct nn_device *device;
	struct nn_loss_spec spec;
	size_t positions, columns, max_rows;
	bool classes;

	void *row_loss, *class_weights; /* in the device's dtype */
	int32_t *masked;                /* targets with the ignored class taken out */

	uint64_t *support, *predicted, *hit, *confusion;
	void *probability;            /* bce: sigmoid of the logits */
	size_t sums_bytes;            /* of one struct nn_metric_sums */
	struct nn_metric_sums *open;  /* of the block under way */
	char *waiting;                /* [n_waiting] sums of whole subtrees, the leftmost first */
	uint64_t blocks;              /* that are in them; as many wait as this has bits */
	struct nn_metric_sums *total; /* of all rows, as of the last nn_metrics_sum_up */
	char *kept;                   /* nn_metrics_keep */
	size_t n_kept;
};

int nn_metrics_take_sums(struct nn_metrics *metrics, struct nn_error *err);
void nn_metrics_free_sums(struct nn_metrics *metrics);
void nn_metrics_clear_sums(struct nn_metrics *metrics);
/* Fills total: what is open behind what waits, from the right. */
void nn_metrics_sum_up(const struct nn_metrics *metrics);

/* A figure of an output as a whole, of each label or target column, or of both. */
struct nn_figure {
	const char *name;
	bool (*applies)(const struct nn_metrics *metrics);
	bool count, after; /* it is a whole number; as a whole it follows the figures of each */
	double (*whole)(const struct nn_metrics *metrics);
	double (*each)(const struct nn_metrics *metrics, size_t column);
};

/* In the order of --score; ends with name NULL. nn_metrics_sum_up comes first. */
extern const struct nn_figure nn_figures[];

#endif
