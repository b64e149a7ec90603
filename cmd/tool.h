/* What all mains share: start, messages, signals, end. */
#ifndef NN_CMD_TOOL_H
#define NN_CMD_TOOL_H

#include <pthread.h>
#include <signal.h>
#include "base/log.h"
#include "base/option.h"

/*
 * The lists of all tools, without places for values: main and the generators of pages and
 * completions use them.
 */
extern const struct nn_opt_list nn_allreduce_list, nn_bench_list, nn_predict_list, nn_serve_list,
	nn_train_list;

/*
 * The tables of a list with the structs their values go to, in the same order; given may be NULL.
 */
struct nn_tool_values {
	void *values;
	uint64_t *given;
};

/*
 * Open closed descriptors 0-2 on /dev/null, ignore SIGPIPE, parse. The number of operands, which
 * are argv[1..n]; does not return where the command line is wrong (status 2) or asks for help or
 * version (0). An operand that names an installed example (base/installed.h) becomes its path, as
 * values of options do.
 */
int nn_tool_start(struct nn_opt_list *list, const struct nn_opt_list *from,
		  const struct nn_tool_values *values, struct nn_opt_table tables[NN_OPT_TABLES],
		  int argc, char **argv);

/*
 * --device (NN_DEVICE) and NN_CPU, once everything else about the command line is right: NN_ENODEV
 * where what they name is not here.
 */
enum nn_tool_devices {
	NN_TOOL_ONE,
	NN_TOOL_ABSENT, /* one, and something can be done without it */
	NN_TOOL_SEVERAL,
};
int nn_tool_check_devices(const char *device, enum nn_tool_devices devices, struct nn_error *err);

struct nn_attach;
/*
 * In a rank: messages and the exit status go to the process that started it (comm/launch.h). NULL:
 * none.
 */
void nn_tool_attach(struct nn_attach *attach);

/* "nn-train: TEXT" for a wrong command line; returns 2. */
int nn_tool_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* "nn-train: warning: TEXT", "nn-train: note: TEXT"; both silent with --quiet. arg is not used. */
void nn_tool_warn(void *arg, const char *text);
void nn_tool_note(void *arg, const char *text);
/*
 * On a terminal "TEXT ..." in a line that the next text, or what is printed after "", takes; silent
 * with --quiet.
 */
void nn_tool_doing(void *arg, const char *text);
void nn_tool_quiet(bool quiet);

/*
 * The exit status of main: 0, or the error printed as one line; 141 without a word when the reader
 * of stdout left.
 */
int nn_tool_end(int status, const struct nn_error *err);

/*
 * SIGINT and SIGTERM set nn_tool_stop to the signal's number; a second one removes temporaries and
 * ends at once. Without this call they end the tool at once in the same way.
 */
void nn_tool_catch_stop(void);
extern volatile sig_atomic_t nn_tool_stop;
/*
 * The same where ranks have to be ended first: every signal is counted, and only a third one ends
 * the tool at once.
 */
void nn_tool_count_stops(void);
extern volatile sig_atomic_t nn_tool_stops;

/*
 * --log of a tool that has one answer to give. open writes "start", where --log was given; warn is
 * for a host whose arg the log is; end writes "end", closes, and gives the status on.
 */
struct nn_tool_log {
	struct nn_log *log; /* NULL: none */
	double begin_s;
	pthread_mutex_t lock; /* one event at a time: any thread warns */
};
int nn_tool_log_open(struct nn_tool_log *log, const struct nn_opt_list *list,
		     const struct nn_std_options *std, struct nn_error *err);
void nn_tool_log_warn(void *log, const char *text);
int nn_tool_log_end(struct nn_tool_log *log, int status, struct nn_error *err);

#endif
