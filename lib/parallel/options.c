/* Options of ranks that train together. */
#include "parallel/options.h"
#include "parallel/strategy.h"
#include "step/stages.h"

static int check_pipeline(const char *value, struct nn_error *err)
{
	enum nn_pipeline_schedule schedule;
	int stages;

	return nn_parse_pipeline(value, &stages, &schedule, err);
}

static int check_strategy(const char *value, struct nn_error *err)
{
	return nn_strategy_parse(value, NULL, err) ? 0 : -1;
}

#define MOST 1e15 /* whole numbers stay exact in f64, where bounds are compared */
#define AT(field) offsetof(struct nn_parallel_options, field)

const struct nn_opt nn_parallel_opts[] = {
	{ .name = "pipeline",
	  .also = "pipeline-parallel,pp",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(pipeline),
	  .arg = "P[:SCHEDULE]",
	  .check = check_pipeline,
	  .help = "cut the network into P stages, a rank each, through which micro-batches flow "
		  "(1f1b, gpipe, naive)",
	  .man = "For networks that are too large for one rank: each keeps the parameters, "
		 "gradients and optimizer state of its stage "
		 "alone. The ranks are P times as many as work on different samples. See "
		 "PIPELINE." },
	{ .name = "tensor",
	  .also = "tensor-parallel,model-parallel,tp",
	  .type = NN_OPT_COUNT,
	  .offset = AT(tensor),
	  .arg = "T",
	  .fallback = "1",
	  .min = 1,
	  .max = 1000,
	  .help = "share the columns of dense layers, the channels of convolutions and the rows of "
		  "embeddings among T ranks",
	  .man = "For networks whose layers are too large for one rank: each keeps the parameters, "
		 "gradients and optimizer state of its "
		 "columns and rows alone. The ranks are T times as many as work on different "
		 "samples. See TENSOR." },
	{ .name = "strategy",
	  .also = "distributed,mode",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(strategy),
	  .arg = "STRATEGY",
	  .fallback = "sync",
	  .choices = (const char *const[]){ "sync", "async", "local:8", "master", NULL },
	  .check = check_strategy,
	  .help = "how ranks work together: sync, async, local:H[@STEP], master",
	  .man = "See STRATEGIES." },
	{ .name = "staleness",
	  .type = NN_OPT_COUNT,
	  .offset = AT(staleness),
	  .arg = "K",
	  .max = 1e9,
	  .help = "async: no gradient is applied more than K updates after it was begun (two for "
		  "each computing rank)" },
	{ .name = "staleness-lr",
	  .type = NN_OPT_YESNO,
	  .offset = AT(staleness_lr),
	  .arg = "yes|no",
	  .fallback = "no",
	  .help = "async: a gradient that is s updates behind has the rate divided by 1 + s" },
	{ .name = "record",
	  .type = NN_OPT_STRING,
	  .offset = AT(record),
	  .arg = "FILE",
	  .filled = true,
	  .file = NN_OPT_WRITES,
	  .help = "async: write which rank's gradient of which batch each step applied" },
	{ .name = "replay-run",
	  .type = NN_OPT_STRING,
	  .offset = AT(replay_run),
	  .arg = "FILE",
	  .filled = true,
	  .file = NN_OPT_READS,
	  .help = "async: do in one process what was recorded, to the same bytes" },
	{ .name = "bucket",
	  .type = NN_OPT_SIZE,
	  .offset = AT(bucket),
	  .arg = "SIZE",
	  .min = 1024,
	  .max = MOST,
	  .help = "bytes of gradients in one message between ranks (follows from the link)",
	  .man = "Where ranks have no memory in common, gradients travel in buckets while the "
		 "backward pass goes on, and new parameters while the next forward pass does. By "
		 "default a bucket ends where a layer does, once it has 1 MiB (the first) or as "
		 "much as the latency and rate of the link suggest, and is at most 25 MiB. Every "
		 "size gives the same model." },
	{ .name = "shard-optimizer",
	  .also = "zero,fsdp,shard",
	  .type = NN_OPT_FLAG,
	  .offset = AT(shard_optimizer),
	  .help = "ranks that share the samples keep a part of the optimizer's state each",
	  .man = "Less memory: with N of them 1/N of what the optimizer keeps of each parameter, "
		 "which is twice the parameters for adam. "
		 "See RANKS." },
	{ .name = "check-every",
	  .type = NN_OPT_COUNT,
	  .offset = AT(check_every),
	  .arg = "N",
	  .fallback = "100",
	  .max = MOST,
	  .help = "compare the parameters of all ranks every N steps; 0: never",
	  .man = "With sync and master they are the same bytes after each step. Where they are "
		 "not, memory or a processor is at fault: the "
		 "training ends and names rank and tensor. Of a table with sparse=yes the rows of "
		 "the batch are compared." },
	{ 0 }
};
