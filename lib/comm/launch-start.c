/*
 * Starting mpirun: found in PATH, with what local runs need, and refused as root unless the user
 * said so.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "comm/launch.h"

extern char **environ;

/* The first executable of that name in PATH. */
static bool find(const char *name, char path[PATH_MAX])
{
	const char *list = getenv("PATH");

	for (const char *at = list ? list : "/usr/local/bin:/usr/bin:/bin"; *at;) {
		size_t n = strcspn(at, ":");

		if (n > 0 && snprintf(path, PATH_MAX, "%.*s/%s", (int)n, at, name) < PATH_MAX &&
		    access(path, X_OK) == 0)
			return true;
		at += n + (at[n] == ':');
	}
	return false;
}

/*
 * Hosts and users of the file become arguments of ssh, so none may look like an option. mpirun
 * reads the file once more.
 */
static int check_hostfile(const char *path, struct nn_error *err)
{
	char *line = NULL, *word, quoted[NN_QUOTED];
	struct stat is;
	size_t room = 0;
	FILE *file;
	int status = 0;

	if (stat(path, &is) == 0 && !S_ISREG(is.st_mode))
		return nn_fail(err, NN_EFAIL, "--hostfile=%s: expected a regular file", path);
	file = fopen(path, "re");
	if (!file)
		return nn_fail_errno(err, NN_EFAIL, "--hostfile=%s: cannot open", path);
	for (int number = 1; status == 0 && getline(&line, &room, file) >= 0; number++) {
		char *rest = line;

		line[strcspn(line, "#\r\n")] = '\0';
		while (status == 0 && (word = strsep(&rest, " \t=")))
			if (*word == '-')
				status = nn_fail(err, NN_EFAIL,
						 "%s:%d: expected HOST slots=N, found %s", path,
						 number, nn_quote(quoted, word, strlen(word)));
	}
	free(line);
	fclose(file);
	return status;
}

/* Of a rank that has nothing to do yet, what it shares with no other: 4.3 MiB were measured. */
#define RANK_BYTES ((size_t)4 << 20)

