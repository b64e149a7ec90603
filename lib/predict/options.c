/* The options of nn-predict. */
#include <stddef.h>

#include "predict/predict.h"

#define AT(member) offsetof(struct nn_predict_options, member)

static const char *const to_words[] = {
	[NN_TO_AUTO] = "auto",   [NN_TO_CSV] = "csv", [NN_TO_TSV] = "tsv",
	[NN_TO_JSONL] = "jsonl", [NN_TO_NPY] = "npy", NULL
};
static const char *const on_error_words[] = {
	[NN_ON_ERROR_FAIL] = "fail", [NN_ON_ERROR_SKIP] = "skip", [NN_ON_ERROR_MARK] = "mark", NULL
};
static const char *const flush_words[] = {
	[NN_FLUSH_AUTO] = "auto", [NN_FLUSH_LINE] = "line", [NN_FLUSH_FULL] = "full", NULL
};

const struct nn_opt nn_predict_opts[] = {
	{ .name = "model",
	  .letter = 'm',
	  .type = NN_OPT_STRING,
	  .offset = AT(model_text),
	  .arg = "TEXT",
	  .file = NN_OPT_READS,
	  .help = "the network in the model language, for weights made elsewhere",
	  .man = "The first operand is then a safetensors or .npz file whose tensors are named as "
		 "nn-model(5) says; nn.model in "
		 "it is not needed. Or a directory with an .npy file for each tensor, as in "
		 "0.weight.npy, or the files by name: "
		 "0.weight=W.npy,0.bias=b.npy. weight is [out,in], as PyTorch has it; kernel is a "
		 "dense layer's [in,out]." },
	{ .name = "emit",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(emit),
	  .arg = "WHAT",
	  .check = nn_emit_check,
	  .help = "what is printed of each row: probs, class, top:K, logits or values",
	  .man = "The default is probs for models of classes, values for models of numbers, logits "
		 "where the model does "
		 "not say what its outputs mean." },
	{ .name = "to",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(to),
	  .arg = "FORMAT",
	  .fallback = "auto",
	  .choices = to_words,
	  .help = "format of the output: csv, tsv, jsonl or npy",
	  .man = "auto follows the input: npy and safetensors give npy, tsv gives tsv, all other "
		 "csv." },
	{ .name = "to-header",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(to_header),
	  .arg = "yes|no",
	  .fallback = "auto",
	  .choices = nn_header_choices,
	  .help = "print a header line with csv and tsv",
	  .man = "auto prints one unless CSV or TSV input had none." },
	{ .name = "output-name",
	  .type = NN_OPT_STRING,
	  .offset = AT(output_name),
	  .arg = "NAME",
	  .help = "which output of a model with several" },
	{ .name = "score",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(score_targets),
	  .arg = "TARGETS",
	  .optional_arg = true,
	  .file = NN_OPT_READS,
	  .help = "print metrics instead of predictions",
	  .man = "The targets come from the file TARGETS, else from the target's column of DATA." },
	{ .name = "target",
	  .type = NN_OPT_STRING,
	  .offset = AT(target),
	  .arg = "COLUMN",
	  .help = "the column with the targets of --score, where its name differs from the "
		  "model's" },
	{ .name = "header",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(header),
	  .arg = "yes|no",
	  .fallback = "auto",
	  .choices = nn_header_choices,
	  .help = "whether CSV and TSV input begins with a header line",
	  .man = "auto takes the first line for a header where one of its fields is not a "
		 "number." },
	{ .name = "on-error",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(on_error),
	  .arg = "WHAT",
	  .fallback = "fail",
	  .choices = on_error_words,
	  .help = "at a row that cannot be read: fail, skip or mark",
	  .man = "fail stops with status 1; skip leaves the row out; mark keeps its place with "
		 "empty fields. Both others "
		 "count the rows on standard error and end with status 0." },
	{ .name = "batch",
	  .letter = 'b',
	  .type = NN_OPT_COUNT,
	  .offset = AT(batch),
	  .arg = "N",
	  .fallback = "256",
	  .min = 1,
	  .max = 1 << 20,
	  .help = "rows that are run together at most; never changes a byte of the output" },
	{ .name = "flush",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(flush),
	  .arg = "WHEN",
	  .fallback = "auto",
	  .choices = flush_words,
	  .help = "write answers out at once (line), when buffers are full (full), or auto",
	  .man = "auto writes them before it waits for more input, so a row into a pipe gives a "
		 "row out." },
	{ .name = NULL },
};
