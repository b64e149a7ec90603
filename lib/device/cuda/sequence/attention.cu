/*
 * attention. A block of threads has NN_SUM_ROWS positions of a head: their scores are products of
 * tiles in shared memory, then a row has a thread for each lane of its sums, then means are
 * products of tiles again. Scores lie in memory between these.
 */
#include "device/cpu/softmax.h"
#include "device/cuda/rowsum.h"

#define NN_HEAD_THREADS NN_SUM_THREADS
#define NN_PLACES NN_SUM_ROWS
#define NN_KEYS 128                   /* of a tile of scores */
#define NN_CHUNK (128 / sizeof(real)) /* steps of their chains at a time */
#define NN_MEANS (256 / sizeof(real)) /* positions of a tile of means */
#define NN_MEAN_COLUMNS 64
#define NN_EACH_COLUMNS 4 /* of a thread */

struct pair_tile {
	real x[NN_PLACES][NN_CHUNK + NN_WIDE], w[NN_KEYS][NN_CHUNK + NN_WIDE];
};

struct mean_tile {
	real weight[NN_PLACES][NN_MEANS + NN_WIDE], b[NN_MEANS][NN_MEAN_COLUMNS];
};

struct heads {
	struct row_sums sums;
	union {
		struct pair_tile pair;
		struct mean_tile mean;
	} tile;
};

/* Positions `first`, first + 1, ... of a head; n: those that the thread's row attends to. */
struct head {
	size_t piece, first, n;
	struct row_lane lane;
	real *score, *slope; /* the thread's lane of its row */
	real pair[2][4], mean[NN_EACH_COLUMNS];
};

/* A position of a head after the other, to be multiplied by `scale`. */
struct head_rows {
	const real *at;
	size_t row;
	real scale;
};

/* Part 0, 1 or 2 of x and of its gradient: queries, keys, values; part 0 of y. */
NN_INLINE size_t head_begin(const struct nn_attention_args *a, size_t piece, size_t parts,
			    size_t part)
{
	const unsigned head = (unsigned)(a->first + piece), heads = (unsigned)a->heads;
	return (head / heads * a->t * parts + part) * heads * a->size + head % heads * a->size;
}

NN_INLINE struct head_rows part_of(const struct nn_attention_args *a, size_t piece, size_t part,
				   real scale)
{
	struct head_rows rows;
	rows.at = a->x + head_begin(a, piece, 3, part);
	rows.row = 3 * a->heads * a->size;
	rows.scale = scale;
	return rows;
}

NN_INLINE struct head_rows slopes_of(const struct nn_attention_args *a, size_t piece)
{
	struct head_rows rows;
	rows.at = a->dy + head_begin(a, piece, 1, 0);
	rows.row = a->heads * a->size;
	rows.scale = 1;
	return rows;
}

/* Positions of the row that a head belongs to. */
NN_INLINE size_t length_of(const struct nn_attention_args *a, size_t piece)
{
	return a->lengths ? a->lengths[(unsigned)(a->first + piece) / (unsigned)a->heads] : a->t;
}

/* Positions that q attends to; those behind the row's to none. */
NN_INLINE size_t attended(const struct nn_attention_args *a, size_t piece, size_t q)
{
	size_t length = length_of(a, piece);
	return q >= length ? 0 : a->causal ? q + 1 : length;
}

/* Which head of the call a block of threads has, and from which position on. */
NN_INLINE size_t piece_of(const struct nn_attention_args *a, struct nn_spot p)
{
	const unsigned tiles = (unsigned)((a->t + NN_PLACES - 1) / NN_PLACES);
	return (unsigned)p.block / tiles % (unsigned)a->n;
}

NN_INLINE size_t first_of(const struct nn_attention_args *a, struct nn_spot p)
{
	const unsigned tiles = (unsigned)((a->t + NN_PLACES - 1) / NN_PLACES);
	return (size_t)((unsigned)p.block % tiles) * NN_PLACES;
}

NN_INLINE size_t at_most(size_t n, size_t most)
{
	return n < most ? n : most;
}

/* Positions that any of NN_PLACES from `first` on attends to. */
NN_INLINE size_t attended_by_all(const struct nn_attention_args *a, size_t piece, size_t first)
{
	size_t length = length_of(a, piece);
	return first >= length ? 0 : a->causal ? at_most(first + NN_PLACES, length) : length;
}

