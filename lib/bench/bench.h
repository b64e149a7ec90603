/*
 * nn-bench: its verbs, and what each is given. A verb is a file with its function and a line in
 * verbs.def.
 */
#ifndef NN_BENCH_BENCH_H
#define NN_BENCH_BENCH_H

#include <string.h>

#include "base/option.h"
#include "base/shape.h"
#include "data/data.h"
#include "bench/machine/machine.h"
#include "bench/measure.h"
#include "bench/report/report.h"

enum nn_bench_mode { NN_BENCH_TRAIN, NN_BENCH_PREDICT };

/* Of the verb load. */
struct nn_load_options {
	const char *model;    /* NULL: the server's only one */
	double rate;          /* requests a second, 0: not given */
	const char *arrivals; /* poisson, constant, FILE; NULL: poisson */
	uint64_t connections; /* 0: not given */
	int form;             /* enum nn_load_form */
	uint64_t rows;
	const char *slo; /* NULL: none */
	bool null;
	double timeout_s;
	const char *key_file; /* NULL: none */
};

struct nn_bench_options {
	enum nn_report_format to;
	enum nn_bench_mode mode; /* where nn_opt_given says "mode" */
	const char *batch;       /* N,A:B*F,... ; NULL: the verb's default */
	double time_s;
	bool store;
	const char *plot; /* NULL: none */
	const char *augment;   /* NULL: none */
	uint64_t input_memory; /* bytes that pictures may take; 0: not given */
	struct nn_load_options load;
};
extern const struct nn_opt nn_bench_opts[];

/* What the program around it offers: messages, and the signal that asks to end. */
struct nn_bench_host {
	void (*warn)(void *arg, const char *text);
	void (*note)(void *arg, const char *text);
	void (*doing)(void *arg, const char *text); /* what is measured now; "": nothing any more */
	void *arg;
	volatile sig_atomic_t *stop;
};

struct nn_bench_setup {
	const struct nn_opt_list *list;
	struct nn_bench_options *bench;
	struct nn_data_options *data; /* of the verb input */
	struct nn_std_options *std;
	struct nn_bench_host host;
	const struct nn_clock *clock; /* NULL: the real one */
	/*
	 * For tests: these devices, by their names, in place of those that can be opened; ends with
	 * NULL.
	 */
	const struct nn_device *const *devices;
};

/* What a verb is given. */
struct nn_bench {
	struct nn_bench_setup setup;
	struct nn_bench_options *options;
	struct nn_std_options *std;
	struct nn_machine machine;
	int threads;          /* of --threads, or all */
	struct nn_pool *pool; /* of as many; NULL: one */
	double waited; /* the largest share of a measurement, for the note on a busy machine */
	char doing[80]; /* what the next measurements are of, for who waits for a row */
};

/*
 * What can be told of a verb's operands, and of the options that go with them, before it runs:
 * NN_EUSAGE. A model is read with --dry-run alone.
 */
typedef int nn_bench_operands(const struct nn_bench_setup *setup, int n, char **operands,
			      struct nn_error *err);

struct nn_bench_verb {
	const char *name, *operands; /* "run", "MODEL" */
	int fewest, most;            /* operands */
	nn_file_each *each;          /* what an operand names besides a file; NULL: nothing */
	nn_bench_operands *check;    /* NULL: nothing can be told */
	/* those of nn_bench_opts and nn_data_opts it uses besides --to and --time: "batch mode" */
	const char *options;
	const char *help;
	int (*run)(struct nn_bench *bench, int n, char **operands, struct nn_error *err);
};
extern const struct nn_bench_verb nn_bench_verbs[]; /* ends with name NULL */

/*
 * What can be told from the command line: verb, operands, options (NN_EUSAGE). words[0] is the
 * verb.
 */
int nn_bench_check(const struct nn_bench_setup *setup, int n, char **words, struct nn_error *err);
/*
 * Run the verb words[0]. Rows printed so far stay when it fails or is stopped; stopping is no
 * failure.
 */
int nn_bench_run(const struct nn_bench_setup *setup, int n, char **words, struct nn_error *err);

