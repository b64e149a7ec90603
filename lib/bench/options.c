/* The options of nn-bench, and its verbs. */
#include <stddef.h>

#include "bench/bench.h"

#define AT(member) offsetof(struct nn_bench_options, member)

static const char *const formats[] = {"table", "md", "csv", "json", "jsonl", NULL};

const struct nn_opt nn_bench_opts[] = {
	{ .name = "to", .type = NN_OPT_CHOICE, .offset = AT(to), .arg = "FORMAT", .fallback = "table", .choices = formats,
	  .help = "format of the rows: table, md, csv, json or jsonl",
	  .man = "json is one array of objects, jsonl an object a line. What is not known is null in JSON and empty elsewhere." },
	{ .name = "time", .type = NN_OPT_SECONDS, .offset = AT(time_s), .arg = "S", .fallback = "10",
	  .help = "seconds for a figure at most",
	  .man = "Measuring ends earlier when the 95 % interval of the mean is within 2 % of it. Where the time does not suffice for "
		 "any figure, the row's figures stay empty and a line on standard error says so." },
	{ .name = NULL },
};

const struct nn_bench_verb nn_bench_verbs[] = {
#define NN_VERB(name, operands, fewest, most, options, help) { #name, operands, fewest, most, options, help, nn_verb_##name },
#include "bench/verbs.def"
#undef NN_VERB
	{ .name = NULL },
};
