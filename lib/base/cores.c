/*
 * What this process has to compute with: processors by its affinity, cut by the control group's
 * quota, and their name.
 */
#include "config.h"
#include <sched.h>
#include <stdio.h>
#include <string.h>

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

char *nn_cpu_name(char buffer[NN_CPU_NAME])
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char line[256];

	snprintf(buffer, NN_CPU_NAME, "unknown");
	while (file && fgets(line, sizeof line, file)) {
		char *name = strchr(line, ':');

		if (strncmp(line, "model name", 10) != 0 || !name)
			continue;
		name += 1 + strspn(name + 1, " \t");
		name[strcspn(name, "\n")] = '\0';
		snprintf(buffer, NN_CPU_NAME, "%.*s", NN_CPU_NAME - 1, name);
		break;
	}
	if (file)
		fclose(file);
	return buffer;
}
