/*
 * What the environment says of this process's ranks, before any of them is met: mpirun's and srun's
 * variables.
 *
 * Tasks of srun that are not ranks (no PMIx) are status 2: N processes would each do the whole
 * work and write the same files. With --ranks=1 each works alone; a shell of srun --pty
 * (SLURM_PTY_PORT) is not such a task.
 */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "comm/comm.h"

/* The first of the variables that holds a whole number. */
static int env_number(const char *const *names, int otherwise)
{
	for (; *names; names++) {
		const char *text = getenv(*names);
		uint64_t n;

		if (text && nn_parse_u64(text, strlen(text), &n) && n <= 1000000)
			return (int)n;
	}
	return otherwise;
}

int nn_comm_env_rank(void)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_RANK", "PMIX_RANK", NULL };

	return env_number(names, 0);
}

/* srun sets PMIX_RANK without a size of its own. */
int nn_comm_env_size(void)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS",
					     "SLURM_NTASKS", NULL };

	return nn_comm_is_rank() ? env_number(names, 0) : 1;
}

bool nn_comm_env_unwatched(void)
{
	return getenv("PMIX_RANK") && !getenv("OMPI_COMM_WORLD_RANK") && !getenv("NN_LAUNCH");
}

bool nn_comm_crowded(void)
{
	static const char *const names[] = { "OMPI_COMM_WORLD_LOCAL_SIZE", NULL };

	return env_number(names, 1) > sysconf(_SC_NPROCESSORS_ONLN);
}

bool nn_comm_is_rank(void)
{
	return getenv("OMPI_COMM_WORLD_RANK") || getenv("PMIX_RANK");
}

/* What Open MPI may carry bytes with, as a user chose it; NULL: its own choice. */
static const char *carriers(void)
{
	return getenv("OMPI_MCA_btl");
}

bool nn_comm_shares_memory(void)
{
	const char *list = carriers();
	bool named;

	if (!list)
		return true;
	named = strstr(list, "vader") || strstr(list, "sm");
	return *list == '^' ? !named : named;
}

/*
 * srun without PMIx numbers its tasks and no more. A shell that srun --pty opened is one of them,
 * and what is called there by hand is not.
 */
int nn_comm_env_tasks(void)
{
	static const char *const names[] = { "SLURM_STEP_NUM_TASKS", NULL };

	return nn_comm_is_rank() || getenv("SLURM_PTY_PORT") ? 1 : env_number(names, 1);
}

void nn_comm_key(char key[NN_COMM_KEY], const char *what, int ranks)
{
	const char *list = carriers(), *of_launch = nn_comm_is_rank() ? "" : "self,vader";

	snprintf(key, NN_COMM_KEY, "%s ranks=%d btl=%s", what, ranks, list ? list : of_launch);
}
