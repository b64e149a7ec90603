/* Inside the metrics: what is counted and summed, and what the figures are made of. */
#ifndef NN_PREDICT_METRICS_SUMS_H
#define NN_PREDICT_METRICS_SUMS_H

#include "predict/metrics.h"

struct column_sums {
	double squared, absolute;        /* of prediction - target */
	double mean, spread;             /* Welford's running mean and sum of squared deviations of the target */
};

struct nn_metrics {
	const struct nn_target_schema *target;
	const struct nn_device *device;
	struct nn_loss_spec spec;
	size_t positions, columns, max_rows;
	bool classes;

	uint64_t rows;
	double loss, weight;             /* sums; the loss is their quotient */
	void *row_loss, *class_weights;  /* in the device's dtype */
	int32_t *masked;                 /* targets with the ignored class taken out */

	uint64_t *support, *predicted, *hit, *confusion;
	void *probability;               /* bce: sigmoid of the logits */
	struct column_sums *sums;
};

#endif
