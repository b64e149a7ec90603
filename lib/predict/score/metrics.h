/*
 * Metrics of held-out rows: counts in integers, sums in f64 over blocks of rows in order, which are
 * added along a binary tree, neighbours first, so that a stream, a whole file and several ranks
 * give the same digits.
 *
 * A label that training never had is a wrong answer (accuracy, precision), one that --ignore masks
 * is in no figure; iou.mean and f1.macro are means over all other labels. With several outputs a
 * line begins with the output's name and a point. Sums are those of blocks of 64 rows, each in
 * order of rows, added along the binary tree over blocks (mean and squared deviations by Chan's
 * formula), so that any number of ranks gives the same digits.
 */
#ifndef NN_PREDICT_SCORE_METRICS_H
#define NN_PREDICT_SCORE_METRICS_H

#include "data/schema/schema.h"
#include "device/device.h"
#include "predict/loss.h"
#include "predict/score/threshold.h"

struct nn_metrics;

/*
 * For one output of a shape, as nn_graph_output lays it out. target, device are
 * borrowed. Labels of `target` are the classes; NULL target: classes 0..columns-1 or numbers by the
 * loss.
 */
int nn_metrics_new(struct nn_metrics **metrics, const struct nn_target_schema *target,
		   const struct nn_loss_spec *loss, const struct nn_device *device,
		   const struct nn_shape *shape, size_t max_rows, struct nn_error *err);
void nn_metrics_free(struct nn_metrics *metrics);
/*
 * Of two classes the second where its probability reaches the threshold, above 0, of the model's
 * type; NN_EFAIL: there are not two.
 */
int nn_metrics_set_threshold(struct nn_metrics *metrics, double threshold, struct nn_error *err);
/* The one that the rows so far suggest; false: there are not two classes, or none is found. */
bool nn_metrics_find_threshold(const struct nn_metrics *metrics, enum nn_threshold_by by,
			       struct nn_threshold *found);
int nn_threshold_misplaced(size_t outputs, struct nn_error *err); /* says so */
/*
 * From now on outputs are the probabilities themselves, of classes or with bce, and so is the loss,
 * in f64; one below the smallest normal number of their type counts as that. Numbers stay as they
 * are.
 */
int nn_metrics_take_probabilities(struct nn_metrics *metrics, struct nn_error *err);
/*
 * Rows will come with weights: sums of those of positions are added in the order of rows, too, for
 * which blocks grow by what is found at each.
 */
int nn_metrics_take_weights(struct nn_metrics *metrics, struct nn_error *err);
void nn_metrics_reset(struct nn_metrics *metrics);
/*
 * outputs as nn_graph_output; targets as nn_dataset_fill_target (int32 classes,
 * NN_CLASS_UNKNOWN, NN_CLASS_IGNORED; numbers in standardized units; probabilities). probabilities:
 * targets are class probabilities. weights[rows] of --weight, not negative; NULL: 1 each.
 * rows <= max_rows.
 */
void nn_metrics_add(struct nn_metrics *metrics, const void *outputs, const void *targets,
		    const double *weights, bool probabilities, size_t rows);
/*
 * Rows shared out among ranks in whole blocks. Whoever has some of them keeps their sums apart:
 * blocks[n] of nn_metrics_bytes each, closed at the end of its rows. Then the blocks of all ranks
 * are added in order of rows (keep NULL), to what was reset, and counts are summed.
 */
#define NN_METRICS_BLOCK 64
size_t nn_metrics_bytes(const struct nn_metrics *metrics);
void nn_metrics_keep(struct nn_metrics *metrics, void *blocks);
/* The block under way, if it has rows: after the last ones, before any figure is asked for. */
void nn_metrics_close(struct nn_metrics *metrics);
void nn_metrics_add_block(struct nn_metrics *metrics, const void *block);
/* Whole numbers, which ranks sum; n 0: they are in the blocks. */
double *nn_metrics_counts(struct nn_metrics *metrics, size_t *n);
/*
 * "loss", "accuracy", "f1.macro", "rmse", "mae", "r2", "iou.mean", ... false: not a metric of this
 * output.
 */
bool nn_metrics_get(const struct nn_metrics *metrics, const char *name, double *value);
/*
 * The lines of --score in order: line(arg, name, value, is a count) until it returns other than 0,
 * which is returned.
 */
int nn_metrics_each(const struct nn_metrics *metrics,
		    int (*line)(void *arg, const char *name, double value, bool count), void *arg);
/*
 * Of rows so far how many of each true class were taken for each: [columns][columns]; NULL: numbers,
 * or more classes than a table is kept of.
 */
const double *nn_metrics_confusion(const struct nn_metrics *metrics);
/* A class or column as lines of --score name it; is it the class that --ignore masks? */
void nn_metrics_name(const struct nn_metrics *metrics, size_t column, struct nn_text *name);
bool nn_metrics_ignored(const struct nn_metrics *metrics, size_t column);
/* The class found at each position: outputs as above, classes[rows][positions]. */
void nn_metrics_find_classes(const struct nn_metrics *metrics, const void *outputs, size_t rows,
			     int32_t *classes);
/* accuracy, rmse, or iou.mean for masks. */
const char *nn_metrics_default(const struct nn_metrics *metrics);
/* Is more better? (loss, rmse, mae: no) */
bool nn_metric_rises(const char *name);
/* Is it a share, or another figure of 0 to 1? */
bool nn_metric_is_share(const char *name);

#endif
