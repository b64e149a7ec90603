/*
 * The sandbox of nn-serve: what a server does goes on, what it never does fails. Each claim in a
 * process of its own, since nothing leaves a sandbox.
 */
#include "config.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "files.h"
#include "serve-model.h"
#include "serve/access-log.h"
#include "serve/batch/batch.h"
#include "serve/models/models.h"
#include "serve/sandbox.h"

static const char *const readable[] = { "models", NULL };
static const char *const writable[] = { "logs", NULL };
static const struct nn_sandbox_setup setup = { .read = readable, .write = writable };
static bool has_landlock = true, has_seccomp = true;

/* ---- what a process in it may do ---- */

static bool fails(long status, int error)
{
	if (status < 0 && errno == error)
		return true;
	printf("# status %ld: %s\n", status, strerror(errno));
	return false;
}

static bool models_can_be_read(void)
{
	int fd = open("models/a", O_RDONLY), folder = open("models", O_RDONLY | O_DIRECTORY);

	return fd >= 0 && folder >= 0;
}

static bool other_files_cannot(void)
{
	return fails(open("secret", O_RDONLY), EACCES) &&
	       fails(open("/etc/passwd", O_RDONLY), EACCES);
}

static bool models_cannot_be_written(void)
{
	return fails(open("models/a", O_WRONLY), EACCES) &&
	       fails(open("models/new", O_WRONLY | O_CREAT, 0600), EACCES) &&
	       fails(unlink("models/a"), EACCES);
}

static bool logs_are_written(void)
{
	struct nn_access_log *log;

	return nn_access_log_open(&log, "logs/access", NULL, NULL, NULL) == 0 &&
	       nn_access_log_reopen(log, NULL) == 0 && unlink("logs/access") == 0 &&
	       fails(open("logs/access", O_RDONLY), ENOENT);
}

static bool no_programs(void)
{
	char *const arguments[] = { (char *)"true", NULL };

	return fails(execv("/bin/true", arguments), EPERM) &&
	       fails(syscall(SYS_execveat, -1, "/bin/true", arguments, NULL, 0), EPERM);
}

static bool no_processes(void)
{
	return fails(fork(), EPERM) && fails(syscall(SYS_vfork), EPERM);
}

static bool no_sockets(void)
{
	return fails(socket(AF_INET, SOCK_STREAM, 0), EPERM) &&
	       fails(socket(AF_UNIX, SOCK_STREAM, 0), EPERM);
}

static bool no_looking_into_others(void)
{
	return fails(ptrace(PTRACE_TRACEME, 0, NULL, NULL), EPERM) &&
	       fails(syscall(SYS_process_vm_readv, getppid(), NULL, 0, NULL, 0, 0), EPERM) &&
	       fails(kill(getppid(), SIGTERM), EPERM) && kill(getpid(), 0) == 0;
}

static bool no_other_ways(void)
{
	return fails(syscall(SYS_io_uring_setup, 1, NULL), EPERM) &&
	       fails(syscall(SYS_bpf, 0, NULL, 0), EPERM) &&
	       fails(syscall(SYS_memfd_create, "x", 0), EPERM) &&
	       fails(syscall(SYS_mount, NULL, NULL, NULL, 0, NULL), EPERM) &&
	       fails(syscall(SYS_setuid, 0), EPERM) &&
	       fails(syscall(SYS_chmod, "secret", 0), EPERM) &&
	       fails(syscall(SYS_rename, "models/a", "models/b"), EPERM) &&
	       fails(syscall(0x40000000 | SYS_getpid), EPERM);
}

static bool no_code_is_written(void)
{
	size_t n = 4096;
	void *both = mmap(NULL, n, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	void *data = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return both == MAP_FAILED && data != MAP_FAILED &&
	       fails(mprotect(data, n, PROT_READ | PROT_EXEC), EPERM);
}

static void *count(void *arg)
{
	++*(int *)arg;
	return NULL;
}

static bool threads_start(void)
{
	pthread_t thread;
	int n = 0;

	return pthread_create(&thread, NULL, count, &n) == 0 && pthread_join(thread, NULL) == 0 &&
	       n == 1 && epoll_create1(0) >= 0 && eventfd(0, 0) >= 0;
}

static bool limits_are_set(void)
{
	struct rlimit core, files;

	return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && getrlimit(RLIMIT_CORE, &core) == 0 &&
	       core.rlim_max == 0 && getrlimit(RLIMIT_NOFILE, &files) == 0 &&
	       files.rlim_cur == files.rlim_max;
}

/* ---- in a process of its own ---- */

static bool enters(const struct nn_sandbox_setup *how, struct nn_text *note)
{
	struct nn_error err;

	if (nn_sandbox_enter(how, note, &err) == 0)
		return true;
	printf("# %s\n", err.text);
	return false;
}

static bool in_a_process(bool (*claim)(void *arg), void *arg)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		bool good = claim(arg);

		fflush(stdout);
		_exit(good ? 0 : 1);
	}
	return waitpid(pid, &status, 0) == pid && status == 0;
}

struct probe {
	bool (*holds)(void);
	bool *needs;
	const char *claim;
};

static bool probe_inside(void *arg)
{
	const struct probe *p = arg;
	struct nn_text note = { 0 };

	return enters(&setup, &note) && p->holds();
}

static bool says_nothing(void *arg)
{
	struct nn_text note = { 0 };

	return enters(&setup, &note) && (!note.data || !strstr(note.data, arg));
}

