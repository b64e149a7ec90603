/* The options of nn-predict. */
#include <stddef.h>
#include <string.h>

#include "data/picture/samples.h"
#include "model/weights.h"
#include "predict/predict.h"

#define AT(member) offsetof(struct nn_predict_options, member)

static const char *const to_words[] = { [NN_TO_AUTO] = "auto",
					[NN_TO_CSV] = "csv",
					[NN_TO_TSV] = "tsv",
					[NN_TO_JSONL] = "jsonl",
					[NN_TO_NPY] = "npy",
					[NN_TO_JSON] = "json",
					[NN_TO_NPZ] = "npz",
					[NN_TO_PNG] = "png",
					NULL };
static const char *const on_error_words[] = {
	[NN_ON_ERROR_FAIL] = "fail", [NN_ON_ERROR_SKIP] = "skip", [NN_ON_ERROR_MARK] = "mark", NULL
};
static const char *const ensemble_words[] = {
	[NN_ENSEMBLE_NONE] = "none", [NN_ENSEMBLE_MEAN] = "mean", NULL
};
static const char *const flush_words[] = {
	[NN_FLUSH_AUTO] = "auto", [NN_FLUSH_LINE] = "line", [NN_FLUSH_FULL] = "full", NULL
};

const struct nn_opt nn_predict_opts[] = {
	{ .name = "model",
	  .also = "net,network,arch,weights",
	  .letter = 'm',
	  .type = NN_OPT_STRING,
	  .offset = AT(model_text),
	  .arg = "TEXT",
	  .file = NN_OPT_READS,
	  .help = "the network in the model language, for weights made elsewhere",
	  .man = "The first operand is then a safetensors, .npz or .pt file, a directory with an "
		 ".npy file for each tensor, or files by name: 0.weight=W.npy,0.bias=b.npy. See "
		 "WEIGHTS "
		 "MADE ELSEWHERE." },
	{ .name = "generate",
	  .also = "sample,continue,max-new-tokens,max-tokens,length",
	  .type = NN_OPT_COUNT,
	  .offset = AT(generate),
	  .arg = "N",
	  .min = 1,
	  .max = 1e15,
	  .help = "go on with the text in DATA: print N characters",
	  .man = "Of a model that nn-train --window made; see TEXT." },
	{ .name = "temperature",
	  .also = "temp,creativity",
	  .type = NN_OPT_REAL,
	  .offset = AT(temperature),
	  .arg = "T",
	  .fallback = "1",
	  .min = 0,
	  .max = 1000,
	  .help = "of --generate: logits are divided by it; 0 takes the likeliest character" },
	{ .name = "layout",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(layout),
	  .arg = "torch|keras",
	  .fallback = "auto",
	  .choices = nn_weights_layouts,
	  .help = "how weights made elsewhere lie: [out,in] or [in,out]",
	  .man = "Wanted where neither names nor shapes tell. torch: dense [out,in], convolutions "
		 "[out,in,kh,kw]. keras: [in,out] and [kh,kw,in,out], behind a flattened picture "
		 "channels last; a batchnorm or layernorm line without eps= has 1e-3." },
	{ .name = "info",
	  .daily = "print what MODEL holds, and read no rows",
	  .also = "summary,describe,show,inspect",
	  .type = NN_OPT_FLAG,
	  .offset = AT(info),
	  .help = "print what MODEL holds, and read no rows",
	  .man = "Its text, inputs with columns, scales and categories, labels, metrics and "
		 "tensors; "
		 "of any file of weights its tensors." },
	{ .name = "emit",
	  .daily = "probs, class, top:K, logits or values",
	  .also = "proba,probs,predict-proba,print,top",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(emit),
	  .arg = "WHAT",
	  .choices = (const char *const[]){ "probs", "class", "top:3", "logits", "values", NULL },
	  .check = nn_emit_check,
	  .help = "what is printed of each row: probs, class, top:K, logits or values",
	  .man = "The default is probs for models of classes, values for models of numbers, logits "
		 "where the model does "
		 "not say what its outputs mean." },
	{ .name = "to",
	  .daily = "csv, tsv, jsonl, npy, npz or png (as the input)",
	  .also = "format,output-format,out-format",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(to),
	  .arg = "FORMAT",
	  .fallback = "auto",
	  .choices = to_words,
	  .help = "format of the output: csv, tsv, jsonl, npy, npz or png; json with --score",
	  .man = "auto follows the input: npy and safetensors give npy, tsv gives tsv, JSON lines "
		 "jsonl, all other "
		 "csv. npz has an array for each output under its name; png is a picture for each "
		 "sample, "
		 "see PICTURES. Of --score it is lines of a name and a value." },
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
	  .filled = true,
	  .offset = AT(output_name),
	  .arg = "NAME",
	  .help = "which output of a model with several",
	  .man = "Alone, as that of a model with one: its answers, or with --score its figures." },
	{ .name = "score",
	  .daily = "print metrics instead of predictions",
	  .also = "eval,evaluate,metrics,accuracy,test",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(score_targets),
	  .arg = "TARGETS",
	  .optional_arg = true,
	  .file = NN_OPT_READS,
	  .each_file = nn_samples_each_file,
	  .help = "print metrics instead of predictions",
	  .man = "The targets come from the file TARGETS, else from the target's column of DATA. "
		 "Targets of the steps of rows are an array of [rows][steps], filled up, or of the "
		 "steps of all rows one after another, JSON lines with a list for each row, or a "
		 "CSV line for each step; of a text they are another text, which has "
		 "the class of each character at its place." },
	{ .name = "against",
	  .also = "baseline,reference,versus,compare",
	  .type = NN_OPT_STRING,
	  .offset = AT(against),
	  .arg = "MODEL",
	  .filled = true,
	  .file = NN_OPT_READS,
	  .each_file = nn_weights_each_file,
	  .help = "with --score: how far each figure is from that of another model",
	  .man = "A line NAME.difference behind each figure that is no count, such as "
		 "accuracy.difference: the figure minus that of MODEL, which reads the same rows. "
		 "Both have to have the same targets. Where one of them is f64 both compute in "
		 "it." },
	{ .name = "target",
	  .daily = "the column with the targets of --score",
	  .also = "label,labels,y,targets",
	  .type = NN_OPT_STRING,
	  .filled = true,
	  .offset = AT(target),
	  .arg = "COLUMN",
	  .help = "the column with the targets of --score, where its name differs from the "
		  "model's" },
	{ .name = "threshold",
	  .type = NN_OPT_REAL,
	  .offset = AT(threshold),
	  .arg = "T",
	  .fallback = "0.5",
	  .min = 1e-30,
	  .max = 1,
	  .help = "of two classes the second where its probability reaches T",
	  .man = "For --emit=class and --score. The second class is the one that p.LABEL names "
		 "last. By default as the model says (nn-train --threshold), else the "
		 "likelier one is the answer." },
	{ .name = "ensemble",
	  .also = "average,mean,vote,voting,combine",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(ensemble),
	  .arg = "mean",
	  .fallback = "none",
	  .choices = ensemble_words,
	  .help = "average the answers of several models: every operand that is a model file",
	  .man = "Probabilities of classes and values of numbers are averaged; the first operand "
		 "that is no model file is DATA. See ENSEMBLES." },
	{ .name = "keep",
	  .type = NN_OPT_STRING,
	  .filled = true,
	  .offset = AT(keep),
	  .arg = "COLUMN,...",
	  .help = "columns of the input, an id, that are copied in front of each record",
	  .man = "As they stand, by name, or by number where there is no header; in JSON lines as "
		 "members beside the answer, in CSV an array or object as its JSON. A row that "
		 "--on-error=mark marks keeps them." },
	{ .name = "header",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(header),
	  .arg = "yes|no",
	  .fallback = "auto",
	  .choices = nn_header_choices,
	  .help = "whether CSV and TSV input begins with a header line",
	  .man = "auto takes the first line for a header where one of its fields is not a "
		 "number." },
	{ .name = "separator",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(separator),
	  .arg = "C",
	  .check = nn_separator_check,
	  .help = "what separates the fields of CSV input",
	  .man = "A character, or comma, semicolon, tab, bar or space. By default as the model "
		 "says, else told from the first line." },
	{ .name = "zero-based",
	  .type = NN_OPT_FLAG,
	  .offset = AT(zero_based),
	  .help = "indices of LIBSVM input count from 0, also where the model does not say so" },
	{ .name = "on-error",
	  .daily = "fail, skip or mark rows that cannot be read (fail)",
	  .also = "errors,ignore-errors,skip-errors",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(on_error),
	  .arg = "WHAT",
	  .fallback = "fail",
	  .choices = on_error_words,
	  .help = "at a row that cannot be read: fail, skip or mark",
	  .man = "fail stops with status 1; skip leaves the row out; mark keeps its place with "
		 "empty fields, a single one as \"\". Both others "
		 "count the rows on standard error and end with status 0." },
	{ .name = "batch",
	  .also = "batch-size,batchsize",
	  .letter = 'b',
	  .type = NN_OPT_COUNT,
	  .offset = AT(batch),
	  .arg = "N",
	  .fallback = "256",
	  .min = 1,
	  .max = 1 << 20,
	  .help = "rows that are run together at most; never changes a byte of the output" },
	{ .name = "flush",
	  .also = "line-buffered,unbuffered",
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

static int check_ensemble(const struct nn_predict_options *o, struct nn_error *err)
{
	if (o->ensemble == NN_ENSEMBLE_NONE)
		return 0;
	if (o->info)
		return nn_fail(err, NN_EUSAGE, "--ensemble: --info reads one model alone");
	if (o->model_text)
		return nn_fail(err, NN_EUSAGE,
			       "--ensemble: takes model files, which say what their outputs mean; "
			       "not -m TEXT with WEIGHTS");
	if (o->emit && strcmp(o->emit, "logits") == 0)
		return nn_fail(err, NN_EUSAGE,
			       "--emit=logits: --ensemble averages probabilities and values; "
			       "--emit=probs, class, top:K and values work");
	return 0;
}

static int check_against(const struct nn_predict_options *o, struct nn_error *err)
{
	if (!o->against)
		return 0;
	if (strcmp(o->against, "-") == 0)
		return nn_fail(err, NN_EUSAGE, "--against=-: expected the name of a file");
	if (!o->score)
		return nn_fail(err, NN_EUSAGE,
			       "--against: compares the figures of --score, which is not given");
	if (o->ensemble != NN_ENSEMBLE_NONE || o->model_text)
		return nn_fail(err, NN_EUSAGE, "--against: compares two model files; not with %s",
			       o->model_text ? "-m TEXT" : "--ensemble");
	return 0;
}

static int check_generate(const struct nn_predict_options *o, struct nn_error *err)
{
	const char *other = o->score                          ? "score"
			    : o->info                         ? "info"
			    : o->emit                         ? "emit"
			    : o->keep                         ? "keep"
			    : o->to != NN_TO_AUTO             ? "to"
			    : o->ensemble != NN_ENSEMBLE_NONE ? "ensemble"
							      : NULL;

	if (!o->generate && o->temperature != 1)
		return nn_fail(err, NN_EUSAGE,
			       "--temperature: is of --generate, which is not given");
	if (o->generate && other)
		return nn_fail(err, NN_EUSAGE,
			       "--generate: prints a text, no predictions; not with --%s", other);
	return 0;
}

static bool is_binary(enum nn_to to)
{
	return to == NN_TO_NPY || to == NN_TO_NPZ || to == NN_TO_PNG;
}

int nn_predict_check(const struct nn_predict_options *o, struct nn_error *err)
{
	if (check_ensemble(o, err) < 0 || check_against(o, err) < 0 || check_generate(o, err) < 0)
		return -1;
	if (o->to == NN_TO_JSON && !o->score)
		return nn_fail(err, NN_EUSAGE,
			       "--to=json: needs --score; rows are written with --to=jsonl");
	if (o->thresholded && !o->score && !(o->emit && strcmp(o->emit, "class") == 0))
		return nn_fail(err, NN_EUSAGE,
			       "--threshold: decides between classes; it needs --emit=class or "
			       "--score");
	if (o->keep && (o->score || is_binary(o->to)))
		return nn_fail(err, NN_EUSAGE,
			       o->score ? "--keep: --score prints no rows"
					: "--keep: --to=%s has no room for text; --to=csv, tsv and jsonl have",
			       to_words[o->to]);
	if (is_binary(o->to) && o->score)
		return nn_fail(err, NN_EUSAGE,
			       "--to=%s: --score prints names and values, as csv, tsv, json or "
			       "jsonl",
			       to_words[o->to]);
	if (is_binary(o->to) && o->emit && strncmp(o->emit, "top:", 4) == 0)
		return nn_fail(err, NN_EUSAGE,
			       o->to == NN_TO_PNG
				       ? "--emit=top: a picture holds the class of each pixel; use "
					 "--emit=class"
				       : "--emit=top: an .npy array has no labels; use --to=csv, "
					 "--to=tsv or --to=jsonl");
	return 0;
}

int nn_predict_check_info(const struct nn_opt_list *list, struct nn_error *err)
{
	for (const struct nn_opt *o = nn_predict_opts; o->name; o++)
		if (strcmp(o->name, "info") != 0 && nn_opt_given(list, o->name))
			return nn_fail(err, NN_EUSAGE,
				       "--%s: --info says what MODEL holds, and reads no rows",
				       o->name);
	return 0;
}