NN_INLINE void begin_head(const struct nn_attention_args *a, struct nn_spot p, struct heads *s,
			  struct head *r)
{
	size_t at;
	(void)s;
	r->piece = piece_of(a, p);
	r->first = first_of(a, p);
	r->lane = row_lane_of(p);
	r->n = attended(a, r->piece, r->first + r->lane.slot);
	at = (r->piece * a->t + r->first + r->lane.slot) * a->t + r->lane.lane;
	r->score = a->score + at;
	r->slope = a->slope + at;
}

/* ---- tiles ---- */

/*
 * Into shared memory, whose rows are `step` long: n rows and m columns of `from`, of a tile of
 * height x width. All is asked for before the first is stored.
 */
NN_INLINE void load_tile(struct nn_spot p, const struct head_rows *rows, const real *from, size_t n,
			 size_t m, real *to, unsigned step, unsigned height, unsigned width)
{
	const unsigned across = width / NN_WIDE,
		       each = (height * across + NN_HEAD_THREADS - 1) / NN_HEAD_THREADS;
	const size_t there = at_most(n, height);
	struct wide_reals v[4]; /* each <= 4 */
	const bool wide =
		((uintptr_t)from | rows->row * sizeof(real) | m * sizeof(real)) % sizeof v[0] == 0;
	NN_UNROLL
	for (unsigned i = 0; i < each; i++) {
		const unsigned q = p.thread + i * NN_HEAD_THREADS, h = q / across,
			       w = q % across * NN_WIDE;
		if (wide && h < there && w < m) {
			v[i] = get_wide(from + h * rows->row + w);
			continue;
		}
		NN_UNROLL
		for (unsigned j = 0; j < NN_WIDE; j++)
			v[i].v[j] = h < there && w + j < m ? from[h * rows->row + w + j] : 0;
	}
	NN_UNROLL
	for (unsigned i = 0; i < each; i++) {
		const unsigned q = p.thread + i * NN_HEAD_THREADS, h = q / across,
			       w = q % across * NN_WIDE;
		NN_UNROLL
		for (unsigned j = 0; j < NN_WIDE; j++)
			if (h < height)
				to[h * step + w + j] = v_mul(v[i].v[j], rows->scale);
	}
}

/* ---- scores: of positions of x with those of w ---- */

NN_INLINE void load_pairs(const struct nn_attention_args *a, struct nn_spot p, struct heads *s,
			  struct head *r, struct head_rows x, struct head_rows w, size_t k,
			  size_t j)
{
	struct pair_tile *tile = &s->tile.pair;
	load_tile(p, &x, x.at + r->first * x.row + j, a->t - r->first, a->size - j, tile->x[0],
		  NN_CHUNK + NN_WIDE, NN_PLACES, NN_CHUNK);
	load_tile(p, &w, w.at + k * w.row + j, a->t - k, a->size - j, tile->w[0],
		  NN_CHUNK + NN_WIDE, NN_KEYS, NN_CHUNK);
}

/* Positions q, q + 4 with k, k + 8, ...: `steps` of their chains from j on. */
NN_INLINE void pair_steps(const struct pair_tile *tile, struct head *r, unsigned q, unsigned k,
			  unsigned j, unsigned steps)
{
	real x[2][NN_WIDE], w[4][NN_WIDE];
	NN_UNROLL
	for (unsigned u = 0; u < steps; u++) {
		NN_UNROLL
		for (unsigned i = 0; i < 2; i++)
			x[i][u] = tile->x[q + 4 * i][j + u];
		NN_UNROLL
		for (unsigned i = 0; i < 4; i++)
			w[i][u] = tile->w[k + 8 * i][j + u];
	}
	NN_UNROLL
	for (unsigned u = 0; u < steps; u++) {
		NN_UNROLL
		for (unsigned i = 0; i < 8; i++)
			r->pair[i / 4][i % 4] =
				r_fma(x[i / 4][u], w[i % 4][u], r->pair[i / 4][i % 4]);
	}
}

