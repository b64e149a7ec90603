/* Dense layers of few rows, forward and towards the input, by the chains of tiny.h. */
#include "device/cuda/product/tiny.h"

/* Sum j of the thread, of channel n, whose place is `at`. */
#define NN_TINY_EACH_SUM(...) \
	NN_UNROLL \
	for (unsigned j = 0; j < NN_TINY_EACH; j++) { \
		const size_t n = r->n + tiny_channel(input, p, j), \
			     at = (r->m + tiny_row(p)) * a->n + n; \
		if (tiny_adds(p) && tiny_row(p) < r->rows && n < a->n) \
			__VA_ARGS__ \
	}

NN_INLINE void begin_tiny(const struct nn_tile_args *a, struct nn_spot p, struct tiny *s,
			  struct tiny_sum *r, bool input)
{
	const struct nn_conv *c = &a->p.c;
	const uint32_t across = (uint32_t)((a->n + NN_TINY_CHANNELS - 1) / NN_TINY_CHANNELS),
		       down = (uint32_t)p.block / across,
		       at = p.thread % (NN_TINY_CHANNELS / NN_WIDE) * NN_WIDE;
	r->m = (size_t)down * NN_TINY_ROWS;
	r->n = ((uint32_t)p.block - down * across) * NN_TINY_CHANNELS;
	r->w.w = NULL;
	if (!input && r->n + at < lanes_of(c->cout))
		r->w = column_of(a->p.w, 0, r->n + at, c->cout, c->cin);
	start_tiny(a, p, s, r, input);
	NN_TINY_EACH_SUM({
		if (input)
			r->behind[j].residual = a->p.add ? a->p.dx[at] : 0;
		else
			r->behind[j] = behind_of(&a->p, n, at);
	});
	if (!tiny_adds(p))
		NN_COPIED(NN_TINY_TURNS - 2);
}

NN_INLINE void put_tiny(const struct nn_tile_args *a, struct nn_spot p, struct tiny *s,
			struct tiny_sum *r, bool input)
{
	(void)s;
	NN_TINY_EACH_SUM({
		if (input)
			a->p.dx[at] = a->p.add ? r->behind[j].residual + r->sum[j] : r->sum[j];
		else
			a->p.y[at] = tail_of(&a->p, r->sum[j], r->behind[j]);
	});
}

#define NN_TINY(name, input) \
	NN_SCRIPT(name, struct nn_tile_args, struct tiny, struct tiny_sum, NN_TINY_THREADS) \
	{ \
		unsigned turn = 0; \
		NN_PHASE(begin_tiny, input); \
		for (size_t d = 0; d < a->depth; d += NN_TINY_DEPTH, turn++) \
			NN_PHASE(turn_tiny, input, d, turn); \
		NN_PHASE(put_tiny, input); \
	}

NN_TINY(tiny, false)
NN_TINY(tiny_input, true)
