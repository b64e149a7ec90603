/* Inside the metrics: what is counted and summed, and what the figures are made of. */
#ifndef NN_PREDICT_SCORE_METRICS_SUMS_H
#define NN_PREDICT_SCORE_METRICS_SUMS_H

#include "predict/score/auc.h"
#include "predict/score/metrics.h"

struct column_sums {
	double squared, absolute; /* of prediction - target */
	double mean,
		spread; /* Welford's running mean and sum of squared deviations of the target */
};

/* Of a run of rows. */
struct nn_metric_sums {
	double rows;         /* how many */
	double loss, weight; /* the loss is their quotient; of numbers: what positions weigh */
	struct column_sums columns[]; /* numbers alone */
};

/*
 * A row of one class, or a position of one that is weighed, in a block behind its sums: what is
 * counted goes by the order of rows.
 */
struct nn_metric_row {
	double weight, score;
	int32_t truth, guess;
};

#define NN_METRICS_LEVELS 40 /* of the tree over blocks */

struct nn_metrics {
	const struct nn_target_schema *target;
	const struct nn_device *device;
	struct nn_loss_spec spec;
	size_t positions, columns, max_rows;
	bool classes, map; /* map: of a picture, not of a sequence */
	bool weighed;      /* nn_metrics_take_weights */

	void *row_loss, *class_weights; /* in the device's dtype */
	int32_t *masked;                /* targets with the ignored class taken out */

	double *support, *predicted, *hit, *confusion;
	double *unknown;              /* rows or positions whose label training never had */
	struct nn_auc auc;            /* of two classes */
	void *probability;            /* bce: sigmoid of the logits; of two classes: softmax */
	size_t sums_bytes;            /* of one struct nn_metric_sums */
	size_t block_bytes;           /* with the rows of a block behind it */
	struct nn_metric_sums *open;  /* of the block under way, and its rows */
	char *waiting;                /* [n_waiting] sums of whole subtrees, the leftmost first */
	uint64_t blocks;              /* that are in them; as many wait as this has bits */
	struct nn_metric_sums *total; /* of all rows, as of the last nn_metrics_sum_up */
	char *kept;                   /* nn_metrics_keep: where the next block goes */
	struct nn_metric_rules {
		double threshold;   /* nn_metrics_set_threshold; 0: the likelier class is it */
		bool probabilities; /* nn_metrics_take_probabilities: outputs are no logits */
	} rules;
};

/* metrics-probabilities.c: row_loss of a call whose logits are probabilities. */
void nn_probability_loss(const struct nn_loss_call *call, enum nn_dtype dtype);

int nn_metrics_take_sums(struct nn_metrics *metrics, struct nn_error *err);
void nn_metrics_free_sums(struct nn_metrics *metrics);
void nn_metrics_clear_sums(struct nn_metrics *metrics);
/* Fills total: what waits, from the right. */
void nn_metrics_sum_up(const struct nn_metrics *metrics);

/* metrics-counts.c: tables of classes, of rows or of positions. */
int nn_metrics_take_counts(struct nn_metrics *metrics, struct nn_error *err);
void nn_metrics_clear_counts(struct nn_metrics *metrics);
/* truth: a class or NN_CLASS_UNKNOWN. */
void nn_metrics_count(struct nn_metrics *metrics, int32_t truth, size_t guess, double weight);
void nn_metrics_count_rows(struct nn_metrics *metrics, const struct nn_metric_row *rows, size_t n);

/*
 * One class per row, or classes with weights: they travel in blocks, so that ranks count them in
 * their order.
 */
static inline bool nn_metrics_by_row(const struct nn_metrics *metrics)
{
	return metrics->classes && (metrics->positions == 1 || metrics->weighed);
}

static inline bool nn_metrics_has_auc(const struct nn_metrics *metrics)
{
	return metrics->classes && metrics->positions == 1 && metrics->columns == 2 &&
	       metrics->spec.ignore < 0;
}

/* Of the block under way, where there are rows of one class. */
static inline struct nn_metric_row *nn_metrics_rows(const struct nn_metrics *metrics)
{
	return (void *)((char *)metrics->open + metrics->sums_bytes);
}

/* Is it the class that --ignore masks? It is in no figure. */
static inline bool nn_metrics_ignore(const struct nn_metrics *metrics, size_t column)
{
	return metrics->classes && (int)column == metrics->spec.ignore;
}

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
