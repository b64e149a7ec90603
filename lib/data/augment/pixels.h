/* Loops over pixels of one type: included by pixels.c for f32, f64 and classes. */

/* Rows shifted and flipped by whole pixels, `outside` where nothing comes from. */
static inline void NAME(shift_row)(const T *restrict from, T *restrict to, int width, int channels,
				   int shift, bool flip, T outside)
{
	int first = shift < 0 ? -shift : 0, end = shift > 0 ? width - shift : width;

	for (int i = 0; i < first * channels; i++)
		to[i] = outside;
	for (int i = (end > first ? end : first) * channels; i < width * channels; i++)
		to[i] = outside;
	if (!flip) {
		for (int i = first * channels; i < end * channels; i++)
			to[i] = from[i + shift * channels];
		return;
	}
	for (int x = first; x < end; x++)
		for (int c = 0; c < channels; c++)
			to[x * channels + c] = from[(width - 1 - x - shift) * channels + c];
}

static void NAME(shift)(const struct grid *g, const struct nn_drawn *d, const T *from, T *to, T outside)
{
	for (int y = 0; y < g->height; y++, to += g->width * g->channels) {
		int v = y + d->shift_y;

		if (v < 0 || v >= g->height)
			for (int i = 0; i < g->width * g->channels; i++)
				to[i] = outside;
		else if (g->channels == 1)
			NAME(shift_row)(from + v * g->width, to, g->width, 1, d->shift_x, d->flip, outside);
		else if (g->channels == 3)
			NAME(shift_row)(from + v * g->width * 3, to, g->width, 3, d->shift_x, d->flip,
					outside);
		else
			NAME(shift_row)(from + v * g->width * g->channels, to, g->width, g->channels,
					d->shift_x, d->flip, outside);
	}
}

/* A pixel of the picture, or what is outside. */
static inline const T *NAME(pixel)(const struct grid *g, const T *from, int x, int y)
{
	return x >= 0 && x < g->width && y >= 0 && y < g->height
		       ? from + ((ptrdiff_t)y * g->width + x) * g->channels
		       : NULL;
}

#ifdef BLEND
/* Between four pixels, by how near each is. */
static inline void NAME(blend)(const struct grid *g, const T *from, double u, double v, T *to)
{
	int x = (int)floor(u), y = (int)floor(v);
	T right = (T)(u - x), down = (T)(v - y);
	const T *at[4] = { NAME(pixel)(g, from, x, y), NAME(pixel)(g, from, x + 1, y),
			   NAME(pixel)(g, from, x, y + 1), NAME(pixel)(g, from, x + 1, y + 1) };
	T part[4] = { (1 - right) * (1 - down), right * (1 - down), (1 - right) * down, right * down };

	for (int c = 0; c < g->channels; c++) {
		T sum = 0;

		for (int k = 0; k < 4; k++)
			sum += at[k] ? part[k] * at[k][c] : 0;
		to[c] = sum;
	}
}
#endif

static void NAME(turn)(const struct grid *g, const struct nn_drawn *d, const T *from, T *to, T outside)
{
	for (int y = 0; y < g->height; y++)
		for (int x = 0; x < g->width; x++, to += g->channels) {
			double u, v;

			where_from(g, d, x, y, &u, &v);
			if (!(u > -1 && u < g->width && v > -1 && v < g->height)) {
				for (int c = 0; c < g->channels; c++)
					to[c] = outside;
				continue;
			}
#ifdef BLEND
			NAME(blend)(g, from, u, v, to);
#else
			const T *pixel = NAME(pixel)(g, from, (int)floor(u + 0.5), (int)floor(v + 0.5));

			for (int c = 0; c < g->channels; c++)
				to[c] = pixel ? pixel[c] : outside;
#endif
		}
}

static void NAME(move)(const struct grid *g, const struct nn_drawn *d, const void *from, void *to, T outside)
{
	size_t plane = (size_t)g->width * (size_t)g->height * (size_t)g->channels;

	for (size_t p = 0; p < g->planes; p++)
		(d->turns || !g->whole ? NAME(turn) : NAME(shift))(
			g, d, (const T *)from + p * plane, (T *)to + p * plane, outside);
}

#ifdef BLEND
/*
 * The mean of n values in whole numbers of 2^-16, so that it does not depend on the order that they lie in; what is
 * beyond 2^14 counts as that.
 */
NN_WIDE(T, NAME(mean), (const T *values, size_t n), (values, n))
{
	int64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		T v = values[i] < 16384 ? values[i] : 16384;

		v = v > -16384 ? v : -16384;
		sum += (int32_t)(v * 65536);
	}
	return (T)((double)sum / 65536 / (double)n);
}

NN_WIDE(void, NAME(colours), (T * values, size_t n, T brightness, T contrast, T mean),
	(values, n, brightness, contrast, mean))
{
	T base = mean * (1 - contrast), slope = brightness * contrast;

	for (size_t i = 0; i < n; i++)
		values[i] = values[i] * slope + base;
}

/* Sums of four bytes, nearly normal: mean 510, variance 4 (2^16 - 1) / 12. */
NN_WIDE(void, NAME(noise), (T * values, const unsigned char *bytes, size_t n, T sd),
	(values, bytes, n, sd))
{
	T unit = sd / (T)147.80054127099803;

	for (size_t i = 0; i < n; i++)
		values[i] += unit * (T)(bytes[4 * i] + bytes[4 * i + 1] + bytes[4 * i + 2] +
					bytes[4 * i + 3] - 510);
}

NN_WIDE(void, NAME(mix), (T * values, const T *others, size_t n, T share),
	(values, others, n, share))
{
	for (size_t i = 0; i < n; i++)
		values[i] = share * values[i] + (1 - share) * others[i];
}

static void NAME(cut)(const struct grid *g, T *values, int x0, int y0, int size)
{
	int x1 = x0 + size < g->width ? x0 + size : g->width,
	    y1 = y0 + size < g->height ? y0 + size : g->height;

	for (size_t p = 0; p < g->planes; p++, values += g->width * g->height * g->channels)
		for (int y = y0 < 0 ? 0 : y0; y < y1; y++)
			for (int i = (x0 < 0 ? 0 : x0) * g->channels; i < x1 * g->channels; i++)
				values[y * g->width * g->channels + i] = 0;
}
#endif

#undef T
#undef NAME
