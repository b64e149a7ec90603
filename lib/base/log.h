/* --log: one JSON object per line, written in place as it happens. */
#ifndef NN_BASE_LOG_H
#define NN_BASE_LOG_H

#include <stdbool.h>
#include <stdint.h>
#include "base/error.h"

struct nn_log;

/*
 * path NULL: a log that takes everything and writes nothing. "-" is stdout. append: --resume goes
 * on with the file.
 */
int nn_log_open(struct nn_log **log, const char *path, bool append, struct nn_error *err);
void nn_log_close(struct nn_log *log); /* NULL allowed */
/* -1 when a line could not be written. */
int nn_log_check(const struct nn_log *log, struct nn_error *err);
bool nn_log_wanted(const struct nn_log *log);

/* Events from here on say this number as `fold`, after `event`. */
void nn_log_fold(struct nn_log *log, uint64_t fold);
/*
 * An event is begun, filled and ended; keys in the order of outputs.md. What is not known is null.
 */
void nn_log_begin(struct nn_log *log, const char *event);
void nn_log_string(struct nn_log *log, const char *key, const char *value); /* NULL: null */
void nn_log_count(struct nn_log *log, const char *key, uint64_t value);
void nn_log_real(struct nn_log *log, const char *key, double value); /* not finite: null */
void nn_log_single(struct nn_log *log, const char *key,
		   double value); /* an f32: its own shortest digits */
void nn_log_bool(struct nn_log *log, const char *key, bool value);
void nn_log_json(struct nn_log *log, const char *key, const char *json); /* as it is */
void nn_log_open_object(struct nn_log *log, const char *key);
void nn_log_close_object(struct nn_log *log);
void nn_log_end(struct nn_log *log);

#endif
