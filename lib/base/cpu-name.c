/*
 * The processor's name. An x86 says it; an Arm gives numbers of its maker and part for each core,
 * which may be of several kinds.
 */
#include "config.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/pool.h"

#define MOST_KINDS 4
#define ARM 0x41
#define PART(maker, part) ((maker) << 16 | (part))

static const struct {
	uint64_t id;
	const char *name;
} parts[] = {
	{ PART(ARM, 0xd03), "Cortex-A53" },      { PART(ARM, 0xd05), "Cortex-A55" },
	{ PART(ARM, 0xd07), "Cortex-A57" },      { PART(ARM, 0xd08), "Cortex-A72" },
	{ PART(ARM, 0xd09), "Cortex-A73" },      { PART(ARM, 0xd0a), "Cortex-A75" },
	{ PART(ARM, 0xd0b), "Cortex-A76" },      { PART(ARM, 0xd0c), "Neoverse-N1" },
	{ PART(ARM, 0xd0d), "Cortex-A77" },      { PART(ARM, 0xd40), "Neoverse-V1" },
	{ PART(ARM, 0xd41), "Cortex-A78" },      { PART(ARM, 0xd44), "Cortex-X1" },
	{ PART(ARM, 0xd46), "Cortex-A510" },     { PART(ARM, 0xd47), "Cortex-A710" },
	{ PART(ARM, 0xd48), "Cortex-X2" },       { PART(ARM, 0xd49), "Neoverse-N2" },
	{ PART(ARM, 0xd4d), "Cortex-A715" },     { PART(ARM, 0xd4e), "Cortex-X3" },
	{ PART(ARM, 0xd4f), "Neoverse-V2" },     { PART(0x43, 0x0af), "ThunderX2" },
	{ PART(0x46, 0x001), "A64FX" },          { PART(0x48, 0xd01), "Kunpeng-920" },
	{ PART(0x61, 0x022), "Apple Icestorm" }, { PART(0x61, 0x023), "Apple Firestorm" },
	{ PART(0x61, 0x032), "Apple Blizzard" }, { PART(0x61, 0x033), "Apple Avalanche" },
	{ PART(0xc0, 0xac3), "Ampere-1" },
};

struct cores {
	uint64_t maker, id[MOST_KINDS];
	int n[MOST_KINDS], kinds;
};

static void count_core(struct cores *c, uint64_t part)
{
	uint64_t id = PART(c->maker, part);
	int i = 0;

	while (i < c->kinds && c->id[i] != id)
		i++;
	if (i == MOST_KINDS)
		return;
	c->kinds += i == c->kinds;
	c->id[i] = id;
	c->n[i]++;
}

/* "Neoverse-N1", or of several kinds "4 Cortex-A76, 4 Cortex-A55". */
static void write_cores(const struct cores *c, char buffer[NN_CPU_NAME])
{
	size_t at = 0;

	for (int i = 0; i < c->kinds && at < NN_CPU_NAME; i++) {
		char number[48], count[16] = "";
		const char *name = number;

		snprintf(number, sizeof number, "Arm part 0x%03x of maker 0x%02x",
			 (unsigned)(c->id[i] & 0xffff), (unsigned)(c->id[i] >> 16));
		for (size_t p = 0; p < sizeof parts / sizeof *parts; p++)
			if (parts[p].id == c->id[i])
				name = parts[p].name;
		if (c->kinds > 1)
			snprintf(count, sizeof count, "%d ", c->n[i]);
		at += (size_t)snprintf(buffer + at, NN_CPU_NAME - at, "%s%s%s", i ? ", " : "",
				       count, name);
	}
}

static bool is(const char *line, const char *key)
{
	return strncmp(line, key, strlen(key)) == 0;
}

char *nn_cpu_name_in(const char *path, char buffer[NN_CPU_NAME])
{
	FILE *file = fopen(path, "re");
	struct cores cores = { .kinds = 0 };
	char line[256];
	uint64_t number;

	snprintf(buffer, NN_CPU_NAME, "unknown");
	while (file && fgets(line, sizeof line, file)) {
		char *value = strchr(line, ':');

		if (!value)
			continue;
		value += 1 + strspn(value + 1, " \t");
		value[strcspn(value, "\n")] = '\0';
		if (is(line, "model name")) {
			snprintf(buffer, NN_CPU_NAME, "%.*s", NN_CPU_NAME - 1, value);
			break;
		}
		if (!is(value, "0x") || sscanf(value, "%" SCNx64, &number) != 1)
			continue;
		if (is(line, "CPU implementer"))
			cores.maker = number;
		else if (is(line, "CPU part"))
			count_core(&cores, number);
	}
	if (file)
		fclose(file);
	write_cores(&cores, buffer);
	return buffer;
}

char *nn_cpu_name(char buffer[NN_CPU_NAME])
{
	return nn_cpu_name_in("/proc/cpuinfo", buffer);
}
