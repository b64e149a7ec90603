/* Trust ratios of optimizers.def: what the rate of a weight of norm w is multiplied with. */
#ifndef NN_DEVICE_RATIO_H
#define NN_DEVICE_RATIO_H

/* You et al., 2017: the rate of a weight follows |w| / (|g| + decay |w|); g: of its gradient. */
static inline double nn_lars_ratio(double w, double g, double weight_decay)
{
	const double coefficient = 0.001;

	return w > 0 && g > 0 ? coefficient * w / (g + weight_decay * w) : 1;
}

/* You et al., 2020: adam's step with bias correction and decay, scaled to |w| / |step|. */
static inline double nn_lamb_ratio(double w, double step, double weight_decay)
{
	(void)weight_decay;
	return w > 0 && step > 0 ? w / step : 1;
}

#endif
