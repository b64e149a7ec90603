/* The options of nn-bench, and its verbs. */
#include <stddef.h>

#include "bench/bench.h"
#include "bench/load.h"
#include "data/augment/augment.h"
#include "data/picture/samples.h"
#include "model/weights.h"

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
	{ .name = "augment",
	  .also = "augmentation,data-augmentation,transforms,transform",
	  .topic = "Input",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(augment),
	  .arg = "LIST",
	  .check = nn_augment_check,
	  .help = "change pictures as nn-train --augment does: flip, crop=N, rotate=DEGREES, ..." },
	{ .name = "input-memory",
	  .topic = "Input",
	  .also = "prefetch,prefetch-buffer,cache-size,buffer-size",
	  .type = NN_OPT_SIZE,
	  .offset = AT(input_memory),
	  .arg = "SIZE",
	  .min = 1,
	  .max = 0x1p53,
	  .help = "the memory that pictures and arrays may take, as for nn-train",
	  .man = "Pictures that take no more are decoded once, at the start. Without it they are "
		 "read and decoded for each batch, however few they are; arrays lie in memory." },
	{ .name = "model",
	  .topic = "Load",
	  .type = NN_OPT_STRING,
	  .offset = AT(load.model),
	  .arg = "NAME",
	  .filled = true,
	  .help = "the model that load asks for predictions; the server's only one without it" },
	{ .name = "rate",
	  .daily = "requests a second that load sends",
	  .also = "qps,rps,request-rate",
	  .topic = "Load",
	  .type = NN_OPT_REAL,
	  .offset = AT(load.rate),
	  .arg = "N",
	  .min = 1e-3,
	  .max = 1e7,
	  .help = "requests a second that load sends, whatever comes back (open loop)",
	  .man = "Without it, --slo and a file of --arrivals each connection sends its next "
		 "request "
		 "when its answer has come (closed loop). A recorded file is played faster or "
		 "slower "
		 "to have this rate in the mean." },
	{ .name = "arrivals",
	  .also = "distribution,trace",
	  .topic = "Load",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(load.arrivals),
	  .arg = "poisson|constant|FILE",
	  .filled = true,
	  .check = nn_load_check_arrivals,
	  .file = NN_OPT_READS,
	  .names_file = nn_load_arrivals_file,
	  .choices = nn_load_arrival_names,
	  .help = "when requests are sent: at random, evenly, or as FILE recorded it",
	  .man = "The default is poisson. FILE has times in seconds, one a line and in order, from "
		 "whatever begin (- is standard input); what follows # does not count. Without "
		 "--time it is played to its end. The same --seed gives the same times." },
	{ .name = "connections",
	  .also = "concurrency,clients",
	  .topic = "Load",
	  .type = NN_OPT_COUNT,
	  .offset = AT(load.connections),
	  .arg = "N",
	  .min = 1,
	  .max = 4096,
	  .help = "connections to the server: 8, or with a rate as many as it takes up to 256" },
	{ .name = "body",
	  .also = "protocol",
	  .topic = "Load",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(load.form),
	  .arg = "json|v2|binary",
	  .fallback = "json",
	  .choices = nn_load_forms,
	  .help = "form of requests: JSON of TensorFlow Serving, of the protocol v2, or its binary "
		  "tensors" },
	{ .name = "rows",
	  .topic = "Load",
	  .type = NN_OPT_COUNT,
	  .offset = AT(load.rows),
	  .arg = "N",
	  .fallback = "1",
	  .min = 1,
	  .max = 1 << 20,
	  .help = "rows of a request" },
	{ .name = "slo",
	  .also = "latency,target-latency",
	  .topic = "Load",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(load.slo),
	  .arg = "TIME",
	  .check = nn_load_check_slo,
	  .help = "search the highest rate whose p99 stays within TIME (5ms, 0.005)",
	  .man = "A rate holds where at most 1 % of its requests were later or failed. Each rate "
		 "tried is a row, of two seconds where --time does not say; --rate is the first." },
	{ .name = "null",
	  .topic = "Load",
	  .type = NN_OPT_FLAG,
	  .offset = AT(load.null),
	  .help = "measure the null model at the same load too, and subtract it",
	  .man = "NAME:null of nn-serve has the inputs and outputs of the model NAME and computes "
		 "nothing. Columns null_s and net_s." },
	{ .name = "timeout",
	  .topic = "Load",
	  .type = NN_OPT_SECONDS,
	  .offset = AT(load.timeout_s),
	  .arg = "S",
	  .fallback = "10",
	  .min = 1e-3,
	  .max = 86400,
	  .help = "seconds after which a request without an answer is an error" },
	{ .name = "key-file",
	  .also = "token-file,api-key",
	  .topic = "Load",
	  .type = NN_OPT_STRING,
	  .offset = AT(load.key_file),
	  .arg = "FILE",
	  .filled = true,
	  .file = NN_OPT_READS,
	  .help = "send the first word of FILE as the key of requests (Authorization: Bearer)" },
	{ .name = NULL },
};

const struct nn_bench_verb nn_bench_verbs[] = {
#define NN_VERB(name, operands, fewest, most, each, check, options, help) \
	{ #name, operands, fewest, most, each, check, options, help, nn_verb_##name },
#include "bench/verbs.def"
#undef NN_VERB
	{ .name = NULL },
};
