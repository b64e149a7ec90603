/*
 * Rows as they come: opening by content, targets beside them, bad rows, and what is to be noticed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "data/rows/rows.h"

static int copy_options(struct nn_rows *r, const struct nn_rows_options *options,
			struct nn_error *err)
{
	r->options = *options;
	if (options->target && !(r->target = nn_strdup(options->target, err)))
		return -1;
	r->options.target = r->target;
	if (options->weight && !(r->weight = nn_strdup(options->weight, err)))
		return -1;
	r->options.weight = r->weight;
	if (options->keep && !(r->keep = nn_strdup(options->keep, err)))
		return -1;
	r->options.keep = r->keep;
	if (!options->channels_last)
		return 0;
	r->channels_last = nn_alloc(r->schema->n_inputs, sizeof(bool), err);
	if (!r->channels_last)
		return -1;
	memcpy(r->channels_last, options->channels_last, r->schema->n_inputs * sizeof(bool));
	r->options.channels_last = r->channels_last;
	return 0;
}

static int make_coding(struct nn_rows *r, struct nn_error *err)
{
	if (nn_coding_new(&r->coding, r->schema, r->dtype, err) < 0)
		return -1;
	return nn_coding_schema(r->coding, r->schema, !r->options.scaled, err);
}

/* Those of steps are read by the lengths of the rows, beside these. */
static int open_targets(struct nn_rows *r, const char *path, struct nn_error *err)
{
	struct nn_known known = { .schema = (struct nn_schema *)r->schema,
				  .coding = r->coding,
				  .dtype = r->dtype,
				  .target = r->target,
				  .table = { .separator = r->options.separator } };

	return r->whole ? nn_dataset_add_targets(r->whole, path, &known, err)
			: nn_dataset_open_targets(&r->scored, path, &known, err);
}

static int open_input(struct nn_rows *r, const char *data, struct nn_error *err)
{
	if (r->options.again)
		return nn_input_open_again(&r->input, r->options.again->input, err);
	if (r->options.stream)
		return nn_input_open_again(&r->input, r->options.stream, err);
	if (r->options.bytes) {
		if (nn_input_open_memory(&r->input, data, err) < 0)
			return -1;
		nn_input_give(r->input, r->options.bytes, r->options.n_bytes);
		return 0;
	}
	if (nn_input_open_data(&r->input, data, err) < 0)
		return -1;
	return r->options.n_again ? nn_input_tee(r->input, r->options.n_again, err) : 0;
}

static int open_rows(struct nn_rows *r, const char *data, const char *targets, struct nn_error *err)
{
	bool beside = r->options.want_target && targets,
	     in_data = r->options.want_target && !targets,
	     lengths = nn_schema_lengths(r->schema) < r->schema->n_inputs;
	const unsigned char *bytes;
	size_t got;

	if (targets && strcmp(data, "-") == 0 && strcmp(targets, "-") == 0)
		return nn_fail(err, NN_EUSAGE, "stdin cannot be both data and targets");
	if (r->options.want_target && r->schema->n_targets == 0)
		return nn_fail(err, NN_EFORMAT,
			       "the model does not know its targets (it has no nn.target)");
	if (r->schema->n_inputs == 0)
		return nn_fail(err, NN_EFORMAT,
			       "the model says nothing of its inputs (it has no nn.input)");
	if (open_input(r, data, err) < 0 || nn_input_peek(r->input, &bytes, 1, &got, err) < 0)
		return -1;
	if (got == 0 && !nn_input_is_folder(r->input)) {
		r->ended = true;
		return 0;
	}
	r->format = r->schema->inputs[0].characters.n ? &nn_format_characters
						      : nn_format_of(r->input, err);
	if (!r->format || (beside && !lengths && open_targets(r, targets, err) < 0))
		return -1;
	r->ops = r->format->lines && lengths && !r->options.want_target ? &nn_rows_steps
		 : r->format->rows && !lengths                          ? r->format->rows
									: &nn_rows_whole;
	if (r->ops->open(r, in_data, err) < 0 ||
	    (beside && lengths && open_targets(r, targets, err) < 0))
		return -1;
	if (r->keep && !r->format->table)
		return nn_fail(err, NN_EFORMAT, "--keep=%s: %s is no table, it has no columns",
			       r->keep, nn_input_name(r->input));
	return 0;
}

int nn_rows_open(struct nn_rows **rows, const char *data, const char *targets,
		 const struct nn_schema *schema, const struct nn_rows_options *options,
		 enum nn_dtype dtype, struct nn_error *err)
{
	struct nn_rows *r = nn_alloc(1, sizeof *r, err);

	if (!r)
		return -1;
	r->schema = schema;
	r->dtype = dtype;
	if (copy_options(r, options, err) < 0 || make_coding(r, err) < 0 ||
	    open_rows(r, data, targets, err) < 0) {
		nn_rows_close(r);
		return -1;
	}
	*rows = r;
	return 0;
}

void nn_rows_close(struct nn_rows *r)
{
	if (!r)
		return;
	nn_dataset_free(r->whole);
	nn_dataset_free(r->scored);
	nn_table_close(&r->table);
	nn_rows_pictures_free(r->pictures);
	nn_rows_steps_free(r->steps);
	nn_plan_free(&r->plan);
	nn_array_free(&r->array);
	nn_input_close(r->input);
	nn_coding_free(r->coding);
	nn_block_free(&r->bad.texts);
	nn_free(r->values);
	nn_free(r->numbers);
	nn_free(r->stream.piece);
	nn_free(r->stream.real);
	nn_free(r->target);
	nn_free(r->weight);
	nn_free(r->keep);
	nn_keep_fini(&r->kept);
	nn_free(r->channels_last);
	nn_free(r);
}

