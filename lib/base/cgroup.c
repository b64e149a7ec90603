/*
 * Limits of control groups, version 2 and 1: the group of this process and all above it, as far as
 * they are mounted.
 */
#include "config.h"
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/cgroup.h"

#define ROOT "/sys/fs/cgroup"

/* The first number of a file, as long as it begins with one ("max" does not). */
static bool read_number(const char *folder, const char *file, uint64_t *value)
{
	char path[PATH_MAX];
	FILE *f;
	unsigned long long number;
	bool ok;

	if (snprintf(path, sizeof path, "%s/%s", folder, file) >= (int)sizeof path ||
	    !(f = fopen(path, "re")))
		return false;
	ok = fscanf(f, "%llu", &number) == 1;
	fclose(f);
	*value = number;
	return ok;
}

/* The number after KEY in a file of lines "key number"; 0 if there is none. */
static uint64_t read_key(const char *folder, const char *file, const char *key)
{
	char path[PATH_MAX], name[64];
	unsigned long long number = 0, found = 0;
	FILE *f;

	if (snprintf(path, sizeof path, "%s/%s", folder, file) >= (int)sizeof path ||
	    !(f = fopen(path, "re")))
		return 0;
	while (fscanf(f, "%63s %llu", name, &number) == 2)
		if (strcmp(name, key) == 0)
			found = number;
	fclose(f);
	return found;
}

/* Is WORD one of the comma-separated words of list? */
static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (strcspn(list, ",") == n && strncmp(list, word, n) == 0)
			return true;
	return false;
}

/*
 * The path of this process in the hierarchy of `controller` ("" for version 2) from
 * /proc/self/cgroup, lines `ID:CONTROLLERS:PATH`; "/" where it does not say.
 */
static void own_path(const char *controller, char path[PATH_MAX])
{
	char line[PATH_MAX + 128];
	FILE *f = fopen("/proc/self/cgroup", "re");

	strcpy(path, "/");
	while (f && fgets(line, sizeof line, f)) {
		char *list = strchr(line, ':'), *end = list ? strchr(list + 1, ':') : NULL;

		if (!end)
			continue;
		*end++ = '\0';
		end[strcspn(end, "\n")] = '\0';
		if (*controller ? has_word(list + 1, controller) : list[1] == '\0')
			snprintf(path, PATH_MAX, "%s", end);
	}
	if (f)
		fclose(f);
}

/*
 * Call `look` with the folder of the own group and of each above it. Inside a container the path
 * may be the host's, which is not there: then only the folders that are count, the mount point
 * among them.
 */
static void each_group(const char *mount, const char *controller,
		       void (*look)(const char *folder, void *least), void *least)
{
	char folder[2 * PATH_MAX], path[PATH_MAX];
	size_t root = strlen(mount);

	own_path(controller, path);
	snprintf(folder, sizeof folder, "%s%s", mount, path);
	for (;;) {
		char *slash = strrchr(folder + root, '/');

		look(folder, least);
		if (!slash)
			return;
		*slash = '\0';
	}
}

static void lower(size_t *least, uint64_t limit, uint64_t used, uint64_t droppable)
{
	uint64_t left;

	used -= droppable < used ? droppable : used;
	left = limit > used ? limit - used : 0;
	if (left < *least)
		*least = (size_t)left;
}

static void memory_v2(const char *folder, void *least)
{
	uint64_t limit, used;

	if (read_number(folder, "memory.max", &limit) &&
	    read_number(folder, "memory.current", &used))
		lower(least, limit, used, read_key(folder, "memory.stat", "inactive_file"));
}

static void memory_v1(const char *folder, void *least)
{
	uint64_t limit, used;

	if (read_number(folder, "memory.limit_in_bytes", &limit) &&
	    read_number(folder, "memory.usage_in_bytes", &used))
		lower(least, limit, used, read_key(folder, "memory.stat", "total_inactive_file"));
}

size_t nn_cgroup_memory_left(void)
{
	size_t least = SIZE_MAX;

	each_group(ROOT, "", memory_v2, &least);
	each_group(ROOT "/memory", "memory", memory_v1, &least);
	return least;
}

static void quota(uint64_t most, uint64_t period, int *least)
{
	uint64_t processors = period ? most / period + (most % period != 0) : 0;

	if (processors > 0 && processors < INT_MAX && (*least == 0 || (int)processors < *least))
		*least = (int)processors;
}

static void processors_v2(const char *folder, void *least)
{
	char path[PATH_MAX];
	unsigned long long most, period;
	FILE *f;

	if (snprintf(path, sizeof path, "%s/cpu.max", folder) >= (int)sizeof path ||
	    !(f = fopen(path, "re")))
		return;
	if (fscanf(f, "%llu %llu", &most, &period) == 2) /* "max 100000": none */
		quota(most, period, least);
	fclose(f);
}

static void processors_v1(const char *folder, void *least)
{
	uint64_t most, period;

	/* No quota is -1, which reads as a number larger than any. */
	if (read_number(folder, "cpu.cfs_quota_us", &most) &&
	    read_number(folder, "cpu.cfs_period_us", &period) && most < INT64_MAX)
		quota(most, period, least);
}

int nn_cgroup_processors(void)
{
	int least = 0;

	each_group(ROOT, "", processors_v2, &least);
	each_group(ROOT "/cpu", "cpu", processors_v1, &least);
	return least;
}