NN_INLINE void put_pairs(const struct nn_attention_args *a, const struct head *r, size_t q,
			 size_t k, real *to)
{
	NN_UNROLL
	for (unsigned i = 0; i < 2; i++) {
		const size_t n = attended(a, r->piece, q + 4 * i);
		real *row = to + (r->piece * a->t + q + 4 * i) * a->t;
		NN_UNROLL
		for (unsigned m = 0; m < 4; m++)
			if (k + 8 * m < n)
				row[k + 8 * m] = r->pair[i][m];
	}
}

/* A warp has 8 positions and 32 of those that they attend to, `end` in all. */
NN_INLINE void add_pairs(const struct nn_attention_args *a, struct nn_spot p, struct heads *s,
			 struct head *r, size_t first, size_t at, size_t end, real *to)
{
	const unsigned warp = p.thread / 32, lane = p.thread % 32, q = warp % 2 * 8 + lane / 8,
		       k = warp / 2 * 32 + lane % 8, n = (unsigned)at_most(a->size - at, NN_CHUNK);
	unsigned j = 0;
	if (first + warp / 2 * 32 >= end)
		return;
	NN_UNROLL
	for (unsigned i = 0; at == 0 && i < 8; i++)
		r->pair[i / 4][i % 4] = 0;
	for (; j + NN_WIDE <= n; j += NN_WIDE)
		pair_steps(&s->tile.pair, r, q, k, j, NN_WIDE);
	for (; j < n; j++)
		pair_steps(&s->tile.pair, r, q, k, j, 1);
	if (at + NN_CHUNK >= a->size)
		put_pairs(a, r, r->first + q, first + k, to);
}

/* ---- softmax, and its slopes ---- */

/* Numbers of a thread's lane in all of its row. */
NN_INLINE unsigned lane_all(const struct head *r)
{
	return ((unsigned)r->n + NN_SUM_LANES - 1 - r->lane.lane) / NN_SUM_LANES;
}

NN_INLINE void find_most(const struct nn_attention_args *a, struct nn_spot p, struct heads *s,
			 struct head *r)
{
	const unsigned n = lane_all(r);
	real most = -(real)__builtin_inff();
	(void)a;
	(void)p;
	for (unsigned i = 0; i < n; i += NN_RUN_AHEAD) {
		real v[NN_RUN_AHEAD];
		ask_lane(r->score + i * NN_SUM_LANES, n - i, v);
		NN_UNROLL
		for (unsigned j = 0; j < NN_RUN_AHEAD; j++)
			most = i + j < n ? v_max(v[j], most) : most;
	}
	s->sums.value[1][r->lane.slot][r->lane.lane] = most;
}

/* Whichever order, the same. */
NN_INLINE void merge_most(const struct nn_attention_args *a, struct nn_spot p, struct heads *s,
			  struct head *r)
{
	const real *value = s->sums.value[1][r->lane.slot];
	real most = value[0];
	(void)a;
	(void)p;
	if (r->lane.lane > 0)
		return;
	NN_UNROLL
	for (unsigned i = 1; i < NN_SUM_LANES; i++)
		most = v_max(value[i], most);
	s->sums.total[1][r->lane.slot] = most;
}

NN_INLINE void sum_powers(const struct nn_attention_args *a, struct nn_spot p, struct heads *s,
			  struct head *r, size_t at)
{
	const unsigned n = lane_numbers(&r->lane, at, r->n);
	const real most = s->sums.total[1][r->lane.slot];
	real *score = r->score + at, sum = 0;
	(void)a;
	(void)p;
	for (unsigned i = 0; i < n; i += NN_RUN_AHEAD) {
		real v[NN_RUN_AHEAD];
		ask_lane(score + i * NN_SUM_LANES, n - i, v);
		NN_UNROLL
		for (unsigned j = 0; j < NN_RUN_AHEAD; j++) {
			real e = v_exp_negative(v_sub(v[j], most));
			if (i + j < n) {
				sum = v_add(sum, e);
				score[(i + j) * NN_SUM_LANES] = e;
			}
		}
	}
	s->sums.value[0][r->lane.slot][r->lane.lane] = sum;
}

NN_INLINE void close_sum(const struct nn_attention_args *a, struct nn_spot p, struct heads *s,
			 struct head *r, size_t at)
{
	(void)a;
	(void)p;
	close_block(&s->sums, &r->lane, 0, at, r->n);
}

