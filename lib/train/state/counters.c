/* Counters as JSON: one table for writing and reading. */
#include <math.h>
#include <stddef.h>

#include "base/json-text.h"
#include "train/state/counters.h"

enum type { U64, F64, SCALED }; /* U64 that states of older builds lack: 0 */

#define FIELD(name, type) \
	{ \
#name, type, offsetof(struct nn_counters, name) \
	}
/* sorted by name: the order of canonical JSON */
static const struct field {
	const char *name;
	enum type type;
	size_t offset;
} fields[] = {
	FIELD(best, F64),          FIELD(best_epoch, U64), FIELD(best_step, U64),
	FIELD(counted, F64),       FIELD(done, U64),       FIELD(drops, U64),
	FIELD(hits, F64),          FIELD(loss, F64),
	FIELD(loss_scale.factor, F64),
	FIELD(loss_scale.skipped, SCALED),
	FIELD(loss_scale.steps, SCALED),
	FIELD(plateau, F64),
	FIELD(plateau_stale, U64), FIELD(rows, U64),       FIELD(squares, F64),
	FIELD(stale, U64),         FIELD(step, U64),       FIELD(trend.early, F64),
	FIELD(trend.first, F64),   FIELD(trend.late, F64), FIELD(weight, F64),
};
#define N_FIELDS (sizeof fields / sizeof *fields)

void nn_counters_json(const struct nn_counters *counters, struct nn_text *text)
{
	nn_json_put(text, "{");
	for (size_t i = 0; i < N_FIELDS; i++) {
		const void *at = (const char *)counters + fields[i].offset;

		if (fields[i].type != F64)
			nn_json_add_count(text, fields[i].name, *(const uint64_t *)at);
		else
			nn_json_add_real(text, fields[i].name, *(const double *)at);
	}
	nn_text_add(text, "}");
}

int nn_counters_parse(struct nn_counters *counters, const struct nn_json *json,
		      struct nn_error *err)
{
	for (size_t i = 0; i < N_FIELDS; i++) {
		const struct nn_json *value = nn_json_get(json, fields[i].name);
		void *at = (char *)counters + fields[i].offset;
		double number = nn_json_number(value);

		if (fields[i].type == F64) {
			*(double *)at = nn_json_type(value) == NN_JSON_NUMBER ? number : NAN;
			continue;
		}
		if (fields[i].type == SCALED && !value) {
			*(uint64_t *)at = 0;
			continue;
		}
		if (nn_json_type(value) != NN_JSON_NUMBER || !(number >= 0 && number < 0x1p53))
			return nn_fail(err, NN_EFORMAT, "nn.state: %s: expected a whole number",
				       fields[i].name);
		*(uint64_t *)at = (uint64_t)number;
	}
	return 0;
}
