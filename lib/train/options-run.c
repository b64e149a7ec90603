/* Rows of nn-train's own options: what a run keeps, plans, measures and tells. */
#include <string.h>

#include "base/number.h"
#include "train/options.h"

static int check_every(const char *value, struct nn_error *err)
{
	uint64_t steps;
	double seconds;

	return nn_parse_every(value, &steps, &seconds, err);
}

static int check_spool(const char *value, struct nn_error *err)
{
	return *value ? 0 : nn_fail(err, NN_EUSAGE, "expected the name of a file, or a size");
}

static bool spool_is_file(const char *value)
{
	uint64_t bytes;

	return !nn_parse_size(value, strlen(value), &bytes);
}

static int check_race(const char *value, struct nn_error *err)
{
	return nn_parse_race(value, err) < 0 ? -1 : 0;
}

#define MOST 1e15 /* whole numbers stay exact in f64, where bounds are compared */
#define AT(field) offsetof(struct nn_train_options, field)

const struct nn_opt nn_train_run_opts[] = {
	{ .name = "checkpoint",
	  .topic = "Checkpoints",
	  .also = "state,snapshot,checkpoint-dir",
	  .type = NN_OPT_STRING,
	  .offset = AT(checkpoint),
	  .arg = "FILE|no",
	  .filled = true,
	  .file = NN_OPT_WRITES,
	  .names_file = nn_checkpoint_is_file,
	  .help = "where the state of the training is kept (beside -o: NAME.state.safetensors)",
	  .man = "A state that was asked for, with this, --checkpoint-every or --resume, stays "
		 "when "
		 "training has come to its end; one beside -o that was not is removed then. no: "
		 "none "
		 "is written." },
	{ .name = "checkpoint-every",
	  .topic = "Checkpoints",
	  .also = "save-every,save-steps,save-freq",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(checkpoint_every),
	  .arg = "N[s]",
	  .check = check_every,
	  .help = "write the state every N steps or N seconds, not only after each epoch" },
	{ .name = "resume",
	  .daily = "go on with a training that was stopped",
	  .topic = "Checkpoints",
	  .also = "continue,restart,warm-start,resume-from-checkpoint,load",
	  .type = NN_OPT_FLAG,
	  .offset = AT(resume),
	  .help = "resume from the checkpoint; without one, start from the beginning",
	  .man = "The same command line again. threads, micro-batch, memory, input-memory, "
		 "recompute, offload, epochs, "
		 "steps, "
		 "time limit, log, plot, checkpoint, output "
		 "and verbosity may differ; any other difference is an error that names both "
		 "values." },
	{ .name = "max-restarts",
	  .topic = "Checkpoints",
	  .type = NN_OPT_COUNT,
	  .offset = AT(max_restarts),
	  .arg = "K",
	  .fallback = "0",
	  .max = 1e6,
	  .help = "resume from the checkpoint, up to K times, with the ranks that are left when "
		  "one "
		  "is lost" },
	{ .name = "timeout",
	  .topic = "Checkpoints",
	  .type = NN_OPT_SECONDS,
	  .offset = AT(timeout),
	  .arg = "SECONDS",
	  .fallback = "300",
	  .min = 1,
	  .max = 1e9,
	  .help = "end a job of ranks when one makes no progress for so long",
	  .man = "After 60 seconds a warning names the rank. Reading data counts as progress, "
		 "and neither is computing." },
	{ .name = "spool",
	  .topic = "Checkpoints",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(spool),
	  .arg = "FILE|SIZE",
	  .check = check_spool,
	  .file = NN_OPT_WRITES,
	  .names_file = spool_is_file,
	  .help = "keep stdin in FILE, which --resume reads again; or take at most SIZE bytes of "
		  "it",
	  .man = "FILE appears when stdin has ended and may take half of the space that is free "
		 "beside it. With --resume it is read "
		 "in place of stdin where it exists. A SIZE is a number of bytes, with K, M, G or "
		 "T; a file of such a name is "
		 "./SIZE." },
	{ .name = "explain",
	  .daily = "print memory and time it would take; do not train",
	  .topic = "Plan",
	  .also = "summary,plan",
	  .type = NN_OPT_STRING,
	  .offset = AT(explain),
	  .arg = "json",
	  .optional_arg = true,
	  .help = "print what training would take, memory and time, and do not train",
	  .man = "Needs no DATA where the text has input lines and numbers for ?; of DATA at most "
		 "16 MiB are read. See PLAN." },
	{ .name = "memory",
	  .topic = "Plan",
	  .also = "max-memory,mem",
	  .type = NN_OPT_SIZE,
	  .offset = AT(memory),
	  .arg = "SIZE",
	  .min = 1,
	  .max = MOST,
	  .help = "the memory that training may take (what the machine has)",
	  .man = "Fewer samples go through at once until the plan fits; where not even one does, "
		 "status 4 and command lines that "
		 "would fit." },
	{ .name = "recompute",
	  .topic = "Plan",
	  .also = "checkpoint-activations,activation-checkpointing,gradient-checkpointing,remat",
	  .type = NN_OPT_FLAG,
	  .offset = AT(recompute),
	  .help = "drop activations after forward and compute them again in backward: less memory",
	  .man = "Never other bytes. With --memory only where not even one sample at once fits "
		 "without, and then as little is computed again as fits; else what takes the "
		 "least memory, at most one more pass forward. --explain names the layers." },
	{ .name = "offload",
	  .topic = "Plan",
	  .also = "cpu-offload,activation-offloading,spill,swap",
	  .type = NN_OPT_STRING,
	  .offset = AT(offload),
	  .arg = "DIR",
	  .optional_arg = true,
	  .filled = true,
	  .help = "keep activations in a file in DIR between forward and backward: less memory",
	  .man = "DIR is TMPDIR, or /var/tmp, and should lie on a disk. Never other bytes. The "
		 "file "
		 "has no name, and its bytes are taken before work begins; a thread writes it "
		 "behind the steps forward, and reads ahead of those that need it. With --memory "
		 "only where not even one sample at once fits without, nor with --recompute where "
		 "that is given, and then as little as fits. --explain names the layers." },
	{ .name = "input-memory",
	  .topic = "Plan",
	  .also = "prefetch,prefetch-buffer,cache-size,buffer-size",
	  .type = NN_OPT_SIZE,
	  .offset = AT(input_memory),
	  .arg = "SIZE",
	  .min = 1,
	  .max = MOST,
	  .help = "the memory that pictures, arrays and rows of a cache may take (half of --memory)",
	  .man = "Pictures of folders and tars that take no more are decoded once and kept. Others "
		 "stay in their files and are read and decoded again for each batch, ahead of the "
		 "steps; the bytes of the model are the same. So are the rows of an array (.npy, "
		 "IDX, .npz, safetensors) and of --cache. See INPUT." },
	{ .name = "cache",
	  .topic = "Plan",
	  .also = "cache-file,cache-data,data-cache",
	  .type = NN_OPT_STRING,
	  .offset = AT(cache),
	  .arg = "FILE",
	  .filled = true,
	  .file = NN_OPT_WRITES,
	  .help = "keep the data in FILE as they were read, for the next training on them",
	  .man = "For data that are slow to read: pictures, compressed files, tables. The bytes of "
		 "the model are the same with and without it. See CACHE." },
	{ .name = "race",
	  .topic = "Plan",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(race),
	  .arg = "STRATEGY,...",
	  .check = check_race,
	  .help = "train with each strategy for --time-limit and print a table of loss against "
		  "time and bytes",
	  .man = "Without --ranks there is a rank for each core. See STRATEGIES." },
	{ .name = "selfcheck",
	  .topic = "Plan",
	  .type = NN_OPT_FLAG,
	  .offset = AT(selfcheck),
	  .help = "train nothing, but check gradients, threads, micro-batches, kernels and resume "
		  "on this network and data",
	  .man = "A table on stdout, one row for each check with what was compared and pass or "
		 "fail; status 1 when one failed. "
		 "Nothing else is written. A slow network is checked on fewer rows." },
	{ .name = "log-every",
	  .topic = "Reports",
	  .also = "log-interval,log-steps,logging-steps",
	  .type = NN_OPT_COUNT,
	  .offset = AT(log_every),
	  .arg = "N",
	  .min = 1,
	  .max = MOST,
	  .help = "log every Nth step instead of about one a second" },
	{ .name = "plot",
	  .daily = "draw loss, metric, throughput and answers",
	  .topic = "Reports",
	  .also = "chart,figure",
	  .type = NN_OPT_STRING,
	  .offset = AT(plot),
	  .arg = "FILE.svg",
	  .filled = true,
	  .file = NN_OPT_WRITES,
	  .help = "draw loss, metric, throughput, which class was taken for which, and example "
		  "masks there, as SVG",
	  .man = "Drawn anew after an epoch, where the last picture is older than three seconds, "
		 "and when training ends, in whatever "
		 "way. After --resume the curves begin where this run began." },
	{ .name = "tensorboard",
	  .topic = "Reports",
	  .also = "tensorboard-dir,logdir,log-dir,tb",
	  .type = NN_OPT_STRING,
	  .offset = AT(tensorboard),
	  .arg = "DIR",
	  .filled = true,
	  .help = "write loss, rate, metrics and throughput there, for TensorBoard",
	  .man = "The steps and evaluations of --log, by the same names. Each run adds a file, "
		 "so after --resume the curves go on." },
	{ 0 }
};
