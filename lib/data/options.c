/* The options of everything that reads data: one table for tools and manual. */
#include <string.h>

#include "base/number.h"
#include "data/dataset.h"

static int check_normalize(const char *value, struct nn_error *err)
{
	static const char *const words[] = { "auto", "none", "standard", "minmax" };
	double factor;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strcmp(value, words[i]) == 0)
			return 0;
	if (nn_parse_f64(value, strlen(value), &factor) && factor > 0 && (float)factor > 0)
		return 0;
	return nn_fail(err, NN_EUSAGE, "expected auto, none, standard, minmax or a factor above 0");
}

/* Separators with a name, and what no separator can be: a part of numbers, words and quotes. */
static const struct {
	const char *name;
	char separator;
} separators[] = { { "comma", ',' }, { "semicolon", ';' }, { "tab", '\t' },
		   { "\\t", '\t' },  { "bar", '|' },       { "space", ' ' } };

char nn_separator_of(const char *value)
{
	if (!value)
		return '\0';
	for (size_t i = 0; i < sizeof separators / sizeof *separators; i++)
		if (strcmp(value, separators[i].name) == 0)
			return separators[i].separator;
	return value[0];
}

int nn_separator_check(const char *value, struct nn_error *err)
{
	char c = nn_separator_of(value);
	bool named = value[0] && value[1] && c != value[0];

	if ((named || (c && !value[1])) && (c == '\t' || (c >= ' ' && c <= '~')) &&
	    !(c >= '0' && c <= '9') && !((c | 32) >= 'a' && (c | 32) <= 'z') &&
	    !strchr("\"'+-.", c))
		return 0;
	return nn_fail(err, NN_EUSAGE,
		       "expected one character that no number and no word has in it, or comma, "
		       "semicolon, tab, bar or space");
}

static const char *const missing[] = {
	[NN_MISSING_ERROR] = "error", [NN_MISSING_MEAN] = "mean", [NN_MISSING_DROP] = "drop", NULL
};
const char *const nn_header_choices[] = {
	[NN_HEADER_AUTO] = "auto", [NN_HEADER_YES] = "yes", [NN_HEADER_NO] = "no", NULL
};

const struct nn_opt nn_data_opts[] = {
	{ .name = "target",
	  .daily = "the column of a table to predict",
	  .also = "label,labels,label-column,y,response,targets",
	  .type = NN_OPT_STRING,
	  .offset = offsetof(struct nn_data_options, target),
	  .arg = "COLUMN,...",
	  .filled = true,
	  .help = "column of a CSV that holds the target",
	  .man = "By name, or by number from 1 where there is no header. A name with a comma "
		 "stands in double quotes. "
		 "Several columns of numbers are one target of that many values." },
	{ .name = "weight",
	  .also = "sample-weight,sample-weights,weights,weight-column",
	  .type = NN_OPT_STRING,
	  .filled = true,
	  .offset = offsetof(struct nn_data_options, weight),
	  .arg = "COLUMN",
	  .help = "column with what each row weighs in the loss and in metrics",
	  .man = "By name, or by number where a table has no header; no input then. Of .npz and "
		 "safetensors the array of that name, of JSON lines the member. Weights are 0 or "
		 "more; sums over rows are divided by the sum of their weights, and where a row "
		 "has "
		 "a target at each position all of them weigh as it does. The model remembers "
		 "the column: nn-predict --score weighs by it, and a training that starts from "
		 "the model, where the data have it." },
	{ .name = "header",
	  .type = NN_OPT_CHOICE,
	  .offset = offsetof(struct nn_data_options, header),
	  .arg = "yes|no",
	  .fallback = "auto",
	  .choices = nn_header_choices,
	  .help = "whether the first row of a CSV is a header",
	  .man = "By default it is one when it has a field that is neither a number nor missing; "
		 "the "
		 "data of a start model that was trained without a header have none." },
	{ .name = "separator",
	  .type = NN_OPT_CUSTOM,
	  .offset = offsetof(struct nn_data_options, separator),
	  .arg = "C",
	  .check = nn_separator_check,
	  .help = "what separates the fields of a CSV",
	  .man = "A character, or comma, semicolon, tab, bar or space. By default the first line "
		 "tells: a tab where it has one, else whichever of comma, semicolon and bar it has "
		 "most of. One that cannot be told so is kept in the model." },
	{ .name = "zero-based",
	  .type = NN_OPT_FLAG,
	  .offset = offsetof(struct nn_data_options, zero_based),
	  .help = "indices of LIBSVM files count from 0",
	  .man = "The model keeps it." },
	{ .name = "window",
	  .also = "seq-len,sequence-length,block-size,context,bptt",
	  .type = NN_OPT_COUNT,
	  .offset = offsetof(struct nn_data_options, window),
	  .arg = "T",
	  .min = 1,
	  .max = 1 << 20,
	  .help = "DATA are text: rows of T characters, each to be told from those before it",
	  .man = "The class at each position is the character that comes next; see TEXT in "
		 "nn-data(5). The model keeps T and the characters." },
	{ .name = "classes",
	  .also = "num-classes,n-classes,nclasses,class-names,classes-file",
	  .type = NN_OPT_CUSTOM,
	  .offset = offsetof(struct nn_data_options, classes),
	  .arg = "FILE|N",
	  .check = nn_classes_check,
	  .file = NN_OPT_READS,
	  .names_file = nn_classes_names_file,
	  .each_file = nn_classes_each_file,
	  .help = "labels known beforehand: a file with one a line, or 0 to N-1",
	  .man = "By default the classes are the labels that occur. A label that is not listed is "
		 "an error, one that never occurs is a class all the same. The order of the lines "
		 "does not count: integers are classes by value, text bytewise. A file whose name "
		 "is a number is ./N. A model with several outputs takes OUTPUT=FILE|N,..., a part "
		 "for each that has a list." },
	{ .name = "normalize",
	  .also = "scale,scaler,standardize,normalization,normalise",
	  .type = NN_OPT_CUSTOM,
	  .offset = offsetof(struct nn_data_options, normalize),
	  .arg = "HOW",
	  .fallback = "auto",
	  .choices = (const char *const[]){ "auto", "none", "standard", "minmax", NULL },
	  .check = check_normalize,
	  .help = "scale inputs: auto, none, standard, minmax or a factor",
	  .man = "auto: columns of numbers are standardized (mean 0, deviation 1 over the training "
		 "rows), pictures (IDX files, u8 arrays of three or more dimensions) "
		 "times 1/255, other arrays taken as they are. standard and minmax (0 to 1) hold "
		 "for "
		 "columns and arrays. What was "
		 "measured is stored in the model." },
	{ .name = "missing",
	  .also = "na,na-values,impute,nan",
	  .type = NN_OPT_CHOICE,
	  .offset = offsetof(struct nn_data_options, missing),
	  .arg = "HOW",
	  .fallback = "error",
	  .choices = missing,
	  .help = "numbers that are missing: error, mean or drop",
	  .man = "Missing is an empty field, NA, N/A, NaN, nan, null, NULL or ?. mean fills it "
		 "with the mean of the values that are there in the training rows; "
		 "the model keeps it, and "
		 "nn-predict does the same. drop leaves such rows out, from training and from "
		 "held-out data; they keep their "
		 "numbers. A missing target is never filled. In a column of text a missing field "
		 "is "
		 "the value \"\"." },
	{ .name = NULL },
};
