/* The log: lines built in one text, each written with one call. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/json-text.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/output.h"

struct nn_log {
	int fd; /* -1: nothing is written */
	const char *name;
	bool standard; /* it is stdout */
	struct nn_text line;
	uint64_t fold; /* 0: none */
	int failed;    /* errno of the first write that failed */
};

int nn_log_open(struct nn_log **log, const char *path, bool append, struct nn_error *err)
{
	struct nn_log *l = nn_alloc(1, sizeof *l, err);

	if (!l)
		return -1;
	l->fd = -1;
	l->standard = path && nn_is_stdout(path);
	if (path && strcmp(path, "-") == 0) {
		l->name = "stdout";
		l->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	} else if (path) {
		l->name = path;
		l->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (append ? O_APPEND : O_TRUNC),
			     0666);
	}
	if (path && l->fd < 0) {
		nn_fail_errno(err, NN_EFAIL, "%s: cannot write", path);
		nn_free(l);
		return -1;
	}
	*log = l;
	return 0;
}

void nn_log_close(struct nn_log *l)
{
	if (!l)
		return;
	if (l->fd >= 0)
		close(l->fd);
	nn_text_free(&l->line);
	nn_free(l);
}

int nn_log_check(const struct nn_log *l, struct nn_error *err)
{
	return l->failed ? nn_fail(err, NN_EFAIL, "%s: cannot write: %s", l->name,
				   strerror(l->failed))
			 : 0;
}

bool nn_log_wanted(const struct nn_log *l)
{
	return l->fd >= 0;
}

void nn_log_fold(struct nn_log *l, uint64_t fold)
{
	l->fold = fold;
}

void nn_log_begin(struct nn_log *l, const char *event)
{
	nn_text_clear(&l->line);
	nn_json_put(&l->line, "{");
	nn_log_string(l, "event", event);
	if (l->fold)
		nn_log_count(l, "fold", l->fold);
}

void nn_log_string(struct nn_log *l, const char *key, const char *value)
{
	nn_json_add_string(&l->line, key, value);
}

void nn_log_count(struct nn_log *l, const char *key, uint64_t value)
{
	nn_json_add_count(&l->line, key, value);
}

void nn_log_real(struct nn_log *l, const char *key, double value)
{
	nn_json_add_real(&l->line, key, value);
}

void nn_log_single(struct nn_log *l, const char *key, double value)
{
	char digits[NN_NUMBER];

	nn_format_f32(digits, (float)value);
	nn_log_json(l, key, isfinite((float)value) ? digits : "null");
}

void nn_log_bool(struct nn_log *l, const char *key, bool value)
{
	nn_log_json(l, key, value ? "true" : "false");
}

void nn_log_json(struct nn_log *l, const char *key, const char *json)
{
	nn_json_add(&l->line, key, json);
}

void nn_log_open_object(struct nn_log *l, const char *key)
{
	nn_json_add(&l->line, key, "{");
}

void nn_log_close_object(struct nn_log *l)
{
	nn_text_add(&l->line, "}");
}

void nn_log_end(struct nn_log *l)
{
	nn_text_add(&l->line, "}\n");
	if (l->line.failed && !l->failed)
		l->failed = ENOMEM;
	if (l->fd >= 0 && !l->failed && !nn_write_all(l->fd, l->line.data, l->line.length)) {
		l->failed = errno;
		if (l->standard && l->failed == EPIPE)
			nn_output_set_broken_pipe();
	}
}
