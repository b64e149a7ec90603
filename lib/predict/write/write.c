/* All formats of answers: one writer, a table of what each does, and rows that are not finite. */
#include <math.h>
#include <string.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/number.h"
#include "predict/write/write-inside.h"

void nn_write_number(struct nn_text *text, const struct nn_emitted *e, double value)
{
	char number[NN_NUMBER];

	nn_text_add_bytes(text, number,
			  e->dtype == NN_F64 ? nn_format_f64(number, value)
					     : nn_format_f32(number, (float)value));
}

static int put_text(struct nn_writer *w, struct nn_error *err)
{
	int status;

	if (w->text.failed)
		return nn_fail(err, NN_ENOMEM, "cannot allocate memory for a record of output");
	if (w->options.text)
		nn_text_add_bytes(w->options.text, w->text.data ? w->text.data : "",
				  w->text.length);
	status = w->text.length && !w->options.text
			 ? nn_output_write(w->output, w->text.data, w->text.length, err)
			 : 0;
	nn_text_clear(&w->text);
	return status;
}

static const struct {
	int (*header)(struct nn_writer *w, struct nn_error *err);
	int (*rows)(struct nn_writer *w, size_t rows, const char *const *bad, struct nn_error *err);
	int (*end)(struct nn_writer *w, struct nn_error *err); /* of an array; NULL */
	int (*close)(struct nn_writer *w, struct nn_error *err); /* NULL */
} formats[] = {
	[NN_TO_CSV] = { nn_write_table_header, nn_write_table_rows, NULL, NULL },
	[NN_TO_TSV] = { nn_write_table_header, nn_write_table_rows, NULL, NULL },
	[NN_TO_JSONL] = { nn_write_json_header, nn_write_json_rows, NULL, NULL },
	[NN_TO_NPY] = { nn_write_npy_header, nn_write_npy_rows, nn_write_npy_end, NULL },
	[NN_TO_NPZ] = { nn_write_npz_header, nn_write_npz_rows, NULL, nn_write_npz_close },
	[NN_TO_PNG] = { nn_write_png_header, nn_write_png_rows, NULL, nn_write_png_close },
};

int nn_writer_open(struct nn_writer **writer, struct nn_output *output, struct nn_emitted *emitted,
		   size_t n_emitted, const struct nn_writer_options *options, struct nn_error *err)
{
	struct nn_writer *w = nn_alloc(1, sizeof *w, err);
	size_t most = 1;

	if (!w)
		return -1;
	*w = (struct nn_writer){
		.output = output, .e = emitted, .n = n_emitted, .options = *options
	};
	w->separator = options->to == NN_TO_TSV ? '\t' : ',';
	for (size_t i = 0; i < n_emitted; i++)
		most = emitted[i].top > most ? emitted[i].top : most;
	w->classes = nn_alloc(most + 1, sizeof *w->classes, err);
	if (!w->classes || formats[options->to].header(w, err) < 0 || put_text(w, err) < 0) {
		nn_writer_free(w);
		return -1;
	}
	*writer = w;
	return 0;
}

static void count_not_finite(struct nn_writer *w, size_t rows, const char *const *bad)
{
	for (size_t r = 0; r < rows; r++) {
		bool finite = true;

		for (size_t i = 0; i < w->n && !(bad && bad[r]); i++)
			for (size_t k = 0; k < nn_emitted_length(&w->e[i], r) * w->e[i].columns && finite; k++)
				finite = isfinite(nn_emitted_value(&w->e[i], r, 0, k));
		w->not_finite += !finite;
	}
}

void nn_writer_keep(struct nn_writer *w, const char *kept)
{
	w->kept = kept;
}

const char *nn_write_next_kept(struct nn_writer *w)
{
	const char *kept = w->kept;

	w->kept += strlen(kept) + 1;
	return kept;
}

bool nn_write_is_name(const struct nn_emitted *emitted, size_t n,
		      const struct nn_writer_options *options, const char *name)
{
	return options->to == NN_TO_JSONL ? nn_write_is_member(emitted, n, options->named, name)
					  : nn_write_is_column(emitted, name);
}

int nn_writer_rows(struct nn_writer *w, size_t rows, const char *const *bad, struct nn_error *err)
{
	count_not_finite(w, rows, bad);
	return formats[w->options.to].rows(w, rows, bad, err) < 0 ? -1 : put_text(w, err);
}

int nn_writer_end_array(struct nn_writer *w, struct nn_error *err)
{
	return formats[w->options.to].end ? formats[w->options.to].end(w, err) : 0;
}

int nn_writer_close(struct nn_writer *w, struct nn_error *err)
{
	if (formats[w->options.to].close)
		return formats[w->options.to].close(w, err);
	return w->rows_since_end || !w->ended ? nn_writer_end_array(w, err) : 0;
}

void nn_writer_free(struct nn_writer *w)
{
	if (!w)
		return;
	if (w->spool)
		fclose(w->spool);
	nn_write_npz_free(w);
	nn_write_png_free(w->png);
	nn_text_free(&w->text);
	nn_free(w->classes);
	nn_free(w->block);
	nn_free(w);
}

uint64_t nn_writer_not_finite(const struct nn_writer *w)
{
	return w->not_finite;
}
