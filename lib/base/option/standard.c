/* The rows that every tool takes. */
#include <stddef.h>
#include <string.h>

#include "base/limit.h"
#include "base/option.h"

#define AT(member) offsetof(struct nn_std_options, member)

static const char *const precisions[] = { [NN_F32] = "f32",   [NN_F64] = "f64", [NN_F16] = "f16",
					  [NN_BF16] = "bf16", [NN_I8] = "int8", [NN_PRECISION_TF32] = "tf32", NULL };

enum nn_dtype nn_std_dtype(const struct nn_std_options *std)
{
	return std->precision == NN_PRECISION_TF32 ? NN_F32 : (enum nn_dtype)std->precision;
}

int nn_std_check_computed(const struct nn_std_options *std, struct nn_error *err)
{
	return nn_dtype_computed(nn_std_dtype(std)) == nn_std_dtype(std)
		       ? 0
		       : nn_fail(err, NN_EUSAGE,
				 "--precision=%s: is a type of model files, which nn-train writes; "
				 "computation is in f32 or f64",
				 precisions[std->precision]);
}

static bool is_device(const char *name, size_t n)
{
	if ((n == 3 && strncmp(name, "cpu", 3) == 0) || (n == 4 && strncmp(name, "auto", 4) == 0))
		return true;
	return n >= 4 && strncmp(name, "cuda", 4) == 0 &&
	       (n == 4 || (name[4] == ':' && n > 5 && strspn(name + 5, "0123456789") == n - 5));
}

/* Names, with commas between them; whether they are here is asked later (nn_tool_check_devices). */
static int check_device(const char *value, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	for (const char *at = value;; at++) {
		size_t n = strcspn(at, ",");

		if (!is_device(at, n))
			return nn_fail(err, NN_EUSAGE,
				       "--device=%s: expected cpu, cuda, cuda:N or auto",
				       nn_quote(quoted, value, strlen(value)));
		at += n;
		if (!*at)
			return 0;
	}
}

static const char *const limit_names[] = {
#define NN_LIMIT(id, name, ...) name "=",
	NN_LIMITS(NN_LIMIT)
#undef NN_LIMIT
		NULL,
};

/* A sentence for the manual: name, default, the most, what it bounds. */
#define NN_LIMIT(id, name, value, most, value_text, most_text, unit, help)                         \
	" " name ": " help " (" value_text ", at most " most_text ")."

