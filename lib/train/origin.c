/*
 * A record says which gradient was applied when, not what it was of: its first line has the rest,
 * so that no other training is taken for the recorded one.
 */
#include "base/sha256.h"
#include "model/model.h"
#include "train/origin.h"
#include "train/state/save.h"

/* Of the weights of -m FILE or --init; those of a text follow from the seed. */
static const char *hash_start(const struct nn_train *t, char hex[NN_SHA256_HEX])
{
	const struct nn_program *program = t->task.program;
	struct nn_sha256 sha;

	if (!t->source.start && !t->source.init)
		return NULL;
	nn_sha256_init(&sha);
	for (int p = 0; p < program->n_params; p++)
		nn_sha256_add(&sha, t->worker.params[p],
			      nn_shape_count(&program->params[p].desc.shape) *
				      nn_dtype_size(t->task.device->dtype));
	nn_sha256_hex(&sha, hex);
	return hex;
}

static int compare(void *arg, const char *path, const char *text, struct nn_error *err)
{
	const struct nn_train *t = arg;
	struct nn_state_facts now = nn_save_facts(&t->kept);
	char hex[NN_SHA256_HEX];

	now.start = hash_start(t, hex);
	return nn_facts_compare_record(
		path, text, &now,
		t->schedule.kind != NN_RATE_CONSTANT && t->schedule.kind != NN_RATE_PLATEAU, err);
}

int nn_origin_take(struct nn_train *t, struct nn_error *err)
{
	struct nn_state_facts facts = nn_save_facts(&t->kept);
	struct nn_origin *origin = &t->worker.origin;
	char hex[NN_SHA256_HEX];

	if (!t->options->ranks.record && !t->options->ranks.replay_run)
		return 0;
	*origin = (struct nn_origin){ .compare = compare, .arg = t };
	facts.start = hash_start(t, hex);
	nn_facts_add_json(&origin->text, &facts);
	return origin->text.failed ? nn_fail(err, NN_ENOMEM, "cannot allocate memory for a record")
				   : 0;
}
