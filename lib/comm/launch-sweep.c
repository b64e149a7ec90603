/*
 * What Open MPI leaves in /dev/shm when mpirun was killed: the memory of its ranks, which nobody
 * else removes.
 *
 * Where mpirun was killed, the segments of its own job alone are removed: host, user, job and rank
 * are in the name, and all ranks are gone by then. Open MPI 5 tells ranks no number of its job, so
 * what it leaves stays.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/launch-job.h"

/*
 * Ranks are gone, so that a file of this user, with the number of this job in its name and made
 * since it began, is nobody's.
 */
static void sweep(const struct nn_launch_job *job, const char *host, int rank)
{
	char path[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof path, "/dev/shm/vader_segment.%s.%u.%lx.%d", host,
		 (unsigned)geteuid(), job->number, rank);
	if (lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    st.st_mtime >= job->began)
		unlink(path);
}

void nn_launch_sweep(const struct nn_launch_job *job)
{
	char host[256] = "";

	if (job->number == 0 || gethostname(host, sizeof host - 1) < 0)
		return;
	for (int i = 0; i < job->l->ranks; i++)
		if (job->ranks[i].pid && !job->ranks[i].remote)
			sweep(job, host, i);
}