NN_INLINE void put_softmax(const struct nn_attention_args *a, struct nn_spot p, struct heads *s,
			   struct head *r)
{
	const unsigned n = lane_all(r);
	const real sum = s->sums.total[0][r->lane.slot];
	(void)a;
	(void)p;
	for (unsigned i = 0; i < n; i += NN_RUN_AHEAD) {
		real v[NN_RUN_AHEAD];
		ask_lane(r->score + i * NN_SUM_LANES, n - i, v);
		NN_UNROLL
		for (unsigned j = 0; j < NN_RUN_AHEAD; j++)
			if (i + j < n)
				r->score[(i + j) * NN_SUM_LANES] = v_div(v[j], sum);
	}
}

NN_INLINE void sum_slopes(const struct nn_attention_args *a, struct nn_spot p, struct heads *s,
			  struct head *r, size_t at)
{
	const unsigned n = lane_numbers(&r->lane, at, r->n);
	const real *score = r->score + at, *slope = r->slope + at;
	real sum = 0;
	(void)a;
	(void)p;
	for (unsigned i = 0; i < n; i += NN_RUN_AHEAD) {
		real v[NN_RUN_AHEAD], d[NN_RUN_AHEAD];
		ask_lane(score + i * NN_SUM_LANES, n - i, v);
		ask_lane(slope + i * NN_SUM_LANES, n - i, d);
		NN_UNROLL
		for (unsigned j = 0; j < NN_RUN_AHEAD; j++)
			if (i + j < n)
				sum = v_add(sum, v_mul(d[j], v[j]));
	}
	s->sums.value[0][r->lane.slot][r->lane.lane] = sum;
}

NN_INLINE void put_slopes(const struct nn_attention_args *a, struct nn_spot p, struct heads *s,
			  struct head *r)
{
	const unsigned n = lane_all(r);
	const real sum = s->sums.total[0][r->lane.slot];
	(void)a;
	(void)p;
	for (unsigned i = 0; i < n; i += NN_RUN_AHEAD) {
		real v[NN_RUN_AHEAD], d[NN_RUN_AHEAD];
		ask_lane(r->score + i * NN_SUM_LANES, n - i, v);
		ask_lane(r->slope + i * NN_SUM_LANES, n - i, d);
		NN_UNROLL
		for (unsigned j = 0; j < NN_RUN_AHEAD; j++)
			if (i + j < n)
				r->slope[(i + j) * NN_SUM_LANES] = v_mul(v[j], v_sub(d[j], sum));
	}
}

/* ---- means: of positions of b, by weights; turned: by those of the positions that attend ---- */

NN_INLINE void begin_means(const struct nn_attention_args *a, struct nn_spot p, struct heads *s,
			   struct head *r)
{
	(void)a;
	(void)p;
	(void)s;
	NN_UNROLL
	for (unsigned c = 0; c < NN_EACH_COLUMNS; c++)
		r->mean[c] = 0;
}

NN_INLINE void load_means(const struct nn_attention_args *a, struct nn_spot p, struct heads *s,
			  struct head *r, bool turned, const real *weights, struct head_rows b,
			  size_t k, size_t c)
{
	struct mean_tile *tile = &s->tile.mean;
	const unsigned each = NN_PLACES * NN_MEANS / NN_HEAD_THREADS;
	real v[4]; /* each <= 4 */
	NN_UNROLL
	for (unsigned i = 0; i < each; i++) {
		const size_t at = p.thread + i * NN_HEAD_THREADS,
			     x = turned ? r->first + at % NN_PLACES : k + at % NN_MEANS,
			     q = turned ? k + at / NN_PLACES : r->first + at / NN_MEANS;
		v[i] = x < attended(a, r->piece, q) ? weights[(r->piece * a->t + q) * a->t + x] : 0;
	}
	load_tile(p, &b, b.at + k * b.row + c, a->t - k, a->size - c, tile->b[0], NN_MEAN_COLUMNS,
		  NN_MEANS, NN_MEAN_COLUMNS);
	NN_UNROLL
	for (unsigned i = 0; i < each; i++) {
		const unsigned at = p.thread + i * NN_HEAD_THREADS;
		tile->weight[turned ? at % NN_PLACES : at / NN_MEANS]
			    [turned ? at / NN_PLACES : at % NN_MEANS] = v[i];
	}
}

