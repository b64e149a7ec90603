/*
 * Values of options that are small languages of their own, and the options that a run which goes on
 * may change.
 */
#include <string.h>

#include "base/number.h"
#include "parallel/strategy.h"
#include "train/options.h"

bool nn_train_may_change(const char *name)
{
	static const char *const names[] = {
		"threads",     "micro-batch",     "memory",     "input-memory",
		"explain",     "recompute",       "offload",    "epochs",
		"steps",       "time-limit",      "log",        "log-every",
		"plot",        "tensorboard",     "checkpoint", "checkpoint-every",
		"spool",       "output",          "verbose",    "quiet",
		"resume",      "ranks",           "timeout",    "max-restarts",
		"check-every", "hosts",           "hostfile",   "pipeline",
		"tensor",      "shard-optimizer", "bucket",     "config",
		"help",        "version",         "dry-run",    "device",
		"model",       "threshold",       "limit",      "cache",
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

bool nn_checkpoint_is_file(const char *value)
{
	return strcmp(value, "no") != 0;
}

int nn_parse_every(const char *text, uint64_t *steps, double *seconds, struct nn_error *err)
{
	size_t n = text ? strlen(text) : 0;

	*steps = 0;
	*seconds = 0;
	if (!text)
		return 0;
	if (n > 1 && strchr("smh", text[n - 1])) {
		if (nn_parse_seconds(text, n, seconds) && *seconds > 0)
			return 0;
	} else if (nn_parse_u64(text, n, steps) && *steps > 0) {
		return 0;
	}
	return nn_fail(err, NN_EUSAGE, "expected a number of steps, or of seconds as in 30s");
}

int nn_parse_shuffle(const char *text, uint64_t *window, struct nn_error *err)
{
	*window = UINT64_MAX;
	if (strcmp(text, "yes") == 0)
		return 0;
	*window = 0;
	if (strcmp(text, "no") == 0)
		return 0;
	if (nn_parse_u64(text, strlen(text), window) && *window > 0)
		return 0;
	return nn_fail(err, NN_EUSAGE, "expected yes, no or a window of N samples");
}

int nn_parse_weights(const char *text, double *weights, struct nn_error *err)
{
	bool some = false;
	int n = 0;

	for (const char *at = text;; n++) {
		size_t length = strcspn(at, ",");
		double weight;

		if (n == 1000000 || !nn_parse_f64(at, length, &weight) || weight < 0)
			break;
		if (weights)
			weights[n] = weight;
		some = some || weight > 0;
		if (at[length] == '\0' && some)
			return n + 1;
		if (at[length] == '\0')
			break;
		at += length + 1;
	}
	return nn_fail(err, NN_EUSAGE,
		       "expected balanced, or weights W,W,... of at least 0, one for each class, "
		       "not all 0");
}

int nn_parse_fraction(const char *text, double *fraction, struct nn_error *err)
{
	*fraction = 0;
	if (*text == '\0')
		return nn_fail(err, NN_EUSAGE, "expected a file or a fraction between 0 and 1");
	if (!nn_parse_f64(text, strlen(text), fraction)) {
		*fraction = 0;
		return 0;
	}
	if (*fraction > 0 && *fraction < 1)
		return 0;
	return nn_fail(err, NN_EUSAGE, "expected a fraction between 0 and 1, or a file");
}

int nn_parse_race(const char *text, struct nn_error *err)
{
	int n = 0;

	for (const char *at = text;; at += strcspn(at, ",") + 1) {
		size_t length = strcspn(at, ",");
		char name[64];

		if (length >= sizeof name || n == NN_MOST_RACERS)
			return nn_fail(err, NN_EUSAGE,
				       "expected at most %d strategies, separated by commas",
				       NN_MOST_RACERS);
		memcpy(name, at, length);
		name[length] = '\0';
		if (!nn_strategy_parse(name, NULL, err))
			return -1;
		n++;
		if (at[length] == '\0')
			return n;
	}
}

const char *nn_next_tried(const char *at, char *value, size_t *n)
{
	bool quoted = false;

	for (*n = 0; *at && *at != '\n' && (quoted || *at != ',' || at[1] == ' '); at++) {
		if (*at == '"') {
			quoted = !quoted;
			continue;
		}
		if (value)
			value[*n] = *at;
		++*n;
	}
	return *at == ',' ? at + 1 : NULL;
}

int nn_parse_try(const char *text, struct nn_error *err)
{
	size_t name = strcspn(text, "="), n;
	const char *at = text + name + 1;

	if (name == 0 || text[name] != '=' || strchr(text, '\n'))
		return nn_fail(err, NN_EUSAGE, "expected OPTION=V1,V2,... as in lr=0.001,0.01");
	for (const char *next; at; at = next) {
		next = nn_next_tried(at, NULL, &n);
		if (n == 0)
			return nn_fail(err, NN_EUSAGE,
				       "expected OPTION=V1,V2,..., a value is empty");
	}
	return 0;
}