static int check(const struct nn_launch *l, char mpirun[PATH_MAX], struct nn_error *err)
{
	size_t need = RANK_BYTES * (size_t)l->ranks, there = nn_memory_available();

	if (!find("mpirun", mpirun))
		return nn_fail(err, NN_ENODEV,
			       "--ranks=%d: mpirun is not installed (Debian: openmpi-bin)",
			       l->ranks);
	if (geteuid() == 0 &&
	    !(getenv("OMPI_ALLOW_RUN_AS_ROOT") && getenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")))
		return nn_fail(err, NN_ENODEV,
			       "--ranks=%d: mpirun refuses to run as root; set "
			       "OMPI_ALLOW_RUN_AS_ROOT=1 and "
			       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 if that is what you want",
			       l->ranks);
	if (nn_launch_local(l) && need > there)
		return nn_fail(err, NN_ENOMEM,
			       "--ranks=%d: these processes need %zu bytes before they have any "
			       "data, %zu are available",
			       l->ranks, need, there);
	return l->hostfile ? check_hostfile(l->hostfile, err) : 0;
}

/* A list of arguments or variables that grows; the strings are its own. */
struct list {
	char **strings;
	size_t n;
	bool failed;
};

static void add(struct list *list, const char *string)
{
	char **strings = nn_realloc(list->strings, list->n * sizeof *strings,
				    (list->n + 2) * sizeof *strings, NULL);

	if (!strings || !(strings[list->n] = nn_strdup(string, NULL))) {
		list->strings = strings ? strings : list->strings;
		list->failed = true;
		return;
	}
	list->strings = strings;
	strings[++list->n] = NULL;
}

static void add_free(struct list *list)
{
	for (size_t i = 0; i < list->n; i++)
		nn_free(list->strings[i]);
	nn_free(list->strings);
}

/* A parameter of Open MPI, unless the user's environment holds it. */
static void add_parameter(struct list *list, const char *name, const char *value)
{
	char variable[80];

	snprintf(variable, sizeof variable, "OMPI_MCA_%s", name);
	if (getenv(variable))
		return;
	add(list, "--mca");
	add(list, name);
	add(list, value);
}

bool nn_launch_local(const struct nn_launch *l)
{
	static const char *const batch[] = { "SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID",
					     "PE_HOSTFILE" };

	for (size_t i = 0; i < sizeof batch / sizeof *batch; i++)
		if (getenv(batch[i]))
			return false;
	return !l->hosts && !l->hostfile;
}

/* mpirun of Open MPI 5 and later starts prterun, which stands beside it. */
static bool starts_prterun(const char *mpirun)
{
	char path[PATH_MAX];
	int n = (int)(strrchr(mpirun, '/') - mpirun);

	return snprintf(path, sizeof path, "%.*s/prterun", n, mpirun) < (int)sizeof path &&
	       access(path, X_OK) == 0;
}

/*
 * Shared memory between ranks, mpirun's own connection on the loopback interface alone, and more
 * ranks than cores if the user says so. prterun has no start without ssh that must be asked for,
 * and takes no loopback interface.
 */
static void add_local(struct list *list, const char *mpirun)
{
	char path[PATH_MAX];

	add(list, "--oversubscribe");
	add_parameter(list, "pml", "ob1"); /* no search for fast networks: half of a rank's start */
	add_parameter(list, "btl", "self,vader");
	add_parameter(list, "btl_tcp_if_include", "lo");
	if (starts_prterun(mpirun))
		return;
	add_parameter(list, "oob_tcp_if_include", "lo");
	add_parameter(list, "oob_tcp_disable_ipv6_family", "1");
	if (!find("ssh", path) && !find("rsh", path))
		add_parameter(list, "plm", "isolated");
}

/* Where, as the user or the batch system says; and what ranks there need of the environment. */
static void add_hosts(struct list *list, const struct nn_launch *l)
{
	static const char *const names[] = { "NN_LAUNCH", "NN_CPU", "NN_MODULE_PATH",
					     "XDG_CACHE_HOME", "TMPDIR" };

	if (l->hosts) {
		add(list, "--host");
		add(list, l->hosts);
	}
	if (l->hostfile) {
		add(list, "--hostfile");
		add(list, l->hostfile);
	}
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (i == 0 || getenv(names[i])) {
			add(list, "-x");
			add(list, names[i]);
		}
}

/* Ranks are not bound: all threads of one would share a core. */
static void add_arguments(struct list *list, const struct nn_launch *l, const char *mpirun,
			  const char *self)
{
	char number[16];

	snprintf(number, sizeof number, "%d", l->ranks);
	add(list, mpirun);
	add(list, "-n");
	add(list, number);
	add(list, "--stdin");
	add(list, "none");
	add(list, "--bind-to");
	add(list, "none");
	if (nn_launch_local(l))
		add_local(list, mpirun);
	else
		add_hosts(list, l);
	add(list, self);
	/* a word `:` begins another program of mpirun's; only an operand can be one */
	for (char *const *arg = l->argv + 1; *arg; arg++)
		add(list, strcmp(*arg, ":") == 0 ? "./:" : *arg);
}

/*
 * Batch systems and service managers send SIGTERM to all processes at once, after which mpirun
 * would kill ranks that write their state: it is blocked there (not in ranks, for which mpirun
 * unblocks all), and NN_LAUNCH_END is what ends it.
 */
static int spawn(char *const *argv, char *const *environment, int out, pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t defaults, blocked;
	int status = posix_spawn_file_actions_init(&files);

	if (status != 0)
		return status;
	status = posix_spawnattr_init(&attributes);
	if (status == 0) {
		sigemptyset(&defaults);
		sigaddset(&defaults, SIGPIPE);
		sigaddset(&defaults, SIGXFSZ);
		posix_spawnattr_setsigdefault(&attributes, &defaults);
		sigemptyset(&blocked);
		sigaddset(&blocked, SIGTERM);
		posix_spawnattr_setsigmask(&attributes, &blocked);
		posix_spawnattr_setpgroup(&attributes, 0);
		posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP |
							      POSIX_SPAWN_SETSIGDEF |
							      POSIX_SPAWN_SETSIGMASK);
		posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
		posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
		posix_spawn_file_actions_adddup2(&files, out, STDERR_FILENO);
		status = posix_spawn(pid, argv[0], &files, &attributes, argv, environment);
		posix_spawnattr_destroy(&attributes);
	}
	posix_spawn_file_actions_destroy(&files);
	return status;
}

/* What options hold already, and the socket of another. */
static bool is_ours(const char *variable)
{
	static const char *const names[] = { "NN_DEVICE=", "NN_THREADS=", "NN_LAUNCH=" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strncmp(variable, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

int nn_launch_start(const struct nn_launch *l, const char *name, pid_t *pid, int *out,
		    struct nn_error *err)
{
	char mpirun[PATH_MAX], self[PATH_MAX] = "", variable[NN_LAUNCH_NAME + 16];
	struct list argv = { 0 }, environment = { 0 };
	int ends[2] = { -1, -1 }, status = -1;

	if (check(l, mpirun, err) < 0)
		return -1;
	if (readlink("/proc/self/exe", self, sizeof self - 1) < 0)
		return nn_fail_errno(err, NN_EFAIL, "/proc/self/exe");
	add_arguments(&argv, l, mpirun, self);
	for (char **e = environ; *e; e++)
		if (!is_ours(*e))
			add(&environment, *e);
	snprintf(variable, sizeof variable, "NN_LAUNCH=%s", name);
	add(&environment, variable);
	/* no search for network cards: a third of what is left */
	if (nn_launch_local(l) && !getenv("HWLOC_COMPONENTS"))
		add(&environment, "HWLOC_COMPONENTS=-pci,-linuxio");
	if (argv.failed || environment.failed) {
		nn_fail(err, NN_ENOMEM, "cannot allocate memory to start mpirun");
	} else if (pipe2(ends, O_CLOEXEC) < 0) {
		nn_fail_errno(err, NN_EFAIL, "cannot make a pipe");
	} else {
		errno = spawn(argv.strings, environment.strings, ends[1], pid);
		status = errno ? nn_fail_errno(err, NN_ENODEV, "%s", mpirun) : 0;
		close(ends[1]);
		if (status < 0)
			close(ends[0]);
		else
			*out = ends[0];
	}
	add_free(&argv);
	add_free(&environment);
	return status;
}

/* "mpirun noticed that process rank 1 with PID 4711 on node here exited on signal 9 (Killed)." */
int nn_launch_signal(const char *words, int rank, long pid)
{
	char process[60];
	const char *at;
	int number;

	snprintf(process, sizeof process, "with PID %ld on", pid);
	at = strstr(words, process);
	if (!at) {
		snprintf(process, sizeof process, "process rank %d with PID 0 on", rank);
		at = strstr(words, process);
	}
	at = at ? strstr(at, "exited on signal ") : NULL;
	return at && sscanf(at, "exited on signal %d", &number) == 1 ? number : 0;
}