NN_INLINE void mean_steps(const struct mean_tile *tile, struct head *r, unsigned q, unsigned c,
			  unsigned k, unsigned steps)
{
	real w[NN_WIDE], b[NN_WIDE][NN_EACH_COLUMNS];
	NN_UNROLL
	for (unsigned u = 0; u < steps; u++) {
		w[u] = tile->weight[q][k + u];
		NN_UNROLL
		for (unsigned i = 0; i < NN_EACH_COLUMNS; i++)
			b[u][i] = tile->b[k + u][c + i];
	}
	NN_UNROLL
	for (unsigned u = 0; u < steps; u++) {
		NN_UNROLL
		for (unsigned i = 0; i < NN_EACH_COLUMNS; i++)
			r->mean[i] = r_fma(w[u], b[u][i], r->mean[i]);
	}
}

/* A thread has a position and NN_EACH_COLUMNS columns; its chain may begin and end in the tile. */
NN_INLINE void add_means(const struct nn_attention_args *a, struct nn_spot p, struct heads *s,
			 struct head *r, bool turned, size_t first, size_t column)
{
	const unsigned q = p.thread % NN_PLACES, c = p.thread / NN_PLACES * NN_EACH_COLUMNS;
	const size_t n = attended(a, r->piece, r->first + q),
		     begin = turned && a->causal ? r->first + q : 0,
		     end = turned && n > 0 ? length_of(a, r->piece) : n;
	unsigned k = begin < first ? 0 : (unsigned)at_most(begin - first, NN_MEANS),
		 last = end < first ? 0 : (unsigned)at_most(end - first, NN_MEANS);
	if (column + c >= a->size)
		return;
	for (; k < last && k % NN_WIDE; k++)
		mean_steps(&s->tile.mean, r, q, c, k, 1);
	for (; k + NN_WIDE <= last; k += NN_WIDE)
		mean_steps(&s->tile.mean, r, q, c, k, NN_WIDE);
	for (; k < last; k++)
		mean_steps(&s->tile.mean, r, q, c, k, 1);
}

NN_INLINE void put_means(const struct nn_attention_args *a, struct nn_spot p, struct heads *s,
			 struct head *r, size_t column, real out, real *to, size_t row)
{
	const unsigned c = p.thread / NN_PLACES * NN_EACH_COLUMNS;
	const size_t at = r->first + p.thread % NN_PLACES;
	(void)s;
	NN_UNROLL
	for (unsigned i = 0; i < NN_EACH_COLUMNS; i++)
		if (at < a->t && column + c + i < a->size)
			nn_put(to + at * row + column + c + i, v_mul(r->mean[i], out), a->add);
}

/* ---- kernels ---- */

#define NN_PAIRED(x, w, to) \
	for (size_t k = 0; k < all; k += NN_KEYS) \
		for (size_t j = 0; j < a->size; j += NN_CHUNK) { \
			NN_PHASE(load_pairs, x, w, k, j); \
			NN_PHASE(add_pairs, k, j, all, to); \
		}

#define NN_SOFTMAX() \
	do { \
		NN_PHASE(find_most); \
		NN_PHASE(merge_most); \
		for (size_t at = 0; at < all; at += NN_SUM_BLOCK) { \
			NN_PHASE(sum_powers, at); \
			NN_PHASE(close_sum, at); \
		} \
		NN_PHASE(put_softmax); \
	} while (0)

#define NN_MEANS_OF(turned, begin, end, weights, b, out, to, row) \
	for (size_t c = 0; c < a->size; c += NN_MEAN_COLUMNS) { \
		NN_PHASE(begin_means); \
		for (size_t k = begin; k < end; k += NN_MEANS) { \
			NN_PHASE(load_means, turned, weights, b, k, c); \
			NN_PHASE(add_means, turned, k, c); \
		} \
		NN_PHASE(put_means, c, out, to, row); \
	}

