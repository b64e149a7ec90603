/*
 * Rows into batches: gathered by number, converted, scaled, one-hot, channels last. Loops that
 * compilers turn into vectors.
 *
 * Pictures are multiplied by the stored scale in the type of the batch: (f32)v * (f32)scale.
 */
#include "base/flush.h"
#include "base/wide.h"
#include "data/coding.h"

/* Rows are gathered from anywhere: the next one is on its way while this one is converted. */
static inline void prefetch(const void *row, size_t bytes)
{
	for (size_t at = 0; at < bytes && at < 4096; at += 64)
		__builtin_prefetch((const char *)row + at);
}

/* S: as the rows lie; T: as batches are; FLUSHED of what nothing is computed of. */
#define FILL(name, S, T, FLUSHED) \
	/* A row as it is, or times a factor. */ \
	static inline void name##_row(const S *restrict from, size_t n, T factor, T *restrict to) \
	{ \
		if (factor == 1) \
			for (size_t i = 0; i < n; i++) \
				to[i] = FLUSHED((T)from[i]); \
		else \
			for (size_t i = 0; i < n; i++) \
				to[i] = (T)from[i] * factor; \
	} \
	/* The same, channels last. */ \
	static inline void name##_last(const S *restrict from, size_t channels, size_t positions, \
				       T factor, T *restrict to) \
	{ \
		if (channels == 3) { \
			const S *restrict r = from, *restrict g = from + positions, \
					  *restrict b = from + 2 * positions; \
			for (size_t p = 0; p < positions; p++) { \
				to[3 * p] = (T)r[p] * factor; \
				to[3 * p + 1] = (T)g[p] * factor; \
				to[3 * p + 2] = (T)b[p] * factor; \
			} \
			return; \
		} \
		for (size_t c = 0; c < channels; c++) \
			for (size_t p = 0; p < positions; p++) \
				to[p * channels + c] = (T)from[c * positions + p] * factor; \
	} \
	/* Numbers, each with its mean and deviation. */ \
	static inline void name##_scaled(const S *restrict from, size_t n, const T *restrict mean, \
					 const T *restrict sd, T *restrict to) \
	{ \
		for (size_t i = 0; i < n; i++) \
			to[i] = ((T)from[i] - mean[i]) / sd[i]; \
	} \
	/* Numbers, some of them missing, scaled or not. */ \
	static inline void name##_filled(const S *restrict from, size_t n, \
					 const T *restrict missing, const T *restrict mean, \
					 const T *restrict sd, T *restrict to) \
	{ \
		for (size_t i = 0; i < n; i++) { \
			T v = FLUSHED((T)from[i]); \
			v = v == v ? v : missing[i]; \
			to[i] = mean ? (v - mean[i]) / sd[i] : v; \
		} \
	} \
	/* Any columns: value e of the sample goes to place e, or to its place channels last. */ \
	static void name##_columns(const struct nn_input_code *code, const S *from, \
				   const size_t *slots, bool last, T *to) \
	{ \
		const T *mean = code->mean, *sd = code->sd, *missing = code->missing; \
		size_t e = 0; \
		for (size_t i = 0; i < code->n_columns; i++) { \
			T v = FLUSHED((T)from[slots ? slots[i] : i]); \
			size_t width = code->words[i] ? nn_words_count(code->words[i]) : 1, \
			       hot = width; \
			if (code->rows && code->words[i]) { \
				v = v >= 0 && v < (T)width \
					    ? (T)(code->first[i] + \
						  (size_t)code->place[i][(size_t)v]) \
					    : -1; \
				width = 1; \
			} \
			if (missing && v != v) \
				v = missing[i]; \
			if (code->words[i] && !code->rows && v >= 0 && v < (T)width) \
				hot = (size_t)code->place[i][(size_t)v]; \
			for (size_t k = 0; k < width && e < code->size; k++, e++) { \
				size_t at = last ? e % code->positions * code->channels + \
							    e / code->positions \
						 : e; \
				if (code->words[i] && !code->rows) \
					to[at] = (T)(k == hot); \
				else \
					to[at] = mean ? (v - mean[i]) / sd[i] : v; \
			} \
		} \
	} \
	NN_WIDE(void, name, \
		(const struct nn_input_code *code, const struct nn_row_block *source, \
		 const uint64_t *rows, size_t n, bool last, T *to), \
		(code, source, rows, n, last, to)) \
	{ \
		const S *data = source->data; \
		T factor = source->picture && code->scale != 0 ? (T)code->scale : 1; \
		last = last && code->channels > 1; \
		for (size_t r = 0; r < n; r++, to += code->size) { \
			if (rows && r + 1 < n) \
				prefetch(data + rows[r + 1] * source->stride, \
					 source->stride * sizeof *data); \
			const S *from = data + (rows ? rows[r] : r) * source->stride; \
			if (code->n_columns == 0 && last) \
				name##_last(from, code->channels, code->positions, factor, to); \
			else if (code->n_columns == 0) \
				name##_row(from, code->size, factor, to); \
			else if (!last && !source->slots && !code->categories && code->missing) \
				name##_filled(from, code->size, code->missing, code->mean, \
					      code->sd, to); \
			else if (!last && !source->slots && !code->categories && code->mean) \
				name##_scaled(from, code->size, code->mean, code->sd, to); \
			else if (!last && !source->slots && !code->categories) \
				name##_row(from, code->size, 1, to); \
			else \
				name##_columns(code, from, source->slots, last, to); \
		} \
	}

FILL(u8_f32, uint8_t, float, )
FILL(u8_f64, uint8_t, double, )
FILL(f32_f32, float, float, nn_flushed_f32)
FILL(f64_f64, double, double, nn_flushed_f64)

void nn_fill_input(const struct nn_input_code *code, enum nn_dtype dtype,
		   const struct nn_row_block *source, const uint64_t *rows, size_t n,
		   bool channels_last, void *values)
{
	if (source->dtype == NN_U8)
		dtype == NN_F64 ? u8_f64(code, source, rows, n, channels_last, values)
				: u8_f32(code, source, rows, n, channels_last, values);
	else
		dtype == NN_F64 ? f64_f64(code, source, rows, n, channels_last, values)
				: f32_f32(code, source, rows, n, channels_last, values);
}

#define NUMBERS(name, T, FLUSHED) \
	static void name(const struct nn_target_code *code, const T *numbers, size_t size, \
			 const uint64_t *rows, size_t n, T *to) \
	{ \
		const T *mean = code->mean, *sd = code->sd; \
		for (size_t r = 0; r < n; r++, to += size) { \
			const T *from = numbers + (rows ? rows[r] : r) * size; \
			for (size_t i = 0; !mean && !code->channels && i < size; i++) \
				to[i] = FLUSHED(from[i]); \
			for (size_t i = 0; !mean && code->channels && i < size; i++) \
				to[nn_code_place(code, size, i)] = FLUSHED(from[i]); \
			for (size_t i = 0; mean && i < size; i++) \
				to[i] = (from[i] - mean[i % code->n_columns]) / \
					sd[i % code->n_columns]; \
		} \
	}

NUMBERS(numbers_f32, float, nn_flushed_f32)
NUMBERS(numbers_f64, double, nn_flushed_f64)

void nn_fill_numbers(const struct nn_target_code *code, enum nn_dtype dtype, const void *numbers,
		     size_t size, const uint64_t *rows, size_t n, void *values)
{
	if (dtype == NN_F64)
		numbers_f64(code, numbers, size, rows, n, values);
	else
		numbers_f32(code, numbers, size, rows, n, values);
}
