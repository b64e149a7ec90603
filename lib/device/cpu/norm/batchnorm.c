/*
 * batchnorm forward: statistics of a channel over the rows and positions of a group, running values
 * for prediction, epilogue.
 */
#include <string.h>
#include "device/cpu/norm/batchnorm.h"

/* Sum over n places of x, or of (x - mean)^2. */
NN_INLINE vr block_sum(const real *x, size_t n, size_t step, size_t k, bool square, vr mean)
{
	vr chain[NN_CHAINS];
	size_t q = 0;
	NN_UNROLL
	for (int j = 0; j < NN_CHAINS; j++)
		chain[j] = v_zero();
	for (; q + NN_CHAINS <= n; q += NN_CHAINS, x += NN_CHAINS * step) {
		NN_UNROLL
		for (int j = 0; j < NN_CHAINS; j++) {
			vr v = v_get(x + (size_t)j * step, k), d = v_sub(v, mean);
			chain[j] = square ? v_fma(d, d, chain[j]) : v_add(chain[j], v);
		}
	}
	NN_UNROLL
	for (int j = 0; j < NN_CHAINS; j++)
		if (q + (size_t)j < n) {
			vr v = v_get(x + (size_t)j * step, k), d = v_sub(v, mean);
			chain[j] = square ? v_fma(d, d, chain[j]) : v_add(chain[j], v);
		}
	return pairs(chain);
}

/* partial = sum, sum of squares around the block's mean */
static void statistics_piece(void *arg, size_t piece, int thread)
{
	const struct norm *norm = arg;
	struct place p;
	(void)thread;
	if (!find(norm, piece, &p))
		return;
	const real *x = (const real *)norm->call->x[0] + p.begin * norm->channels;
	const vr n = v_set((real)p.n);
	NN_EACH(i, k, norm->channels, {
		vr sum = block_sum(x + i, p.n, norm->channels, k, false, v_zero());
		v_put(p.partial + i, k, sum);
		v_put(p.partial + norm->channels + i, k,
		      block_sum(x + i, p.n, norm->channels, k, true, v_div(sum, n)));
	});
}

/*
 * Mean, 1 / deviation and the running values' unbiased variance (which takes the place of the first
 * block's second sum).
 */
static void group_statistics(void *arg, size_t piece, int thread)
{
	const struct norm *norm = arg;
	size_t g = norm->from + piece;
	const struct nn_batchnorm *attrs = norm->call->site.attrs;
	size_t count = (norm->call->group[g + 1] - norm->call->group[g]) * norm->positions;
	real *unbiased = norm->partial + (g * norm->max_blocks * 2 + 1) * norm->channels;
	const vr n = v_set((real)count), n1 = v_set((real)(count > 1 ? count - 1 : 1));
	(void)thread;
	NN_EACH(i, k, norm->channels, {
		vr mean = v_div(over_blocks(norm, g, i, k, false, 0, v_zero()), n);
		vr squares = over_blocks(norm, g, i, k, true, 1, mean);
		vr deviation = v_sqrt(v_add(v_div(squares, n), v_set((real)attrs->eps)));
		v_put(norm->mean + g * norm->channels + i, k, mean);
		v_put(norm->inverse + g * norm->channels + i, k, v_div(v_set(1), deviation));
		v_put(unbiased + i, k, v_div(squares, n1));
	});
}

/* running = momentum * value + (1 - momentum) * running; a channel that is always 0 decays */
static void advance_by(const struct nn_batchnorm *attrs, void *const *w, const real *m,
		       const real *v, size_t channels)
{
	const vr momentum = v_set((real)attrs->momentum), rest = v_set((real)(1 - attrs->momentum));
	real *mean = w[2], *variance = w[3];
	NN_EACH(i, k, channels, {
		vr kept = v_mul(rest, v_get(mean + i, k)),
		   spread = v_mul(rest, v_get(variance + i, k));
		v_put(mean + i, k, v_cut(v_fma(momentum, v_get(m + i, k), kept)));
		v_put(variance + i, k, v_cut(v_fma(momentum, v_get(v + i, k), spread)));
	});
}

static size_t statistics(const struct nn_site *site)
{
	return site->training ? 2 * nn_cpu_channels(&site->out) : 0;
}

static void advance(const struct nn_site *site, void *const *w, const void *statistics, size_t step,
		    size_t n_groups)
{
	size_t channels = nn_cpu_channels(&site->out);
	for (size_t g = 0; g < n_groups; g++) {
		const real *mean = (const real *)statistics + g * step;
		advance_by(site->attrs, w, mean, mean + channels, channels);
	}
}

/* The running values, group by group, or what they will be advanced by. */
static void update_running(const struct norm *norm)
{
	const struct nn_call *call = norm->call;
	for (size_t g = norm->from; g < norm->to; g++) {
		const real *m = norm->mean + g * norm->channels;
		const real *v = norm->partial + (g * norm->max_blocks * 2 + 1) * norm->channels;
		if (call->statistics) {
			real *kept = (real *)call->statistics + g * call->statistics_step;

			memcpy(kept, m, norm->channels * sizeof *m);
			memcpy(kept + norm->channels, v, norm->channels * sizeof *v);
		} else {
			advance_by(call->site.attrs, call->w, m, v, norm->channels);
		}
	}
}

