/*
 * Landlock: which files may be opened. By its system calls (Linux 5.13 on), since the C library has
 * no functions for them; its constants are here, since headers may be older than the kernel.
 */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "serve/sandbox.h"

#define CREATE_RULESET 444
#define ADD_RULE 445
#define RESTRICT_SELF 446
#define ASK_VERSION 1u
#define PATH_BENEATH 1

/* Rights, by the version of Landlock that first knew them. */
enum {
	WRITE_FILE = 1 << 1,
	READ_FILE = 1 << 2,
	READ_DIR = 1 << 3,
	REMOVE_FILE = 1 << 5,
	MAKE_REG = 1 << 8,
	MAKE_SOCK = 1 << 9,
	ALL_1 = (1 << 13) - 1,
	REFER_2 = 1 << 13,
	TRUNCATE_3 = 1 << 14,
	IOCTL_5 = 1 << 15,
	NET_4 = 3, /* bind and connect of TCP */
};
#define READ (READ_FILE | READ_DIR)
#define WRITE (WRITE_FILE | MAKE_REG | MAKE_SOCK | REMOVE_FILE)
#define OF_FILES (READ_FILE | WRITE_FILE | TRUNCATE_3 | IOCTL_5) /* what a plain file can have */

struct ruleset {
	uint64_t files, net;
};

struct rule {
	uint64_t rights;
	int32_t parent;
} __attribute__((packed));

/* What the program itself looks at: memory, processors, the time zone, modules opened late. */
static const char *const own[] = { "/proc/meminfo",       "/proc/self",     "/proc/cpuinfo",
				   "/sys/devices/system", "/sys/fs/cgroup", "/dev/null",
				   "/dev/urandom",        "/etc/localtime", NULL };

static const char *const devices[] = { "/dev", NULL };
static const char *const of_drivers[] = { "/proc", "/sys", "/etc", NULL };

/* rights: that this version knows. A path that is not there is left out. */
static int allow(int ruleset, const char *path, uint64_t rights, struct nn_error *err)
{
	struct rule rule = { .parent = open(path, O_PATH | O_CLOEXEC) };
	struct stat s;
	int status;

	if (rule.parent < 0)
		return 0;
	if (fstat(rule.parent, &s) == 0 && !S_ISDIR(s.st_mode))
		rights &= OF_FILES;
	rule.rights = rights;
	status = (int)syscall(ADD_RULE, ruleset, PATH_BENEATH, &rule, 0);
	close(rule.parent);
	return status < 0 ? nn_fail_errno(err, NN_EFAIL, "--sandbox: %s", path) : 0;
}

static int allow_all(int ruleset, const char *const *paths, uint64_t rights, struct nn_error *err)
{
	for (; paths && *paths; paths++)
		if (allow(ruleset, *paths, rights, err) < 0)
			return -1;
	return 0;
}

static uint64_t rights_of(long version)
{
	uint64_t rights = ALL_1;

	if (version >= 2)
		rights |= REFER_2;
	if (version >= 3)
		rights |= TRUNCATE_3;
	if (version >= 5)
		rights |= IOCTL_5;
	return rights;
}

int nn_sandbox_files(const struct nn_sandbox_setup *setup, struct nn_text *note,
		     struct nn_error *err)
{
	long version = syscall(CREATE_RULESET, NULL, 0, ASK_VERSION);
	struct ruleset rules = { .net = NET_4 };
	int ruleset, status;

	if (version < 1) {
		nn_text_add(note, "this kernel has no Landlock: files are not confined. ");
		return 0;
	}
	rules.files = rights_of(version);
	ruleset = (int)syscall(CREATE_RULESET, &rules,
			       version >= 4 ? sizeof rules : sizeof rules.files, 0);
	if (ruleset < 0)
		return nn_fail_errno(err, NN_EFAIL, "--sandbox: Landlock");
	status = allow_all(ruleset, own, READ, err);
	if (status == 0 && setup->device)
		status = allow_all(ruleset, of_drivers, READ, err);
	if (status == 0 && setup->device)
		status = allow_all(ruleset, devices,
				   rules.files & (READ | WRITE_FILE | TRUNCATE_3 | IOCTL_5), err);
	if (status == 0)
		status = allow_all(ruleset, setup->read, READ, err);
	if (status == 0)
		status = allow_all(ruleset, setup->write, WRITE, err);
	if (status == 0 && syscall(RESTRICT_SELF, ruleset, 0) < 0)
		status = nn_fail_errno(err, NN_EFAIL, "--sandbox: Landlock");
	close(ruleset);
	return status;
}
