/*
 * seccomp: which system calls may be made, as a program of the kernel's packet filter that compares
 * their numbers one after the other. Everything else fails with EPERM, clone3 with ENOSYS: then the
 * C library makes threads with clone, whose flags a filter can see.
 */
#include "config.h"
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "serve/sandbox.h"

#define X32 0x40000000u /* calls of the x32 interface */
#define MOST 600

/* The busiest first. No sockets are made, bound or connected; no programs or processes started. */
static const int allowed[] = {
#ifdef SYS_open /* older forms of calls below; Arm began without them */
	SYS_epoll_wait, SYS_poll, SYS_select, SYS_time, SYS_open, SYS_stat, SYS_lstat, SYS_readlink,
	SYS_access, SYS_dup2, SYS_unlink,
#endif
	/* sockets that are there */
	SYS_epoll_pwait, SYS_epoll_ctl, SYS_recvfrom, SYS_sendto, SYS_sendmsg, SYS_recvmsg,
	SYS_accept4, SYS_accept, SYS_shutdown, SYS_setsockopt, SYS_getsockopt, SYS_getsockname,
	SYS_getpeername, SYS_sendfile, SYS_epoll_create1, SYS_epoll_pwait2,
	/* waiting and time */
	SYS_futex, SYS_ppoll, SYS_pselect6, SYS_nanosleep, SYS_clock_nanosleep, SYS_clock_gettime,
	SYS_clock_getres, SYS_gettimeofday, SYS_eventfd2, SYS_pipe2, SYS_timerfd_create,
	SYS_timerfd_settime, SYS_timerfd_gettime, SYS_restart_syscall,
	/* files */
	SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_openat,
	SYS_close, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_lseek, SYS_getdents64, SYS_readlinkat,
	SYS_getcwd, SYS_faccessat, SYS_faccessat2, SYS_fcntl, SYS_dup, SYS_dup3, SYS_flock,
	SYS_fsync, SYS_fdatasync, SYS_fadvise64, SYS_unlinkat, SYS_inotify_init1,
	SYS_inotify_add_watch, SYS_inotify_rm_watch, SYS_umask,
	/* memory */
	SYS_munmap, SYS_mremap, SYS_madvise, SYS_brk, SYS_mincore, SYS_mlock, SYS_munlock,
	SYS_get_mempolicy,
	/* threads and signals */
	SYS_set_robust_list, SYS_get_robust_list, SYS_rseq, SYS_set_tid_address, SYS_gettid,
	SYS_getpid, SYS_getppid, SYS_exit, SYS_exit_group, SYS_sched_yield, SYS_sched_getaffinity,
	SYS_sched_setaffinity, SYS_sched_getparam, SYS_sched_getscheduler, SYS_getcpu,
	SYS_membarrier, SYS_wait4, SYS_waitid, SYS_rt_sigaction, SYS_rt_sigprocmask,
	SYS_rt_sigreturn, SYS_rt_sigtimedwait, SYS_rt_sigpending, SYS_rt_sigsuspend,
	SYS_sigaltstack, SYS_signalfd4,
	/* what is known of the process and the machine */
	SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getrusage, SYS_getrlimit, SYS_times,
	SYS_sysinfo, SYS_uname, SYS_getrandom
};

/* A call that is allowed if (argument & mask) == value, or with `unless` if not. */
struct call {
	int number;
	unsigned argument;
	uint32_t mask, value;
	bool unless;
};

#define WRITTEN_CODE (PROT_WRITE | PROT_EXEC)

static const struct call always[] = {
	{ SYS_clone, 0, CLONE_THREAD, CLONE_THREAD, false }, /* no processes */
	{ SYS_prctl, 0, ~0u, PR_SET_NAME, false },
	{ SYS_prctl, 0, ~0u, PR_GET_NO_NEW_PRIVS, false },
	{ SYS_prctl, 0, ~0u, 0x53564d41, false }, /* PR_SET_VMA: names of memory */
	{ SYS_prlimit64, 2, ~0u, 0, false },      /* asking, not setting */
};

/* Memory is written or code, never both in turn: libraries are mapped as code at once. */
static const struct call of_cpu[] = {
	{ SYS_mmap, 2, WRITTEN_CODE, WRITTEN_CODE, true },
	{ SYS_mprotect, 2, PROT_EXEC, PROT_EXEC, true },
	{ SYS_ioctl, 1, ~0u, FIONREAD, false },
	{ SYS_ioctl, 1, ~0u, FIONBIO, false },
	{ SYS_ioctl, 1, ~0u, TCGETS, false },
};