bool nn_rows_none(const struct nn_rows *r)
{
	return !r->format;
}

char nn_rows_separator(const struct nn_rows *r)
{
	if (!r->format || !(r->format->table || r->format->named))
		return '\0';
	return r->format->named || r->table.csv.separator == '\t' ? '\t' : ',';
}

bool nn_rows_lines(const struct nn_rows *r)
{
	return r->format && r->format->lines;
}

bool nn_rows_suit_arrays(const struct nn_rows *r)
{
	return r->format && r->format->arrays;
}

bool nn_rows_header(const struct nn_rows *r)
{
	return r->table.header || (r->format && (r->format->named || r->format->lines));
}

int64_t nn_rows_total(const struct nn_rows *r)
{
	return r->format ? r->ops->total(r) : 0;
}

bool nn_rows_is_pipe(const struct nn_rows *r)
{
	return nn_input_is_pipe(r->input);
}

bool nn_rows_would_block(struct nn_rows *r)
{
	int ready;

	if (r->ended || r->failed)
		return false;
	ready = r->ops->ready(r, &r->error);
	r->failed = ready < 0;
	return ready == 0;
}

static int check_scored(struct nn_rows *r, struct nn_error *err)
{
	if (!r->scored || r->scored_at >= nn_dataset_rows(r->scored))
		return 0;
	return nn_fail(err, NN_EFORMAT, "%s: found %zu row%s, but %s has only %zu",
		       r->scored->files.n ? r->scored->files.file[0].path : nn_input_name(r->input),
		       nn_dataset_rows(r->scored), nn_s(nn_dataset_rows(r->scored)),
		       nn_input_name(r->input), r->scored_at);
}

int nn_rows_next(struct nn_rows *r, size_t max, void *const *inputs, void *const *targets,
		 const char **bad, size_t *n, bool *array_end, struct nn_error *err)
{
	return nn_rows_next_beside(r, max, inputs, targets, NULL, bad, n, array_end, err);
}

int nn_rows_next_beside(struct nn_rows *r, size_t max, void *const *inputs, void *const *targets,
			struct nn_rows_beside *beside, const char **bad, size_t *n, bool *array_end,
			struct nn_error *err)
{
	struct nn_rows_out out = { max, 0, inputs, targets, beside, bad, false };
	int status = 0;

	*n = 0;
	r->bad.n_texts = 0;
	if (bad)
		memset(bad, 0, max * sizeof *bad);
	if (!r->failed && !r->ended) {
		status = r->ops->next(r, &out, &r->error);
		r->failed = status < 0;
	}
	if (!r->failed && r->ended && out.n == 0 && !out.array_end &&
	    check_scored(r, &r->error) < 0)
		r->failed = true;
	if (r->failed && out.n == 0) {
		if (err)
			*err = r->error;
		return -1;
	}
	nn_rows_place_bad(r, &out);
	*n = out.n;
	if (array_end)
		*array_end = out.array_end;
	return 0;
}

const char *nn_rows_kept(const struct nn_rows *r, size_t i)
{
	return i < r->kept.n ? r->kept.names[i] : NULL;
}

bool nn_rows_weighs(const struct nn_rows *r)
{
	return r->whole ? r->whole->weights != NULL
			: r->table.csv.input && r->plan.weight_slot != SIZE_MAX;
}

uint64_t nn_rows_bad(const struct nn_rows *r)
{
	return r->bad.n;
}

static const struct nn_unseen *unseen_of(const struct nn_rows *r)
{
	return r->scored ? &r->scored->unseen : r->whole ? &r->whole->unseen : &r->table.labels;
}

const char *nn_rows_unseen_label(const struct nn_rows *r)
{
	return unseen_of(r)->first;
}

static const char *labels_notice(struct nn_rows *r)
{
	const struct nn_dataset *targets = r->scored ? r->scored : r->whole;
	const struct nn_unseen *unseen = unseen_of(r);

	if (unseen->n == 0)
		return NULL;
	if (r->format == &nn_format_characters && !r->scored) {
		snprintf(r->notice, sizeof r->notice,
			 "%.100s: %" PRIu64
			 " character%s not in the training data; %s as all zeros: %s",
			 nn_input_name(r->input), unseen->n, unseen->n == 1 ? " was" : "s were",
			 unseen->n == 1 ? "it counts" : "they count", unseen->first);
		return r->notice;
	}
	snprintf(r->notice, sizeof r->notice,
		 "%.100s: %" PRIu64 " label%s not in the training data and count%s as wrong: %s",
		 targets && targets->files.n ? targets->files.file[0].path
					     : nn_input_name(r->input),
		 unseen->n, unseen->n == 1 ? " was" : "s were", unseen->n == 1 ? "s" : "",
		 unseen->first);
	return r->notice;
}

/* Columns of text with unseen values first, then labels. */
const char *nn_rows_notice(const struct nn_rows *rows, size_t i)
{
	struct nn_rows *r = (struct nn_rows *)rows; /* the text's room */
	char name[NN_QUOTED];

	for (size_t c = 0; r->table.columns && c < r->table.width; c++) {
		const struct nn_table_column *column = &r->table.columns[c];

		if (!column->unseen || i-- > 0)
			continue;
		snprintf(r->notice, sizeof r->notice,
			 "%.100s: %" PRIu64
			 " value%s of %s %s not in the training data; %s as all zeros",
			 nn_input_name(r->input), column->unseen, nn_s(column->unseen),
			 nn_table_column_name(&r->table, c, name),
			 column->unseen == 1 ? "was" : "were",
			 column->unseen == 1 ? "it counts" : "they count");
		return r->notice;
	}
	return i > 0 ? NULL : labels_notice(r);
}