/* y = activation(x * scale + shift + residual) at n places from `begin`. */
static void normalize(const struct nn_call *call, size_t channels, size_t begin, size_t n,
		      const real *mean, const real *inverse)
{
	const struct nn_batchnorm *attrs = call->site.attrs;
	const real *gamma = call->w[0], *beta = call->w[1],
		   *x = (const real *)call->x[0] + begin * channels;
	const real *residual =
		attrs->epilogue.residual
			? (const real *)call->x[call->site.n_in - 1] + begin * channels
			: NULL;
	real *y = (real *)call->y + begin * channels;
	NN_EACH(i, k, channels, {
		const vr scale = v_mul(v_get(gamma + i, k), v_get(inverse + i, k));
		const vr shift = v_fnma(v_get(mean + i, k), scale, v_get(beta + i, k));
		if (residual)
			for (size_t q = 0; q < n; q++) {
				vr v = v_fma(v_get(x + q * channels + i, k), scale, shift);
				v_put(y + q * channels + i, k,
				      v_add(v, v_get(residual + q * channels + i, k)));
			}
		else
			for (size_t q = 0; q < n; q++)
				v_put(y + q * channels + i, k,
				      v_fma(v_get(x + q * channels + i, k), scale, shift));
	});
	if (attrs->epilogue.activation != NN_ACT_NONE)
		NN_K(activate)(&attrs->epilogue, y, y, n * channels);
}

static void normalize_piece(void *arg, size_t piece, int thread)
{
	const struct norm *norm = arg;
	struct place p;
	(void)thread;
	if (find(norm, piece, &p))
		normalize(norm->call, norm->channels, p.begin, p.n,
			  norm->mean + p.group * norm->channels,
			  norm->inverse + p.group * norm->channels);
}

static void predict_piece(void *arg, size_t begin, size_t end, int thread)
{
	const struct norm *norm = arg;
	(void)thread;
	for (size_t q = begin; q < end; q += norm->block)
		normalize(norm->call, norm->channels, q,
			  end - q < norm->block ? end - q : norm->block, norm->call->w[2],
			  norm->inverse);
}

static void predict(const struct nn_call *call)
{
	const struct nn_batchnorm *attrs = call->site.attrs;
	struct norm norm = { .call = call,
			     .channels = nn_cpu_channels(&call->site.out),
			     .positions = positions_of(&call->site),
			     .inverse = call->work };
	const real *variance = call->w[3];
	norm.block = block_of(norm.channels);
	NN_EACH(i, k, norm.channels, {
		vr deviation = v_sqrt(v_add(v_get(variance + i, k), v_set((real)attrs->eps)));
		v_put(norm.inverse + i, k, v_div(v_set(1), deviation));
	});
	nn_cpu_split(call->pool, call->rows * norm.positions, 1, 3 * norm.channels * sizeof(real),
		     predict_piece, &norm);
}

static void forward(const struct nn_call *call)
{
	if (!call->site.training) {
		predict(call);
		return;
	}
	struct norm norm = norm_of(call);
	while (next_run(&norm)) {
		pass(&norm, false, statistics_piece);
		pass(&norm, true, group_statistics);
		update_running(&norm);
		pass(&norm, false, normalize_piece);
	}
}

/* ---- memory ---- */

/* Groups of a call, blocks of the largest group, which takes in a rest of up to half a group. */
static size_t max_groups(const struct nn_site *site, size_t max_rows)
{
	const struct nn_batchnorm *norm = site->attrs;
	return max_rows / norm->group + 1;
}

static size_t max_blocks(const struct nn_site *site, size_t max_rows)
{
	const struct nn_batchnorm *norm = site->attrs;
	size_t group = norm->group < max_rows ? norm->group + (norm->group + 1) / 2 : max_rows;
	size_t block = block_of(nn_cpu_channels(&site->out));
	return ((group < max_rows ? group : max_rows) * positions_of(site) + block - 1) / block;
}

static size_t saved(const struct nn_site *site, size_t max_rows)
{
	return site->training
		       ? 2 * max_groups(site, max_rows) * nn_cpu_channels(&site->out) * sizeof(real)
		       : 0;
}

static size_t work(const struct nn_site *site, size_t max_rows, size_t max_leaves, int threads)
{
	size_t channels = nn_cpu_channels(&site->out);
	(void)max_leaves;
	(void)threads;
	if (!site->training)
		return channels * sizeof(real);
	return 2 * max_groups(site, max_rows) * (max_blocks(site, max_rows) + 1) * channels *
	       sizeof(real);
}

const struct nn_kernel NN_K(batchnorm) = {
	.forward = forward,
	.backward = NN_K(batchnorm_back),
	.saved = saved,
	.work = work,
	.statistics = statistics,
	.advance = advance,
};