NN_SCRIPT(attention, struct nn_attention_args, struct heads, struct head, NN_HEAD_THREADS)
{
	const size_t piece = piece_of(a, p), all = attended_by_all(a, piece, first_of(a, p));
	const struct head_rows x = part_of(a, piece, 0, 1), keys = part_of(a, piece, 1, a->scale),
			       values = part_of(a, piece, 2, 1);
	NN_PHASE(begin_head);
	NN_PAIRED(x, keys, a->score);
	NN_SOFTMAX();
	NN_MEANS_OF(false, 0, all, a->score, values, 1, a->to + head_begin(a, piece, 1, 0),
		    a->heads * a->size);
}

/* Scores and their slopes, and the gradients of queries. */
NN_SCRIPT(attention_back, struct nn_attention_args, struct heads, struct head, NN_HEAD_THREADS)
{
	const size_t piece = piece_of(a, p), all = attended_by_all(a, piece, first_of(a, p));
	const struct head_rows x = part_of(a, piece, 0, 1), keys = part_of(a, piece, 1, a->scale),
			       values = part_of(a, piece, 2, 1), dy = slopes_of(a, piece);
	NN_PHASE(begin_head);
	NN_PAIRED(x, keys, a->score);
	NN_SOFTMAX();
	NN_PAIRED(dy, values, a->slope);
	for (size_t at = 0; at < all; at += NN_SUM_BLOCK) {
		NN_PHASE(sum_slopes, at);
		NN_PHASE(close_sum, at);
	}
	NN_PHASE(put_slopes);
	NN_MEANS_OF(false, 0, all, a->slope, keys, 1, a->to + head_begin(a, piece, 3, 0),
		    3 * a->heads * a->size);
}

/* Behind that: the gradients of keys, then those of values. */
NN_SCRIPT(attention_spread, struct nn_attention_args, struct heads, struct head, NN_HEAD_THREADS)
{
	const bool value = p.block >= a->n * ((a->t + NN_PLACES - 1) / NN_PLACES);
	const size_t piece = piece_of(a, p), first = first_of(a, p), length = length_of(a, piece),
		     begin = a->causal ? first : 0, end = first < length ? length : 0;
	const struct head_rows b = value ? slopes_of(a, piece) : part_of(a, piece, 0, 1);
	const real *weights = value ? a->score : a->slope, out = value ? 1 : a->scale;
	NN_PHASE(begin_head);
	NN_MEANS_OF(true, begin, end, weights, b, out, a->to + head_begin(a, piece, 3, 1 + value),
		    3 * a->heads * a->size);
}

/* ---- attention of a step, which what came before has left its keys and values to ---- */

/* Key `t` of a row and head; values lie behind the keys. */
NN_INLINE real *kept_at(const struct nn_attention_args *a, size_t row, size_t head, bool value,
			size_t t)
{
	size_t all = a->heads * a->size;
	return a->state + ((2 * row + value) * a->t + t) * all + head * a->size;
}

NN_MAP(attention_keep, struct nn_attention_args)
{
	size_t all = a->heads * a->size, row = i / all, at = i % all;
	const real *x = a->x + row * 3 * all;
	kept_at(a, row, 0, false, a->now)[at] = v_mul(x[all + at], a->scale);
	kept_at(a, row, 0, true, a->now)[at] = x[2 * all + at];
}

NN_MAP(attention_step, struct nn_attention_args)
{
	size_t k = i % (a->now + 1), piece = i / (a->now + 1), row = piece / a->heads,
	       head = piece % a->heads;
	const real *x = a->x + (row * 3 * a->heads + head) * a->size,
		   *w = kept_at(a, row, head, false, k);
	real sum = 0;
	for (size_t j = 0; j < a->size; j++)
		sum = r_fma(x[j], w[j], sum);
	a->score[piece * a->t + k] = sum;
}

NN_MAP(attention_step_weigh, struct nn_attention_args)
{
	v_softmax(a->score + i * a->t, a->score + i * a->t, a->now + 1);
}

NN_MAP(attention_step_mix, struct nn_attention_args)
{
	size_t k = i % a->size, piece = i / a->size, row = piece / a->heads;
	real sum = 0;
	for (size_t j = 0; j <= a->now; j++)
		sum = r_fma(a->score[piece * a->t + j],
			    kept_at(a, row, piece % a->heads, true, j)[k], sum);
	a->to[i] = sum;
}
