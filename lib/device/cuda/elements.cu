/* Element by element: activations, joined inputs, dropout, values moved. */
#include "device/cpu/activation.h"
#include "device/cuda/phase.h"

NN_INLINE real activated(const struct nn_activation_args *a, real at, real d)
{
	switch (a->kind) {
#define NN_ACTIVATION(ID, ...) \
	case NN_ACT_##ID: \
		return !a->dy     ? v_activate(NN_ACT_##ID, a->slope, at) \
		       : a->from_y ? v_activate_back_y(NN_ACT_##ID, a->slope, at, d) \
				   : v_activate_back_x(NN_ACT_##ID, a->slope, at, d);
#include "op/activations.def"
	default:
		return a->dy ? d : at;
	}
}

/* Forward and backward, of the op and of what fusion puts behind others. */
NN_MAP(activation, struct nn_activation_args)
{
	real v = activated(a, a->at ? a->at[i] : 0, a->dy ? a->dy[i] : 0);
	if (a->to)
		nn_put(a->to + i, v, a->add);
	if (a->residual)
		nn_put(a->residual + i, v, a->residual_add);
}

NN_MAP(add, struct nn_join_args)
{
	real sum = a->x[0][i];
	for (int j = 1; j < a->n_in; j++)
		sum = v_add(sum, a->x[j][i]);
	a->y[i] = sum;
}

NN_MAP(add_back, struct nn_join_args)
{
	real d = a->dy[i];
	for (int j = 0; j < a->n_in; j++)
		if (a->dx[j] && (a->dx[j] != a->dy || a->add[j]))
			nn_put(a->dx[j] + i, d, a->add[j]);
}

NN_MAP(mul, struct nn_join_args)
{
	real product = a->x[0][i];
	for (int j = 1; j < a->n_in; j++)
		product = v_mul(product, a->x[j][i]);
	a->y[i] = product;
}

/* Two inputs may have the same dx, one of them dy's place: all is computed from the d read first. */
NN_MAP(mul_back, struct nn_join_args)
{
	real d = a->dy[i];
	int last = -1;
	for (int turn = 0; turn <= a->n_in; turn++) {
		int j = turn < a->n_in ? turn : last;
		if (j < 0 || !a->dx[j])
			continue;
		if (turn < a->n_in && a->dx[j] == a->dy) { /* it comes last */
			last = j;
			continue;
		}
		real v = d;
		for (int other = 0; other < a->n_in; other++)
			if (other != j)
				v = v_mul(v, a->x[other][i]);
		nn_put(a->dx[j] + i, v, a->add[j]);
	}
}

NN_MAP(add_arrays, struct nn_join_args)
{
	a->y[i] = v_add(a->y[i], a->x[0][i]);
}

/* Number `lane` of four: Philox4x32-10 (numerics.md). */
NN_INLINE uint32_t drawn(const uint32_t key[2], uint64_t index, uint32_t stream, uint32_t block,
			 unsigned lane)
{
	uint32_t c[4] = { (uint32_t)index, (uint32_t)(index >> 32), stream, block };
	uint32_t k0 = key[0], k1 = key[1];
	NN_UNROLL
	for (int round = 0; round < 10; round++, k0 += 0x9E3779B9, k1 += 0xBB67AE85) {
		uint64_t p = (uint64_t)0xD2511F53 * c[0], q = (uint64_t)0xCD9E8D57 * c[2];
		c[0] = (uint32_t)(q >> 32) ^ c[1] ^ k0;
		c[2] = (uint32_t)(p >> 32) ^ c[3] ^ k1;
		c[1] = (uint32_t)q;
		c[3] = (uint32_t)p;
	}
	return lane == 0 ? c[0] : lane == 1 ? c[1] : lane == 2 ? c[2] : c[3];
}

NN_MAP(dropout, struct nn_dropout_args)
{
	uint64_t index = a->sample + (a->now ? a->now->sample : 0) + i / a->row;
	uint32_t at = (uint32_t)(i % a->row),
		 number = drawn(a->key, index, a->stream, at / 4, at % 4);
	nn_put(a->to + i, v_mul(a->from[i], number >> 8 < a->below ? 0 : a->scale), a->add);
}

NN_MAP(move, struct nn_move_args)
{
	size_t from = i, to = i;
	if (a->columns) {
		size_t matrix = a->rows * a->columns, in = i % matrix;
		from = i - in + in % a->rows * a->columns + in / a->rows;
	} else {
		from = i / a->run * a->from_run + i % a->run;
		to = i / a->run * a->to_run + i % a->run;
	}
	nn_put(a->to + to, a->from[from], a->add);
}

NN_MAP(take, struct nn_take_args)
{
	size_t left = i, place = 0;
	bool there = true;
	for (int d = a->rank - 1; d >= 0; d--) {
		const struct nn_take_axis *axis = &a->axis[d];
		long at = axis->begin + (long)(left % axis->size) * axis->step;
		left /= axis->size;
		there = there && at >= 0 && at % axis->every == 0 && at / axis->every < (long)axis->in;
		place += there ? (size_t)(at / axis->every) * axis->stride : 0;
	}
	if (there) {
		real v = a->from[left * a->row + place];
		nn_put(a->to + i, a->sum && !a->add ? v_add(0, v) : v, a->add);
	} else if (!a->add) {
		a->to[i] = a->value;
	}
}

NN_MAP(position, struct nn_position_args)
{
	a->y[i] = v_add(a->x[i], a->w[i % a->size]);
}

/* The step of a row that is its last; a row without steps has none. */
NN_INLINE size_t last_of(const struct nn_last_args *a, size_t row)
{
	return (a->lengths ? a->lengths[row] : a->steps) - 1;
}

NN_MAP(last, struct nn_last_args)
{
	size_t row = i / a->columns, t = last_of(a, row);
	a->to[i] = t < a->steps ? a->from[(row * a->steps + t) * a->columns + i % a->columns] : 0;
}

NN_MAP(last_back, struct nn_last_args)
{
	size_t step = i / a->columns, row = step / a->steps;
	if (step % a->steps == last_of(a, row))
		nn_put(a->to + i, a->from[row * a->columns + i % a->columns], a->add);
	else if (!a->add)
		a->to[i] = 0;
}
