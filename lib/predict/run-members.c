/* The models of a run, one or an ensemble's, each with its own rows of the same data. */
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "file/safetensors.h"
#include "file/sniff.h"
#include "model/model.h"
#include "predict/run.h"

/* ---- models ---- */

static bool says_model(struct nn_input *input)
{
	struct nn_st_part part = { .most = 1 };
	enum nn_format_id format;
	struct nn_st *st = NULL;
	bool is;

	nn_input_plain(input);
	if (nn_input_sniff(input, &format, NULL) < 0)
		return false;
	if (format != NN_FORMAT_safetensors)
		return format == NN_FORMAT_onnx;
	if (nn_st_read_part(&st, input, &part, NULL) < 0)
		return false;
	is = nn_st_meta(st, "nn.model") || nn_st_meta(st, NN_META_STATE);
	nn_st_free(st);
	return is;
}

bool nn_predict_is_model(const char *path)
{
	struct nn_input *input;
	struct stat st;
	bool is;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || nn_input_open(&input, path, NULL) < 0)
		return false;
	is = says_model(input);
	nn_input_close(input);
	return is;
}

static int load(struct nn_run *r, size_t k, int precision, struct nn_error *err)
{
	const struct nn_predict_options *o = &r->p->options;
	struct nn_run_member *m = &r->members[k];
	struct nn_shape sample;
	struct nn_weights_as as = { .text = o->model_text, .layout = o->layout };
	struct nn_model_source source = { .path = m->path,
					  .as = o->model_text ? &as : NULL,
					  .precision = precision,
					  .products = r->p->products,
					  .device_name = r->p->device,
					  .batch = r->p->device_batch,
					  .passing = true,
					  .threads = r->threads ? r->threads : -1 };

	if (o->model_text && r->p->data && nn_data_sample(r->p->data, &sample))
		as.sample = &sample;
	nn_model_close(m->model);
	m->model = NULL;
	return nn_model_load(&m->model, &source, err);
}

/* Where one computes in f64 all do, so that their order does not decide the type of the answer. */
static int load_alike(struct nn_run *r, struct nn_error *err)
{
	bool wide = false;

	for (size_t k = 0; k < r->n_members; k++)
		wide |= r->members[k].model->device->dtype == NN_F64;
	for (size_t k = 0; wide && k < r->n_members; k++)
		if (r->members[k].model->device->dtype != NN_F64 && load(r, k, 1 + NN_F64, err) < 0)
			return -1;
	return 0;
}

int nn_run_load_members(struct nn_run *r, struct nn_error *err)
{
	r->n_members = 1 + r->p->n_others;
	r->members = nn_alloc(r->n_members, sizeof *r->members, err);
	if (!r->members)
		return -1;
	for (size_t k = 0; k < r->n_members; k++) {
		r->members[k].path = k ? r->p->others[k - 1] : r->p->model;
		if (load(r, k, r->p->precision, err) < 0)
			return -1;
	}
	if (load_alike(r, err) < 0)
		return -1;
	r->model = r->members[0].model;
	for (size_t k = 1; k < r->n_members; k++)
		r->members[k].first_input = r->members[k - 1].first_input +
					    (size_t)r->members[k - 1].model->program->n_inputs;
	if (*r->model->note && r->p->note)
		r->p->note(r->p->arg, r->model->note);
	return 0;
}

static void note_thresholds(const struct nn_run *r)
{
	const struct nn_predict_options *o = &r->p->options;
	bool decides = o->score || (o->emit && strcmp(o->emit, "class") == 0), any = false;

	for (size_t k = 0; k < r->n_members; k++)
		any |= r->members[k].model->threshold > 0;
	if (any && decides && !o->thresholded && r->p->note)
		r->p->note(r->p->arg,
			   "thresholds of models are none of their mean: the likelier class is the "
			   "answer, unless --threshold=T says otherwise");
}

int nn_run_open_ensemble(struct nn_run *r, struct nn_error *err)
{
	struct nn_ensemble_member *members;
	int status;

	if (r->n_members == 1)
		return 0;
	if (r->p->options.against)
		return nn_run_check_against(r, err);
	members = nn_alloc(r->n_members, sizeof *members, err);
	if (!members)
		return -1;
	for (size_t k = 0; k < r->n_members; k++)
		members[k] = (struct nn_ensemble_member){ r->members[k].path, r->members[k].model };
	status = nn_ensemble_new(&r->ensemble, members, r->n_members, r->batch, err);
	nn_free(members);
	note_thresholds(r);
	return status;
}

void nn_run_close_members(struct nn_run *r)
{
	nn_ensemble_free(r->ensemble);
	/* the first member's rows are what the others' read from */
	for (size_t k = r->members ? r->n_members : 0; k-- > 0;) {
		nn_session_close(r->members[k].session);
		nn_rows_close(r->members[k].rows);
		nn_model_close(r->members[k].model);
	}
	nn_free(r->members);
}

/* ---- rows ---- */

static enum nn_on_error choose_on_error(const struct nn_run *r)
{
	enum nn_on_error asked = r->p->options.on_error;

	/* a member that left rows out would no longer be at the others' rows */
	if (r->n_members > 1 && asked == NN_ON_ERROR_SKIP)
		return NN_ON_ERROR_MARK;
	/* a place without a row is nothing to be scored */
	return r->n_members == 1 && r->p->options.score && asked == NN_ON_ERROR_MARK
		       ? NN_ON_ERROR_SKIP
		       : asked;
}

static int open_rows(struct nn_run *r, size_t k, struct nn_error *err)
{
	const struct nn_predict_options *o = &r->p->options;
	struct nn_run_member *m = &r->members[k];
	struct nn_rows_options rows = {
		.header = o->header,
		.separator = nn_separator_of(o->separator),
		.zero_based = o->zero_based,
		.on_error = choose_on_error(r),
		.target = o->target,
		.want_target = o->score && (k == 0 || !o->score_targets),
		.weight = o->score ? m->model->weight : NULL,
		.keep = k == 0 ? o->keep : NULL,
		.n_again = k == 0 ? r->n_members - 1 : 0,
		.again = k ? r->rows : NULL,
	};

	return nn_rows_open(&m->rows, r->p->data ? r->p->data : "-",
			    k == 0 ? o->score_targets : NULL, m->model->schema, &rows,
			    m->model->device->dtype, err);
}

/* Members have to agree which line is the first row. */
static int check_header(const struct nn_run *r, size_t k, struct nn_error *err)
{
	bool first = nn_rows_header(r->rows), other = nn_rows_header(r->members[k].rows);

	return first == other
		       ? 0
		       : nn_fail(err, NN_EFORMAT,
				 "%s: takes the first line of the data for a %s, but %s for a %s; "
				 "--header=yes|no decides",
				 r->members[k].path, other ? "header" : "row", r->members[0].path,
				 first ? "header" : "row");
}

int nn_run_open_rows(struct nn_run *r, struct nn_error *err)
{
	for (size_t k = 0; k < r->n_members; k++) {
		if (open_rows(r, k, err) < 0)
			return -1;
		r->rows = r->members[0].rows;
		if (check_header(r, k, err) < 0)
			return -1;
	}
	return 0;
}

uint64_t nn_run_bad(const struct nn_run *r)
{
	return r->n_members > 1 ? r->n_bad : nn_rows_bad(r->rows);
}