const struct nn_opt nn_std_opts[] = {
	/* the first: nn_std_opts_no_output begins behind it */
	{ .name = "output",
	  .daily = "write the result to FILE",
	  .also = "out,output-file,save,save-to,save-model,out-file,model-out",
	  .letter = 'o',
	  .type = NN_OPT_STRING,
	  .offset = AT(output),
	  .arg = "FILE",
	  .filled = true,
	  .file = NN_OPT_WRITES,
	  .help = "write the result there instead of to standard output",
	  .man = "The file is written under a temporary name and renamed when it is complete; what "
		 "was there before stays if "
		 "anything fails." },
	{ .name = "device",
	  .also = "gpu,cuda,backend,accelerator",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(device),
	  .arg = "cpu|cuda[:N]|auto",
	  .fallback = "cpu",
	  .choices = (const char *const[]){ "cpu", "cuda", "auto", NULL },
	  .check = check_device,
	  .help = "where to compute",
	  .man = "auto is the device that nn-bench pick --store found fastest for the model; cpu "
		 "where nothing is stored. cuda is an NVIDIA GPU, where nn-cuda.so was "
		 "built "
		 "(nvcc) and a driver is; its model files are meant to be the CPU's, byte for "
		 "byte. nn-serve takes several, as in cpu,cuda: each batch goes, whole or cut in "
		 "two, to where measured costs say that it is done first." },
	{ .name = "threads",
	  .daily = "compute threads (all processors)",
	  .also = "jobs,n-jobs,num-threads,nthread,workers,num-workers,cores,cpus",
	  .letter = 't',
	  .type = NN_OPT_COUNT,
	  .offset = AT(threads),
	  .arg = "N",
	  .min = 1,
	  .max = 1024,
	  .help = "compute threads; never changes a byte of the result",
	  .man = "The default is the number of processors this process may use, cut by the "
		 "cgroup's limit; where there are fast and slow cores both count." },
	{ .name = "seed",
	  .also = "random-state,random-seed,rng,manual-seed",
	  .type = NN_OPT_COUNT,
	  .offset = AT(seed),
	  .arg = "N",
	  .fallback = "1",
	  .help = "seed of all random numbers" },
	{ .name = "precision",
	  .also = "dtype,type,amp,fp16,half",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(precision),
	  .arg = "TYPE",
	  .choices = precisions,
	  .help = "type of weights and computation: f32, f64, on cuda also tf32, bf16 or f16; "
		  "of nn-train's model file bf16, f16 or int8",
	  .man = "The default is f32, f64 where the model that is read is f64. bf16, f16 and int8 "
		 "are types of files: nn-train rounds to them what it writes, and computes in "
		 "f32; every tool reads them. Predictions multiply int8 weights as whole "
		 "numbers on the CPU, unless this says f32. tf32 is f32 whose products of dense "
		 "layers, convolutions and the inputs of recurrent layers go to tensor cores by "
		 "cuBLASLt, with factors rounded to 10 bits: of --device=cuda alone, where "
		 "libcublasLt.so is found (LD_LIBRARY_PATH). Files are those of f32; the values in "
		 "them depend on the kind of GPU. So do bf16 and f16 with --device=cuda (not "
		 "auto): factors are rounded to that type, sums, weights and all else are f32; in "
		 "training f16 scales the loss, see nntools(7)." },
	{ .name = "reproducible",
	  .also = "deterministic",
	  .type = NN_OPT_YESNO,
	  .offset = AT(reproducible),
	  .arg = "yes|no",
	  .fallback = "yes",
	  .help = "promise the same bytes; no lets products go to OpenBLAS where that is faster, "
		  "on cuda to cuBLASLt" },
	{ .name = "log",
	  .also = "log-file,logfile",
	  .type = NN_OPT_STRING,
	  .offset = AT(log),
	  .arg = "FILE",
	  .filled = true,
	  .file = NN_OPT_WRITES,
	  .help = "write what happens there, one JSON object a line" },
	{ .name = "config",
	  .also = "config-file,rc",
	  .type = NN_OPT_CONFIG,
	  .offset = AT(config),
	  .arg = "FILE",
	  .filled = true,
	  .file = NN_OPT_READS,
	  .help = "read options from a file of lines `option = value`",
	  .man = "A # at the beginning of a line or behind a blank begins a comment, unless it "
		 "stands in double quotes; switches are written yes or no; the command line wins. "
		 "- is stdin, which then holds nothing else." },
	{ .name = "limit",
	  .also = "max-line,max-field,max-columns,max-pixels,max-image-pixels",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(limit),
	  .arg = "NAME=N",
	  .choices = limit_names,
	  .check = nn_limit_set,
	  .repeated = true,
	  .help = "read what is larger than a reader takes, or nothing so large; may be repeated",
	  .man = "The message about what is too large names the limit." NN_LIMITS(NN_LIMIT) },
	{ .name = "dry-run",
	  .also = "check",
	  .type = NN_OPT_FLAG,
	  .offset = AT(dry_run),
	  .help = "check the command line and stop",
	  .man = "A model that is given as text is read, too; files of models and data are not." },
	{ .name = "quiet",
	  .daily = "print nothing but errors",
	  .also = "silent",
	  .letter = 'q',
	  .type = NN_OPT_QUIET,
	  .offset = AT(quiet),
	  .help = "print nothing but errors on standard error" },
	{ .name = "verbose",
	  .letter = 'v',
	  .type = NN_OPT_VERBOSE,
	  .offset = AT(verbose),
	  .help = "say more; with --version: libraries and processor" },
	{ .name = "help",
	  .daily = "this page; the options of a topic, or all",
	  .letter = 'h',
	  .type = NN_OPT_HELP,
	  .arg = "TOPIC",
	  .optional_arg = true,
	  .help = "print the everyday options, or those of a topic, and stop",
	  .man = "A topic is a heading of this list in lower case; all is every option." },
	{ .name = "version", .type = NN_OPT_VERSION, .help = "print the version and stop" },
	{ .name = NULL },
};
