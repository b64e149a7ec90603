/*
 * Options: one table per tool (a list of tables owned by rooms) yields parsing, help, man page and
 * completions.
 */
#ifndef NN_BASE_OPTION_H
#define NN_BASE_OPTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/error.h"
#include "base/shape.h"

enum nn_opt_type {
	NN_OPT_FLAG,    /* bool: no argument; --config: yes|no */
	NN_OPT_YESNO,   /* bool: =yes|no */
	NN_OPT_STRING,  /* const char * */
	NN_OPT_COUNT,   /* uint64_t within [min, max] */
	NN_OPT_SIZE,    /* uint64_t bytes, K M G T */
	NN_OPT_SECONDS, /* double seconds, s m h */
	NN_OPT_REAL,    /* double within [min, max], finite */
	NN_OPT_CHOICE,  /* int: index into choices */
	NN_OPT_CUSTOM,  /* const char *, kept as text; checked by `check` (value, err) at once */
	NN_OPT_HELP,
	NN_OPT_VERSION,
	NN_OPT_CONFIG, /* const char * */
	NN_OPT_VERBOSE,
	NN_OPT_QUIET,
};

/* The file that a value names, if it names one. */
enum nn_opt_file { NN_OPT_NO_FILE, NN_OPT_READS, NN_OPT_WRITES };

/*
 * The files that a value stands for besides the one that bears its name, as those of a list or a
 * folder: visit(arg, path) for each until it returns another value than 0, which is returned. What
 * cannot be listed has none; whoever reads it says why.
 */
typedef int nn_file_each(const char *value, int (*visit)(void *arg, const char *path), void *arg);

struct nn_opt {
	const char *name; /* long name without dashes; NULL ends a table */
	char letter;      /* 0: none */
	enum nn_opt_type type;
	size_t offset;              /* of the value in the struct of its table */
	const char *arg;            /* "FILE", "N", "W,...", "csv|tsv"; NULL: takes none */
	const char *fallback;       /* the default as the user would type it, or NULL */
	const char *help;           /* one sentence; man adds `man` */
	const char *daily;          /* what --help says of an everyday option; NULL of others */
	const char *topic;          /* its heading; NULL: that of the table */
	const char *also;           /* what other tools call it, for hints: "learning-rate,eta" */
	const char *man;            /* further text for the man page, or NULL */
	double min, max;            /* bounds of numbers; max 0: none */
	const char *const *choices; /* NULL-terminated; of NN_OPT_CUSTOM: words to offer */
	/* NN_OPT_CUSTOM: 0, or -1 with a whole message (the option with its value in front). */
	int (*check)(const char *value, struct nn_error *err);
	bool repeated; /* of NN_OPT_CUSTOM: may be given several times, a line of the value each */
	bool optional_arg; /* --explain (NULL, and given) or --explain=json */
	bool filled;       /* of a string: never empty */
	enum nn_opt_file file;
	bool (*names_file)(const char *value); /* of such an option; NULL: every value does */
	nn_file_each *each_file; /* what such a value names besides a file; NULL: nothing */
};

/*
 * A table and the struct its offsets refer to; the struct's defaults are set from `fallback` first.
 */
struct nn_opt_table {
	const char *heading; /* the topic of rows that name none: one word, as in "Training" */
	const struct nn_opt *rows;
	void *values;    /* NULL where only help is wanted */
	uint64_t *given; /* optional bit set: row i was given (by line, config or environment) */
};

/* What the first operand may be, where it is a word of the tool's own. */
struct nn_opt_word {
	const char *name; /* NULL ends a list */
	const char *operands, *help;
};

struct nn_opt_list {
	const char *tool;                  /* "nn-train" */
	const char *usage;                 /* lines after "Usage: " */
	const char *brief;                 /* one sentence */
	const char *example;               /* a command line for --help, or NULL */
	const struct nn_opt_word *words;   /* or NULL */
	const struct nn_opt_table *tables; /* ends with rows == NULL */
	void (*more_version)(void);        /* prints what --version -v adds; NULL: nothing */
};

/*
 * Parse: GNU long options, unambiguous abbreviations, clustered short ones, `--`, options after
 * operands, last wins; then --config (the command line wins) and environment (NN_DEVICE, NN_THREADS
 * where rows of those names exist). Operands are moved to the front of argv, *n_operands counts
 * them. Errors are NN_EUSAGE with "--name=value: ..." texts, naming bounds, known values and "did
 * you mean". --help and --version print to stdout and set *done; --help=TOPIC prints the options of
 * a heading in lower case, --help=all those of all.
 */