static const struct call of_device[] = {
	{ SYS_mmap, 2, 0, 1, true }, /* any */
	{ SYS_mprotect, 2, 0, 1, true },
	{ SYS_ioctl, 1, ~0u, TIOCSTI, true }, /* typing into a terminal */
};
#define N(list) (sizeof(list) / sizeof *(list))

/* ---- the program ---- */

struct filter {
	struct sock_filter code[MOST];
	unsigned short n;
};

static void put(struct filter *f, unsigned code, unsigned k, unsigned yes, unsigned no)
{
	if (f->n < MOST)
		f->code[f->n++] =
			(struct sock_filter){ (uint16_t)code, (uint8_t)yes, (uint8_t)no, k };
}

static void load(struct filter *f, size_t offset)
{
	put(f, BPF_LD | BPF_W | BPF_ABS, (unsigned)offset, 0, 0);
}

static void end(struct filter *f, unsigned what)
{
	put(f, BPF_RET | BPF_K, what, 0, 0);
}

static void load_number(struct filter *f)
{
	load(f, offsetof(struct seccomp_data, nr));
}

/* The call's number is loaded before and after. */
static void put_call(struct filter *f, const struct call *call)
{
	put(f, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call->number, 0, 5);
	load(f, offsetof(struct seccomp_data, args) + 8 * (size_t)call->argument);
	put(f, BPF_ALU | BPF_AND | BPF_K, call->mask, 0, 0);
	put(f, BPF_JMP | BPF_JEQ | BPF_K, call->value, call->unless, !call->unless);
	end(f, SECCOMP_RET_ALLOW);
	load_number(f);
}

static void put_calls(struct filter *f, const struct call *calls, size_t n)
{
	for (size_t i = 0; i < n; i++)
		put_call(f, &calls[i]);
}

static void put_own_signals(struct filter *f)
{
	const struct call own[] = { { SYS_tgkill, 0, ~0u, (uint32_t)getpid(), false },
				    { SYS_kill, 0, ~0u, (uint32_t)getpid(), false } };

	put_calls(f, own, N(own));
}

static void write_filter(struct filter *f, const struct nn_sandbox_setup *setup)
{
	load(f, offsetof(struct seccomp_data, arch));
	put(f, BPF_JMP | BPF_JEQ | BPF_K, NN_AUDIT_ARCH, 1, 0);
	end(f, SECCOMP_RET_KILL_PROCESS);
	load_number(f);
	put(f, BPF_JMP | BPF_JGE | BPF_K, X32, 0, 1);
	end(f, SECCOMP_RET_ERRNO | EPERM);
	for (size_t i = 0; i < N(allowed); i++) {
		put(f, BPF_JMP | BPF_JEQ | BPF_K, (unsigned)allowed[i], 0, 1);
		end(f, SECCOMP_RET_ALLOW);
	}
	put_calls(f, always, N(always));
	put_own_signals(f);
	if (setup->device)
		put_calls(f, of_device, N(of_device));
	else
		put_calls(f, of_cpu, N(of_cpu));
	put(f, BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
	end(f, SECCOMP_RET_ERRNO | ENOSYS);
	end(f, SECCOMP_RET_ERRNO | EPERM);
}

/* There where the program was built with it: it looks for leaks with ptrace when all is over. */
extern void __asan_init(void) __attribute__((weak));

int nn_sandbox_calls(const struct nn_sandbox_setup *setup, struct nn_text *note,
		     struct nn_error *err)
{
	struct filter filter = { .n = 0 };
	struct sock_fprog program = { .filter = filter.code };
	long status;

	if (__asan_init) {
		nn_text_add(note, "AddressSanitizer and seccomp exclude each other. ");
		return 0;
	}
	if (!NN_AUDIT_ARCH) {
		nn_text_add(note, "system calls are not confined on this kind of CPU. ");
		return 0;
	}
	write_filter(&filter, setup);
	if (filter.n == MOST)
		NN_BUG("%d instructions are too few", MOST);
	program.len = filter.n;
	status = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
	if (status < 0 && (errno == ENOSYS || errno == EINVAL)) {
		nn_text_add(note, "this kernel has no seccomp: system calls are not confined. ");
		return 0;
	}
	if (status > 0)
		return nn_fail(err, NN_EFAIL,
			       "--sandbox: seccomp: a thread has a filter of its own");
	return status < 0 ? nn_fail_errno(err, NN_EFAIL, "--sandbox: seccomp") : 0;
}
