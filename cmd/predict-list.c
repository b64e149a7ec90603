/* The option list of nn-predict. */
#include "cmd/tool.h"
#include "predict/predict.h"

static const struct nn_opt_table tables[] = {
	{ "Prediction", nn_predict_opts, NULL, NULL },
	{ "Standard", nn_std_opts, NULL, NULL },
	{ NULL, NULL, NULL, NULL },
};

const struct nn_opt_list nn_predict_list = {
	.tool = "nn-predict",
	.usage = "nn-predict [OPTION]... MODEL [DATA]\n"
		 "nn-predict [OPTION]... -m TEXT WEIGHTS [DATA]\n"
		 "nn-predict [OPTION]... --ensemble=mean MODEL... [DATA]",
	.brief = "Print what MODEL says of each row of DATA or standard input, in order, as the "
		 "rows come.",
	.example = "nn-predict --emit=class iris.st new.csv > classes.csv",
	.tables = tables,
};