static void everything_is_tried(void)
{
	static const struct probe probes[] = {
		{ models_can_be_read, NULL, "models can be read" },
		{ other_files_cannot, &has_landlock, "other files cannot" },
		{ models_cannot_be_written, &has_landlock, "models cannot be written" },
		{ logs_are_written, NULL, "logs are made, opened anew, and removed; not read" },
		{ no_programs, &has_seccomp, "no programs are started" },
		{ no_processes, &has_seccomp, "nor processes" },
		{ no_sockets, &has_seccomp, "no sockets are made" },
		{ no_looking_into_others, &has_seccomp, "other processes are out of reach" },
		{ no_other_ways, &has_seccomp, "nor is there another way" },
		{ no_code_is_written, &has_seccomp, "memory that was written is no code" },
		{ threads_start, NULL, "threads start, and wait for events" },
		{ limits_are_set, NULL, "no new privileges, no core dumps, no more descriptors" },
	};

	has_landlock = in_a_process(says_nothing, (void *)"Landlock");
	has_seccomp = in_a_process(says_nothing, (void *)"seccomp");
	for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
		struct probe probe = probes[i];

		if (probe.needs && !*probe.needs)
			printf("ok %d - %s # SKIP this kernel, or this build, does without\n", ++n_tests,
			       probe.claim);
		else
			ok(in_a_process(probe_inside, &probe), probe.claim);
	}
}

/* ---- threads that are there already ---- */

static int turn[2];

static void *make_socket(void *arg)
{
	char byte;

	if (read(turn[0], &byte, 1) == 1)
		*(bool *)arg = fails(socket(AF_INET, SOCK_STREAM, 0), EPERM);
	return NULL;
}

static bool older_threads_are_held(void *arg)
{
	struct nn_text note = { 0 };
	pthread_t thread;
	bool held = false;

	(void)arg;
	return pipe(turn) == 0 && pthread_create(&thread, NULL, make_socket, &held) == 0 &&
	       enters(&setup, &note) && write(turn[1], "x", 1) == 1 &&
	       pthread_join(thread, NULL) == 0 && held;
}

/* ---- a server in it ---- */

static bool answers_connections(void *arg)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
	int listening = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	socklen_t n = sizeof at;
	struct nn_text note = { 0 };
	char text[3] = "";
	int server;

	(void)arg;
	if (bind(listening, (struct sockaddr *)&at, sizeof at) < 0 || listen(listening, 5) < 0 ||
	    getsockname(listening, (struct sockaddr *)&at, &n) < 0 ||
	    connect(client, (struct sockaddr *)&at, sizeof at) < 0 || !enters(&setup, &note))
		return false;
	server = accept4(listening, NULL, NULL, SOCK_NONBLOCK);
	return server >= 0 && send(server, "ok", 2, MSG_NOSIGNAL) == 2 &&
	       recv(client, text, 2, 0) == 2 && strcmp(text, "ok") == 0;
}

static int ready[2]; /* from the child: it waits for another model */

static size_t outputs_of(struct nn_models *models)
{
	struct nn_served *served = nn_models_find(models, "m", 1, 0, NULL, NULL);
	size_t n = served ? served->row_out : 0;

	nn_served_release(served);
	return n;
}

/* Watches its model in the sandbox while the parent puts another in its place. */
static bool reloads(void)
{
	struct nn_batcher_setup lanes = {
		.max_batch = 8, .queue = 100, .max_delay = -1, .workers = 2, .loops = 1
	};
	const char *operands[] = { "models/m.safetensors", NULL };
	struct nn_models_setup of_models = { .operands = operands };
	struct nn_sandbox_setup confined = { 0 };
	const char *folders[8] = { NULL };
	struct nn_models *models;
	struct nn_text note = { 0 };
	struct nn_error err = { 0 };
	struct pollfd poll_of;

	confined.read = folders;
	if (nn_batcher_open(&of_models.batcher, &lanes, &err) < 0 ||
	    nn_models_open(&models, &of_models, &err) < 0 || outputs_of(models) != 2) {
		printf("# %s\n", err.text);
		return false;
	}
	poll_of = (struct pollfd){ .fd = nn_models_watch(models, &err), .events = POLLIN };
	for (size_t i = 0; i < 7 && (folders[i] = nn_models_folder(models, i)); i++)
		;
	if (!enters(&confined, &note) || write(ready[1], "x", 1) != 1)
		return false;
	while (outputs_of(models) != 5)
		if (poll(&poll_of, 1, 20000) != 1 || nn_models_watched(models, &err) < 0) {
			printf("# %s\n", err.text);
			return false;
		}
	nn_models_close(models);
	nn_batcher_close(of_models.batcher);
	return true;
}

static void replace_model(void)
{
	struct nn_error err;
	char byte;

	if (read(ready[0], &byte, 1) == 1)
		serve_write_model("models/m.safetensors", "input 3, dense 5", NULL, NULL, NULL,
				  &err);
}

static void models_are_reloaded(void)
{
	struct nn_error err;
	int status;
	pid_t pid;

	if (pipe(ready) < 0 || serve_write_model("models/m.safetensors", "input 3, dense 2", NULL,
						 NULL, NULL, &err) < 0)
		exit(1);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		bool good;

		close(ready[0]);
		good = reloads();
		fflush(stdout);
		_exit(good ? 0 : 1);
	}
	close(ready[1]);
	replace_model();
	ok(waitpid(pid, &status, 0) == pid && status == 0,
	   "models are watched and read anew, batches run");
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	go_to_tmp();
	if (run("mkdir models logs") != 0)
		return 1;
	put("models/a", "x");
	put("secret", "x");
	everything_is_tried();
	if (has_seccomp)
		ok(in_a_process(older_threads_are_held, NULL),
		   "threads that were there before are held as well");
	ok(in_a_process(answers_connections, NULL), "connections are accepted and answered");
	models_are_reloaded();
	return tests_done();
}
