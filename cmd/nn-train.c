/* nn-train: train a model from data. */
#include <unistd.h>

#include "cmd/tool.h"
#include "train/train.h"

static volatile sig_atomic_t save;

static void catch_save(int number)
{
	save = number;
}

/* SIGUSR1 and SIGHUP write the state; a hangup that is ignored (nohup) stays ignored. */
static void catch_saves(void)
{
	struct sigaction old, action = { .sa_handler = catch_save, .sa_flags = SA_RESTART };

	sigemptyset(&action.sa_mask);
	sigaction(SIGUSR1, &action, NULL);
	if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
}

int main(int argc, char **argv)
{
	struct nn_train_options options = {0};
	struct nn_data_options data = {0};
	struct nn_std_options std = {0};
	uint64_t given[3] = {0};
	const struct nn_tool_values values[] = { { &options, &given[0] }, { &data, &given[1] }, { &std, &given[2] } };
	struct nn_opt_table tables[NN_OPT_TABLES];
	struct nn_opt_list list;
	struct nn_error err = {0};
	struct nn_train *train = NULL;
	int n = nn_tool_start(&list, &nn_train_list, values, tables, argc, argv), stopped = 0, status;
	struct nn_train_setup setup = {
		.list = &list, .train = &options, .data = &data, .std = &std,
		.host = { nn_tool_warn, nn_tool_note, NULL, std.quiet ? -1 : STDERR_FILENO, &nn_tool_stop, &save },
	};

	nn_tool_quiet(std.quiet);
	if (n < 1 || n > 2)
		return nn_tool_usage(n < 1 ? "no DATA given; - reads standard input" : "%s: expected DATA [TARGETS]",
				     n < 1 ? "" : argv[3]);
	setup.data_path = argv[1];
	setup.targets_path = n == 2 ? argv[2] : NULL;
	status = nn_train_check(&setup, &err);
	if (status < 0 || std.dry_run)
		return nn_tool_end(status, &err);
	catch_saves();
	status = nn_train_open(&train, &setup, &err);
	nn_tool_catch_stop();
	if (status == 0)
		status = nn_train_run(train, &stopped, &err);
	nn_train_free(train);
	if (status == 0 && stopped)
		return 128 + stopped;
	return nn_tool_end(status, &err);
}
