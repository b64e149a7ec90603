/*
 * What this process has to compute with: processors by its affinity, cut by the control group's
 * quota.
 */
#include "config.h"
#include <sched.h>

#include "base/cgroup.h"
#include "base/memory.h"
#include "base/pool.h"

/* Processors in the affinity mask, which has as many bits as the kernel was built for. */
static int affinity(void)
{
	for (int most = 1024; most <= 1 << 20; most *= 4) {
		cpu_set_t *set = CPU_ALLOC(most);
		size_t size = CPU_ALLOC_SIZE(most);
		int n = set && sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;

		CPU_FREE(set);
		if (n > 0)
			return n;
	}
	return 1;
}

int nn_cpu_count(void)
{
	int processors = affinity(), most = nn_cgroup_processors();

	return most > 0 && most < processors ? most : processors;
}
