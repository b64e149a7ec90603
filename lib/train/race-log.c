/* What the log of a training of --race says: a row of the table for each line with a loss. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/number.h"
#include "file/json/json.h"
#include "train/race-inside.h"

static int add_point(struct nn_racer *r, double seconds, double loss, double bytes,
		     struct nn_error *err)
{
	if (r->n == r->room) {
		size_t had = r->room * sizeof(double), more = had ? 2 * had : 64 * sizeof(double);
		double **columns[] = { &r->seconds, &r->loss, &r->bytes };

		for (size_t i = 0; i < 3; i++) {
			double *grown = nn_realloc(*columns[i], had, more, err);

			if (!grown)
				return -1;
			*columns[i] = grown;
		}
		r->room = more / sizeof(double);
	}
	r->seconds[r->n] = seconds;
	r->loss[r->n] = loss;
	r->bytes[r->n++] = bytes;
	return 0;
}

/*
 * A row where the line has a loss to compare: that of held-out data where there are any, else the
 * mean of the steps since the last line.
 */
static int take_line(struct nn_racer *r, const struct nn_race_log *log, const struct nn_json *event,
		     struct nn_error *err)
{
	const struct nn_json *valid = nn_json_get(event, "valid_loss"),
			     *mean = nn_json_get(event, "mean_loss");
	const struct nn_json *at = nn_json_get(event, "elapsed_s"),
			     *bytes = nn_json_get(event, "bytes"),
			     *step = nn_json_get(event, "step");
	const struct nn_json *loss = log->valid ? valid : mean;
	char digits[3][NN_NUMBER];

	if (nn_json_type(loss) != NN_JSON_NUMBER || nn_json_type(at) != NN_JSON_NUMBER ||
	    nn_json_type(bytes) != NN_JSON_NUMBER)
		return 0;
	if (add_point(r, nn_json_number(at), nn_json_number(loss), nn_json_number(bytes), err) < 0)
		return -1;
	nn_format_f64(digits[0], nn_json_number(at));
	nn_format_f64(digits[1], nn_json_number(loss));
	nn_format_f64(digits[2], nn_json_number(bytes));
	return nn_output_printf(log->table, err, "%s,%s,%.0f,%s,%s\n", r->name, digits[0],
				nn_json_number(step), digits[1], digits[2]);
}

int nn_race_read(struct nn_racer *r, const struct nn_race_log *log, struct nn_error *err)
{
	FILE *file = fopen(log->path, "r");
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int status = 0;

	if (!file)
		return nn_fail_errno(err, NN_EFAIL, "%s", log->path);
	while (status == 0 && (n = getline(&line, &room, file)) >= 0) {
		struct nn_json *event = nn_json_parse(line, (size_t)n, err);

		status = event ? take_line(r, log, event, err) : -1;
		nn_json_free(event);
	}
	free(line);
	fclose(file);
	return status == 0 ? nn_output_flush(log->table, err) : -1;
}
