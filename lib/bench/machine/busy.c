/* Waiting for a processor: schedstat of all our threads, stolen time of the machine. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/machine/busy.h"

/*
 * Seconds that the threads of this process waited, ready to run, since they began; NAN where the
 * kernel does not count.
 */
static double waited_s(void)
{
	DIR *tasks = opendir("/proc/self/task");
	double sum = 0;
	int known = 0;

	for (struct dirent *task; tasks && (task = readdir(tasks));) {
		char path[300];
		unsigned long long ran, waited;
		FILE *file;

		if (*task->d_name == '.')
			continue;
		snprintf(path, sizeof path, "/proc/self/task/%s/schedstat", task->d_name);
		file = fopen(path, "re");
		if (file && fscanf(file, "%llu %llu", &ran, &waited) == 2) {
			sum += 1e-9 * (double)waited;
			known++;
		}
		if (file)
			fclose(file);
	}
	if (tasks)
		closedir(tasks);
	return known ? sum : NAN;
}

/* Seconds that a host took from all processors of this machine together. */
static double stolen_s(void)
{
	unsigned long long t[8];
	FILE *file = fopen("/proc/stat", "re");
	int n = file ? fscanf(file, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1],
			      &t[2], &t[3], &t[4], &t[5], &t[6], &t[7])
		     : 0;

	if (file)
		fclose(file);
	return n == 8 ? (double)t[7] / (double)sysconf(_SC_CLK_TCK) : 0;
}

void nn_busy_start(struct nn_busy *busy)
{
	busy->waited_s = waited_s();
	busy->stolen_s = stolen_s();
	busy->started_s = nn_now_s();
}

double nn_busy_share(const struct nn_busy *busy)
{
	double seconds = nn_now_s() - busy->started_s;

	return seconds > 0 ? (waited_s() - busy->waited_s + stolen_s() - busy->stolen_s) / seconds
			   : NAN;
}
