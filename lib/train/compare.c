/*
 * Before ranks train together: are network, data, options and program the same on all?
 *
 * All options are compared but those that may differ by rank (threads, micro-batch, memory, files
 * that rank 0 alone writes), and code and constants of program and libnn by a hash of what is
 * mapped.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "file/json/json.h"
#include "model/model.h"
#include "train/prepare.h"
#include "train/state/checkpoint.h"

/* What a rank finds that differs from rank 0. */
struct verdict {
	int code; /* 0: nothing */
	char text[500];
};

/* ---- what differs ---- */

static bool is_own(const char *name)
{
	static const char *const names[] = {
		"threads",    "micro-batch",  "memory", "recompute", "offload", "log",     "plot", "tensorboard",
		"checkpoint", "spool",        "output", "verbose",   "quiet",   "config",  "limit",
		"timeout",    "max-restarts", "hosts",  "hostfile",  "explain", "model",
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static void compare_options(const char *mine, const char *first, struct verdict *v)
{
	struct nn_json *a = nn_json_parse(mine, strlen(mine), NULL),
		       *b = nn_json_parse(first, strlen(first), NULL);

	for (size_t i = 0; a && b && v->code == 0 && i < nn_json_size(a); i++) {
		const struct nn_json *value;
		const char *name = nn_json_key(a, i, &value), *is = nn_json_string(value, NULL);
		const char *other = nn_json_string(nn_json_get(b, name), NULL);
		char quoted[NN_QUOTED], quoted_other[NN_QUOTED];

		if (is_own(name) || !is || !other || strcmp(is, other) == 0)
			continue;
		v->code = NN_EUSAGE;
		snprintf(v->text, sizeof v->text, "has --%s=%s, rank 0 --%s=%s", name,
			 nn_quote(quoted, is, strlen(is)), name,
			 nn_quote(quoted_other, other, strlen(other)));
	}
	nn_json_free(a);
	nn_json_free(b);
}

static void compare_models(const char *mine, const char *first, struct verdict *v)
{
	char is[NN_QUOTED], other[NN_QUOTED];

	for (int line = 1; strcmp(mine, first) != 0; line++) {
		size_t a = strcspn(mine, "\n"), b = strcspn(first, "\n");

		if (a != b || memcmp(mine, first, a) != 0) {
			v->code = NN_EUSAGE;
			snprintf(v->text, sizeof v->text,
				 "has \"%s\" in line %d of the model, rank 0 \"%s\"",
				 nn_quote(is, mine, a), line, nn_quote(other, first, b));
			return;
		}
		mine += a + (mine[a] != '\0');
		first += b + (first[b] != '\0');
	}
}

/* Texts of rank 0 one after the other, as describe puts them. */
static void judge(const struct nn_train *t, const char *options, uint64_t program,
		  const char *first, struct verdict *v)
{
	const char *model = first + sizeof program, *data = model + strlen(model) + 1,
		   *valid = data + strlen(data) + 1;
	uint64_t other;

	memcpy(&other, first, sizeof other);
	compare_models(nn_net_text(t->task.net), model, v);
	if (v->code == 0)
		compare_options(options, valid + strlen(valid) + 1, v);
	if (v->code)
		return;
	v->code = NN_EFAIL;
	if (other != program)
		snprintf(v->text, sizeof v->text, "is another build of nntools than rank 0");
	else if (strcmp(data, nn_dataset_hash(t->task.dataset)) != 0)
		snprintf(v->text, sizeof v->text, "has other data than rank 0 in %.300s",
			 t->setup.data_path);
	else if (strcmp(valid, t->task.held_out ? nn_dataset_hash(t->task.held_out) : "") != 0)
		snprintf(v->text, sizeof v->text, "has other held-out data than rank 0 in %.300s",
			 t->options->valid);
	else
		v->code = 0;
}

/* ---- together ---- */

static void describe(const struct nn_train *t, uint64_t program, const char *options,
		     struct nn_text *text)
{
	const char *parts[] = { nn_net_text(t->task.net), nn_dataset_hash(t->task.dataset),
				t->task.held_out ? nn_dataset_hash(t->task.held_out) : "",
				options };

	nn_text_add_bytes(text, (const char *)&program, sizeof program);
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		nn_text_add_bytes(text, parts[i], strlen(parts[i]) + 1);
}

/*
 * All get rank 0's description; every rank then knows what each found, and fails with the first of
 * it.
 */
static int compare(struct nn_train *t, const char *options, const struct nn_text *mine,
		   uint64_t program, struct nn_error *err)
{
	struct nn_comm *comm = t->layout.comm;
	uint64_t length = mine->length;
	struct verdict v = { 0 }, *all = nn_alloc((size_t)comm->size, sizeof *all, err);
	char *first = NULL;
	int status = -1;

	if (!all || nn_comm_broadcast(comm, 0, &length, sizeof length, err) < 0 ||
	    !(first = nn_alloc(length, 1, err)))
		goto out;
	if (comm->rank == 0)
		memcpy(first, mine->data, length);
	if (nn_comm_broadcast(comm, 0, first, length, err) < 0)
		goto out;
	judge(t, options, program, first, &v);
	if (nn_comm_all_gather(comm, &v, all, sizeof v, err) < 0)
		goto out;
	status = 0;
	for (int i = 0; i < comm->size && status == 0; i++)
		if (all[i].code)
			status = nn_fail(err, (enum nn_code)all[i].code, "rank %d %s", i,
					 all[i].text);
out:
	nn_free(all);
	nn_free(first);
	return status;
}

int nn_train_compare(struct nn_train *t, struct nn_error *err)
{
	struct nn_text mine = { 0 };
	uint64_t program;
	char *options;
	int status;

	if (nn_layout_ranks(&t->layout) == 1)
		return 0;
	if (!(options = nn_opt_json(t->setup.list, err)))
		return -1;
	program = nn_comm_program();
	describe(t, program, options, &mine);
	status = mine.failed ? nn_fail(err, NN_ENOMEM, "cannot allocate what ranks compare")
			     : compare(t, options, &mine, program, err);
	nn_text_free(&mine);
	nn_free(options);
	return status;
}
