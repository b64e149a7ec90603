/* nn-train: train a model from data. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/flush.h"
#include "base/memory.h"
#include "cmd/train.h"
#include "train/convert.h"
#include "train/race.h"
#include "train/try/try.h"

static volatile sig_atomic_t save, show;

/* SIGUSR2: what the input does. */
static void catch_show(int number)
{
	show = number;
}

static void catch_save(int number)
{
	save = number;
}

/*
 * SIGUSR1 and SIGHUP write the state, where one is kept; a hangup that is ignored (nohup) stays
 * ignored.
 */
static void catch_saves(void)
{
	struct sigaction old, action = { .sa_handler = catch_save, .sa_flags = SA_RESTART };

	sigemptyset(&action.sa_mask);
	sigaction(SIGUSR1, &action, NULL);
	action.sa_handler = catch_show;
	sigaction(SIGUSR2, &action, NULL);
	action.sa_handler = catch_save;
	if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
		sigaction(SIGHUP, &action, NULL);
}

/* One rank speaks of what concerns none of them in particular. */
static bool other_speaks(void)
{
	return nn_comm_env_rank() > 0;
}

/* The plan to stdout; 4 where it exceeds a --memory that was given. Outputs are those of the run. */
static int explain(const struct nn_train_setup *setup)
{
	struct nn_text text = { 0 };
	struct nn_error err = { 0 };
	bool fits = true;
	int status = nn_train_explain(setup, &text, &fits, &err);

	if (status == 0)
		fputs(text.data, stdout);
	nn_text_free(&text);
	status = nn_tool_end(status, &err);
	return status == 0 && !fits && setup->train->memory ? NN_ENOMEM : status;
}

/* A finished model written again. */
static int convert(const struct nn_train_setup *setup)
{
	struct nn_error err = { 0 };
	struct nn_tool_log log = { 0 };
	int status = nn_tool_log_open(&log, setup->list, setup->std, &err);

	if (status == 0)
		status = nn_train_convert(setup, &err);
	return nn_tool_end(nn_tool_log_end(&log, status, &err), &err);
}

/* What is no training, or several: --selfcheck, --try, --race. */
static int try_out(struct nn_train_setup *setup)
{
	struct nn_error err = { 0 };
	int stopped = 0, status;

	nn_tool_catch_stop();
	if (setup->train->selfcheck)
		status = nn_train_selfcheck(setup, &stopped, &err);
	else if (setup->train->tries)
		status = nn_try_run(setup, &stopped, &err);
	else
		status = nn_race_run(setup, "/proc/self/exe", &nn_tool_stop, &stopped, &err);
	return status == 0 && stopped ? 128 + stopped : nn_tool_end(status, &err);
}

/* Suggestions beside the error of a training that does not fit, one line each. */
static int give_advice(int status, struct nn_text *advice)
{
	for (char *line = advice->data, *end; line && *line && !other_speaks(); line = end + 1) {
		end = strchr(line, '\n');
		*end = '\0';
		nn_tool_note(NULL, line);
	}
	nn_text_free(advice);
	return status;
}

/* One process, or one of several ranks. */
static int train(struct nn_train_setup *setup, struct nn_ranks_options *ranks)
{
	struct nn_error err = { 0 };
	struct nn_train *t = NULL;
	struct nn_attach *attach = NULL;
	int stopped = 0, status = train_join(setup, ranks, &attach, &err);

	if (status == 0)
		status = nn_train_open(&t, setup, &err);
	nn_tool_catch_stop();
	if (status == 0)
		status = nn_train_run_folds(t, &stopped, &err);
	nn_train_free(t);
	return train_leave(setup, attach, status, stopped, &err);
}

int main(int argc, char **argv)
{
	struct nn_train_options options = { 0 };
	struct nn_data_options data = { 0 };
	struct nn_ranks_options ranks = { 0 };
	struct nn_std_options std = { 0 };
	uint64_t given[6] = { 0 };
	const struct nn_tool_values values[] = {
		{ &options, &given[0] }, { &options, &given[5] }, { &options.ranks, &given[1] },
		{ &ranks, &given[2] },   { &data, &given[3] },    { &std, &given[4] }
	};
	struct nn_opt_table tables[NN_OPT_TABLES];
	struct nn_opt_list list;
	struct nn_error err = { 0 };
	struct nn_text advice = { 0 };
	int n = nn_tool_start(&list, &nn_train_list, values, tables, argc, argv), status;
	struct nn_train_setup setup = {
		.list = &list,
		.train = &options,
		.data = &data,
		.std = &std,
		.host = { .warn = nn_tool_warn,
			  .note = nn_tool_note,
			  .progress = std.quiet ? -1 : STDERR_FILENO,
			  .stop = &nn_tool_stop,
			  .save = &save,
			  .show = &show },
	};
	bool explains = nn_opt_given(&list, "explain"), several = false;

	nn_memory_returns();
	nn_flush_set(true);
	nn_tool_quiet(std.quiet);
	if ((n < 1 && !explains && !nn_train_converts(&setup)) || n > 2)
		return nn_tool_usage(n < 1 ? "no DATA given; - reads standard input"
					   : "%s: expected DATA [TARGETS]",
				     n < 1 ? "" : argv[3]);
	setup.data_path = n > 0 ? argv[1] : NULL;
	setup.targets_path = n == 2 ? argv[2] : NULL;
	status = nn_ranks_check(&ranks, &several, &err);
	setup.ranks = ranks.ranks;
	if (status == 0)
		status = nn_train_check(&setup, &err);
	if (status == 0)
		status = nn_tool_check_devices(std.device, NN_TOOL_ONE, &err);
	if (status < 0 || std.dry_run)
		return nn_tool_end(status, &err);
	if ((explains || options.selfcheck) && other_speaks())
		return 0;
	if (explains)
		return explain(&setup);
	if (n < 1)
		return convert(&setup);
	catch_saves();
	if (options.selfcheck || options.tries || options.race)
		return try_out(&setup);
	setup.advice = &advice;
	if (several && !nn_comm_is_rank())
		status = nn_tool_end(train_launch(&setup, &ranks, &save, &err), &err);
	else
		status = train(&setup, &ranks);
	return give_advice(status, &advice);
}
