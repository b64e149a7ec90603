/* What the system says of this machine. */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"
#include "bench/machine/machine.h"
#include "device/device.h"

void nn_machine_init(struct nn_machine *machine, int threads)
{
	const struct nn_device *cpu = nn_device_open("cpu", NN_F32, NULL);
	char name[NN_CPU_NAME];

	*machine = (struct nn_machine){ .threads = threads };
	snprintf(machine->cpu, sizeof machine->cpu, "%s%s%s", nn_cpu_name(name), cpu ? " " : "",
		 cpu ? cpu->kind : "");
	for (size_t i = 1; nn_device_there(i); i++) {
		size_t n = strlen(machine->gpu);
		const char *said = nn_device_describe(nn_device_there(i));

		snprintf(machine->gpu + n, sizeof machine->gpu - n, "%s%s", n ? ", " : "",
			 said ? said : nn_device_there(i));
	}
}

/* A line of a file of /sys, "" where there is none. */
static void read_line(const char *path, char *line, int size)
{
	FILE *file = fopen(path, "re");

	*line = '\0';
	if (file && fgets(line, size, file))
		line[strcspn(line, "\n")] = '\0';
	if (file)
		fclose(file);
}

static size_t cache_of_sys(int level)
{
	for (int i = 0; i < 8; i++) {
		char path[96], line[32];
		uint64_t bytes;

		snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
		read_line(path, line, sizeof line);
		if (*line != '0' + level || line[1])
			continue;
		snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
		read_line(path, line, sizeof line);
		if (strcmp(line, "Instruction") == 0)
			continue;
		snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
		read_line(path, line, sizeof line);
		if (nn_parse_size(line, strlen(line), &bytes))
			return bytes;
	}
	return 0;
}

size_t nn_machine_cache(int level)
{
	static const int names[] = { _SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
				     _SC_LEVEL3_CACHE_SIZE };
	size_t bytes = cache_of_sys(level);
	long said = bytes == 0 && level >= 1 && level <= 3 ? sysconf(names[level - 1]) : 0;

	return bytes ? bytes : said > 0 ? (size_t)said : 0;
}

size_t nn_machine_memory(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);

	return pages > 0 && size > 0 ? (size_t)pages * (size_t)size : 0;
}
