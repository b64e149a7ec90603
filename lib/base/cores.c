/* How many threads this process may use: its affinity, cut by the cgroup's quota. */
#include "config.h"
#include <sched.h>
#include <stdio.h>

#include "base/pool.h"

/* Cores that the cgroup's quota is worth, rounded up; 0: no quota. */
static int quota(void)
{
	long long max = 0, period = 0;
	FILE *file = fopen("/sys/fs/cgroup/cpu.max", "re");

	if (file) {
		if (fscanf(file, "%lld %lld", &max, &period) != 2)
			max = 0;                 /* "max": none */
		fclose(file);
		return max > 0 && period > 0 ? (int)((max + period - 1) / period) : 0;
	}
	file = fopen("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "re");
	if (!file)
		return 0;
	if (fscanf(file, "%lld", &max) != 1)
		max = 0;
	fclose(file);
	file = fopen("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "re");
	if (file) {
		if (fscanf(file, "%lld", &period) != 1)
			period = 0;
		fclose(file);
	}
	return max > 0 && period > 0 ? (int)((max + period - 1) / period) : 0;
}

int nn_cpu_count(void)
{
	cpu_set_t set;
	int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1, most = quota();

	if (most > 0 && most < cores)
		cores = most;
	return cores > 0 ? cores : 1;
}