int nn_opt_parse(const struct nn_opt_list *list, int argc, char **argv, int *n_operands, bool *done,
		 struct nn_error *err);
bool nn_opt_given(const struct nn_opt_list *list, const char *name);
/*
 * The value of an option as the user would type it, for logs and state files; false: no such
 * option.
 */
bool nn_opt_text(const struct nn_opt_list *list, const char *name, char *buffer, size_t size);

/*
 * All effective options as a JSON object of texts, sorted by name; freed by the caller. NULL: no
 * memory.
 */
char *nn_opt_json(const struct nn_opt_list *list, struct nn_error *err);

/*
 * The command line that gives the same values without --config and environment: tool, options that
 * were given, more[n_more], "--", operands[n]; ends with NULL. nn_opt_arguments_free frees it.
 */
char **nn_opt_arguments(const struct nn_opt_list *list, const char *const *more, size_t n_more,
			const char *const *operands, size_t n, struct nn_error *err);
void nn_opt_arguments_free(char **words);

#define NN_OPT_TABLES 8 /* tables of a list at most; rows of a table at most 64 */

/*
 * The same tables as text: --help, the OPTIONS section of the man page, completions for "bash",
 * "zsh", "fish". Help is the everyday options where topic is NULL.
 */
struct nn_text;
int nn_opt_help(const struct nn_opt_list *list, const char *topic, struct nn_text *text,
		struct nn_error *err);
void nn_opt_man(const struct nn_opt_list *list, struct nn_text *text);
void nn_opt_completion(const struct nn_opt_list *list, const char *shell, struct nn_text *text);

/* Inside: heading i, in the order in which they first appear; row i of a heading; NULL after the
 * last. */
const char *nn_opt_topic(const struct nn_opt_list *list, size_t i);
const struct nn_opt *nn_opt_of_topic(const struct nn_opt_list *list, const char *topic, size_t i);
/* All headings in lower case, and `last` after them. */
void nn_opt_add_topics(const struct nn_opt_list *list, const char *separator, const char *last,
		       struct nn_text *text);
/* "--batch=N", "--score[=TARGETS]", "--quiet" */
void nn_opt_add_name(const struct nn_opt *row, struct nn_text *text);

/*
 * Inside: the row of a name given in full or abbreviated; a value into its place. origin stands
 * before messages ("--lr=x").
 */
const struct nn_opt *nn_opt_find(const struct nn_opt_list *list, const char *name, size_t n,
				 size_t *table, struct nn_error *err);
int nn_opt_set(const struct nn_opt_table *table, const struct nn_opt *row, const char *value,
	       const char *origin, struct nn_error *err);
/* Lines `foo-bar = value` of a file; rows whose bit in given[table] is set keep what they have. */
int nn_opt_config(const struct nn_opt_list *list, const char *path, uint64_t given[NN_OPT_TABLES],
		  struct nn_error *err);

/* What --precision says: a type of values, or of f32 with products by tensor cores. */
enum nn_precision {
	NN_PRECISION_F32 = NN_F32,
	NN_PRECISION_F64 = NN_F64,
	NN_PRECISION_I8 = NN_I8, /* the last of the types */
	NN_PRECISION_TF32,
};

/* Rows every tool takes. */
struct nn_std_options {
	const char *device; /* cpu or auto, which is cpu */
	uint64_t threads;   /* 0: not given */
	uint64_t seed;
	enum nn_precision precision; /* nn_std_dtype */
	bool reproducible;
	const char *log;
	const char *output;
	const char *config;
	const char *limit; /* lines of NAME=N, which are set */
	int verbose;
	bool quiet;
	bool dry_run;
};
extern const struct nn_opt nn_std_opts[];
#define nn_std_opts_no_output (nn_std_opts + 1) /* of a tool whose answers go elsewhere */
/* The type of values in files. */
enum nn_dtype nn_std_dtype(const struct nn_std_options *std);
/* NN_EUSAGE where --precision is a type that files alone have: of tools that write no model. */
int nn_std_check_computed(const struct nn_std_options *std, struct nn_error *err);

#endif