/* ---- for verbs ---- */

struct nn_device;
struct nn_bench_model;

#define NN_VERB(name, operands, fewest, most, each, check, options, help) \
	int nn_verb_##name(struct nn_bench *bench, int n, char **words, struct nn_error *err);
#include "bench/verbs.def"
#undef NN_VERB
nn_bench_operands nn_model_operand_check, nn_load_check, nn_ops_check;

/* Was the run told to end? The verb then returns 0. */
bool nn_bench_stopped(const struct nn_bench *bench);
/* The report of the verb's rows, to the place and in the format that the options say. */
int nn_bench_report(const struct nn_bench *bench, const struct nn_report_column *columns,
		    struct nn_report **report, struct nn_error *err);
/* What a verb on a model works with. */
struct nn_bench_work {
	struct nn_report *report;
	struct nn_bench_model *subject;
	struct nn_output *plot; /* of --plot; NULL */
};
/*
 * Open these for the operand MODEL (NULL: no model), call run, and close them: the file of rows is
 * kept where all were measured, one that is wrong among them too, the plot where none was wrong.
 */
int nn_bench_on_model(struct nn_bench *bench, const char *operand,
		      const struct nn_report_column *columns, struct nn_bench_work *work,
		      int (*run)(void *arg, struct nn_error *err), void *arg, struct nn_error *err);
/* "train", "predict" */
extern const char *const nn_bench_modes[];
/*
 * nn_measure with the bench's clock, --time for each call, and its stop; what it finds of a busy
 * machine is kept for one note.
 */
int nn_bench_measure(struct nn_bench *bench, const struct nn_measure_call *calls, size_t n,
		     struct nn_measure *results, struct nn_error *err);
/* What is measured from now on, where no row says it soon. */
void nn_bench_doing(struct nn_bench *bench, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* "nn-bench: note: ..." that something took too long for any figure: what names it. */
void nn_bench_too_short(const struct nn_bench *bench, const char *what, const struct nn_measure *m);
void nn_bench_note(const struct nn_bench *bench, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#define NN_BENCH_DEVICES 8
/* cpu, and cpu with a library's products */
static inline bool nn_bench_is_cpu(const char *name)
{
	return strncmp(name, "cpu", 3) == 0;
}
#define NN_BENCH_OPERANDS 64 /* at most */
/* A device by its name: of the setup's list where there is one, else opened. NULL with *err. */
const struct nn_device *nn_bench_device(const struct nn_bench *bench, const char *name,
					enum nn_dtype dtype, struct nn_error *err);
/*
 * The same for a model in its type; predict: the one that nn-predict would take, which multiplies
 * int8 weights as whole numbers where it can (*int8).
 */
struct nn_bench_model;
const struct nn_device *nn_bench_device_for(const struct nn_bench *bench, const char *name,
					    const struct nn_bench_model *subject, bool predict,
					    bool *int8, struct nn_error *err);
/*
 * The names of the devices to measure: the one of --device, else (or for auto) all that are there;
 * their number, at least 1, or -1.
 */
int nn_bench_devices(const struct nn_bench *bench, const char *names[NN_BENCH_DEVICES],
		     struct nn_error *err);
/* The operand MODEL, in the type of --precision, with values by --seed. */
int nn_bench_subject(const struct nn_bench *bench, const char *operand,
		     struct nn_bench_model **subject, struct nn_error *err);

#define NN_BENCH_BATCHES 64
/*
 * The batches of a list like 1,32,1:1024*2 in its order, at most NN_BENCH_BATCHES; their number, or
 * -1 with NN_EUSAGE.
 */
int nn_bench_batches(const char *list, size_t batches[NN_BENCH_BATCHES], struct nn_error *err);
/* Those of --batch; without it one, the usual. */
int nn_bench_batches_or(const struct nn_bench *bench, size_t usual,
			size_t batches[NN_BENCH_BATCHES], struct nn_error *err);
/* The same for a verb that takes one batch alone. */
int nn_bench_batch_or(const struct nn_bench *bench, const char *verb, size_t usual, size_t *batch,
		      struct nn_error *err);

#endif
