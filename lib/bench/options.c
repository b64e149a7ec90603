/* The options of nn-bench, and its verbs. */
#include <stddef.h>

#include "bench/bench.h"

#define AT(member) offsetof(struct nn_bench_options, member)

const char *const nn_bench_modes[] = {
	[NN_BENCH_TRAIN] = "train", [NN_BENCH_PREDICT] = "predict", NULL
};

static int check_batch(const char *value, struct nn_error *err)
{
	size_t batches[NN_BENCH_BATCHES];

	return nn_bench_batches(value, batches, err) < 0 ? -1 : 0;
}

const struct nn_opt nn_bench_opts[] = {
	{ .name = "mode",
	  .daily = "measure training or prediction alone",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(mode),
	  .arg = "train|predict",
	  .choices = nn_bench_modes,
	  .help = "what the model is measured for; run does both where this is not given" },
	{ .name = "batch",
	  .daily = "rows of a call, such as 1,32 or 1:1024*2",
	  .also = "batch-size,batchsize,batches",
	  .letter = 'b',
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(batch),
	  .arg = "LIST",
	  .check = check_batch,
	  .help = "rows of a call: numbers and ranges FIRST:LAST*FACTOR, such as 1,32,1:1024*2",
	  .man = "The default is 1 for predictions, and for training the batch that the model was "
		 "trained with, else 64." },
	{ .name = "to",
	  .daily = "table, md, csv, json or jsonl (table)",
	  .also = "format,output-format",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(to),
	  .arg = "FORMAT",
	  .fallback = "table",
	  .choices = nn_report_formats,
	  .help = "format of the rows: table, md, csv, json or jsonl",
	  .man = "json is one array of objects, jsonl an object a line. What is not known is null "
		 "in JSON and empty elsewhere." },
	{ .name = "time",
	  .daily = "seconds for a figure at most (10)",
	  .also = "seconds,duration,min-time",
	  .type = NN_OPT_SECONDS,
	  .offset = AT(time_s),
	  .arg = "S",
	  .fallback = "10",
	  .help = "seconds for a figure at most",
	  .man = "Measuring ends earlier when the 95 % interval of the mean is within 2 % of it. "
		 "Where the time does not suffice for "
		 "any figure, the row's figures stay empty and a line on standard error says so." },
	{ .name = "store",
	  .daily = "keep the answer of pick for --device=auto",
	  .also = "save,cache",
	  .type = NN_OPT_FLAG,
	  .offset = AT(store),
	  .help = "keep the answer of pick for --device=auto",
	  .man = "Answers are kept in $XDG_CACHE_HOME/nntools, for the model's text, mode, batch "
		 "(by powers of two) and type, and "
		 "hold for this machine, its devices and this build." },
	{ .name = "plot",
	  .daily = "draw what was measured",
	  .also = "chart,figure",
	  .type = NN_OPT_STRING,
	  .offset = AT(plot),
	  .arg = "FILE.svg",
	  .filled = true,
	  .file = NN_OPT_WRITES,
	  .help = "draw what was measured there" },
	{ .name = NULL },
};

const struct nn_bench_verb nn_bench_verbs[] = {
#define NN_VERB(name, operands, fewest, most, options, help) \
	{ #name, operands, fewest, most, options, help, nn_verb_##name },
#include "bench/verbs.def"
#undef NN_VERB
	{ .name = NULL },
};
