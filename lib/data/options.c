/* The options of everything that reads data: one table for tools and manual. */
#include <string.h>

#include "base/number.h"
#include "data/data.h"

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

static const char *const missing[] = {
	[NN_MISSING_ERROR] = "error", [NN_MISSING_MEAN] = "mean", [NN_MISSING_DROP] = "drop", NULL
};
const char *const nn_header_choices[] = {
	[NN_HEADER_AUTO] = "auto", [NN_HEADER_YES] = "yes", [NN_HEADER_NO] = "no", NULL
};

const struct nn_opt nn_data_opts[] = {
	{ .name = "target",
	  .type = NN_OPT_STRING,
	  .offset = offsetof(struct nn_data_options, target),
	  .arg = "COLUMN,...",
	  .filled = true,
	  .help = "column of a CSV that holds the target",
	  .man = "By name, or by number from 1 where there is no header. A name with a comma "
		 "stands in double quotes. "
		 "Several columns of numbers are one target of that many values." },
	{ .name = "header",
	  .type = NN_OPT_CHOICE,
	  .offset = offsetof(struct nn_data_options, header),
	  .arg = "yes|no",
	  .fallback = "auto",
	  .choices = nn_header_choices,
	  .help = "whether the first row of a CSV is a header",
	  .man = "By default it is one when it has a field that is not a number." },
	{ .name = "normalize",
	  .type = NN_OPT_CUSTOM,
	  .offset = offsetof(struct nn_data_options, normalize),
	  .arg = "HOW",
	  .fallback = "auto",
	  .check = check_normalize,
	  .help = "scale inputs: auto, none, standard, minmax or a factor",
	  .man = "auto: columns of numbers are standardized (mean 0, deviation 1 over the training "
		 "rows), pictures of IDX files "
		 "times 1/255, arrays taken as they are. standard and minmax (0 to 1) hold for "
		 "columns and arrays. What was "
		 "measured is stored in the model." },
	{ .name = "missing",
	  .type = NN_OPT_CHOICE,
	  .offset = offsetof(struct nn_data_options, missing),
	  .arg = "HOW",
	  .fallback = "error",
	  .choices = missing,
	  .help = "an empty field of a number, or nan: error, mean or drop",
	  .man = "mean fills it with the mean of the values that are there in the training rows; "
		 "the model keeps it, and "
		 "nn-predict does the same. drop leaves such rows out, from training and from "
		 "held-out data; they keep their "
		 "numbers. A missing target is never filled. In a column of text an empty field is "
		 "the value \"\"." },
	{ .name = NULL },
};
