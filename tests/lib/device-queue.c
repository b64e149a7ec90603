/* What a device with memory of its own promises of its queue: order, waits, failures, recordings.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "device/apart.h"
#include "tap.h"

#define N 8

static const struct nn_device *device;
static struct nn_apart *apart;
static struct nn_queue *queue;
static struct nn_error err;

static struct nn_mirror mirror_of(struct nn_queue *q, const float *values)
{
	struct nn_mirror m;

	if (nn_mirror_new(&m, q, N * sizeof *values, &err) < 0)
		exit(1);
	memcpy(nn_mirror_write(&m, q), values, N * sizeof *values);
	nn_mirror_send(&m, q, 0, N * sizeof *values);
	return m;
}

static const float *read_back(struct nn_mirror *m)
{
	nn_mirror_fetch(m, queue, 0, N * sizeof(float));
	nn_queue_wait(queue, NULL);
	return m->host;
}

static void check_order(void)
{
	static const float one[N] = { 1, 1, 1 }, two[N] = { 2, 2, 2 };
	struct nn_mirror a = mirror_of(queue, one), b = mirror_of(queue, two);
	struct nn_mirror sum;

	if (nn_mirror_new(&sum, queue, sizeof(double), &err) < 0)
		exit(1);
	device->add(queue, a.there, b.there, N, NULL);
	device->sum(queue, a.there, N, sum.there);
	nn_mirror_fetch(&sum, queue, 0, sizeof(double));
	ok(*(double *)sum.host == 0, "queue: a result is there after a wait, not before");
	nn_queue_wait(queue, &err);
	ok(*(double *)sum.host == 9, "queue: work is done in the order in which it was asked for");
	((float *)a.host)[0] = 7;
	nn_queue_copy(queue, b.there, a.there, N * sizeof(float));
	ok(read_back(&b)[0] == 3, "queue: memory of the host is not the device's");
	nn_queue_clear(queue, b.there, N * sizeof(float));
	ok(read_back(&b)[2] == 0, "queue: clear");
	((float *)a.host)[0] = 5;
	nn_mirror_send(&a, queue, 0, N * sizeof(float));
	((float *)nn_mirror_write(&a, queue))[0] = 6;
	nn_queue_copy(queue, b.there, a.there, N * sizeof(float));
	ok(read_back(&b)[0] == 5, "mirror: what is on its way is not overwritten");
	nn_mirror_free(&sum, queue);
	nn_mirror_free(&a, queue);
	nn_mirror_free(&b, queue);
}

static void check_marks(void)
{
	static const float one[N] = { 1 }, two[N] = { 2 };
	struct nn_mirror a = mirror_of(queue, one), b = mirror_of(queue, two);

	if (nn_mirror_double(&a, queue, sizeof one, &err) < 0)
		exit(1);
	((float *)nn_mirror_write(&a, queue))[0] = 9;
	nn_mirror_fetch(&a, queue, 0, sizeof one);
	nn_queue_mark(queue, 0);
	nn_mirror_use(&a, 1);
	nn_queue_copy(queue, a.there, b.there, sizeof one);
	nn_mirror_fetch(&a, queue, 0, sizeof one);
	nn_queue_mark(queue, 1);
	nn_queue_reach(queue, 0, &err);
	ok(((float *)a.host)[0] == 0, "queue: what was asked for behind a mark is not waited for");
	nn_mirror_use(&a, 0);
	ok(((float *)a.host)[0] == 1,
	   "queue: a mark is reached when what was asked before is done");
	nn_queue_reach(queue, 1, &err);
	nn_mirror_use(&a, 1);
	ok(((float *)a.host)[0] == 2, "mirror: two sides have the values of two times");
	((float *)nn_mirror_write(&a, queue))[0] = 5;
	nn_mirror_send(&a, queue, 0, sizeof one);
	nn_mirror_use(&a, 0);
	((float *)nn_mirror_write(&a, queue))[0] = 6;
	nn_mirror_use(&a, 1);
	((float *)nn_mirror_write(&a, queue))[0] = 7;
	nn_queue_copy(queue, b.there, a.there, sizeof one);
	ok(read_back(&b)[0] == 5, "mirror: each side is waited for that is on its way");
	nn_mirror_free(&a, queue);
	nn_mirror_free(&b, queue);
}

static void check_after(void)
{
	static const float one[N] = { 1 };
	struct nn_queue *other;
	struct nn_mirror a, b;
	float plain[N];

	if (nn_queue_open(&other, device, &err) < 0)
		exit(1);
	a = mirror_of(queue, one);
	if (nn_mirror_new(&b, other, sizeof one, &err) < 0)
		exit(1);
	queue->remote->after(other, queue);
	nn_queue_copy(other, b.there, a.there, sizeof one);
	nn_mirror_fetch(&b, other, 0, sizeof one);
	nn_queue_wait(other, &err);
	ok(((float *)b.host)[0] == 1, "queue: what is after another queue's work sees it");
	nn_queue_read(other, plain, b.there, sizeof plain);
	ok(memcmp(plain, one, sizeof plain) == 0, "queue: read gives any memory of the host");
	plain[1] = 3;
	nn_queue_write(other, b.there, plain, sizeof plain);
	memset(plain, 0, sizeof plain);
	nn_queue_read(other, plain, b.there, sizeof plain);
	ok(plain[1] == 3, "queue: write takes any memory of the host");
	nn_mirror_free(&b, other);
	nn_queue_close(other);
	nn_mirror_free(&a, queue);
}

static void step(struct nn_mirror *w, struct nn_mirror *g, struct nn_mirror *now)
{
	struct nn_update u = { .kind = NN_OPTIMIZER_SGD,
			       .n = N,
			       .w = w->there,
			       .g = g->there,
			       .now = now->there,
			       .queue = queue };

	device->update(&u);
}

static void check_record(void)
{
	static const float ones[N] = { 1, 1, 1, 1, 1, 1, 1, 1 }, none[N];
	struct nn_mirror w = mirror_of(queue, none), g = mirror_of(queue, ones), now;
	struct nn_recording *recording;
	struct nn_now *host;

	if (nn_mirror_new(&now, queue, sizeof *host, &err) < 0 ||
	    queue->remote->record(queue, &err) < 0)
		exit(1);
	step(&w, &g, &now);
	recording = queue->remote->recorded(queue, &err);
	ok(read_back(&w)[0] == 0, "record: what is noted is not done");
	for (int i = 1; i <= 2; i++) {
		host = nn_mirror_write(&now, queue);
		*host = (struct nn_now){ .step = (uint64_t)i, .lr = i, .clip = 1 };
		nn_mirror_send(&now, queue, 0, sizeof *host);
		queue->remote->replay(queue, recording);
	}
	ok(read_back(&w)[0] == -3, "replay: a step finds the rate of its time");
	queue->remote->forget(recording);
	nn_mirror_free(&w, queue);
	nn_mirror_free(&g, queue);
	nn_mirror_free(&now, queue);
}

static void check_failure(void)
{
	struct nn_dense attrs = { .out = 1 };
	struct nn_shape shape = nn_shape1(1);
	struct nn_mirror m;
	static const float values[N] = { 1 };
	const void *x;
	void *w[2];
	struct nn_call call = {
		.site = { .attrs = &attrs, .in = &shape, .n_in = 1, .out = shape, .queue = queue },
		.rows = 1
	};

	m = mirror_of(queue, values);
	x = w[0] = w[1] = m.there;
	call.x = &x;
	call.w = w;
	call.y = (char *)m.there + 2048;
	apart->fail = true;
	device->kernels[NN_OP_dense]->forward(&call);
	ok(nn_queue_wait(queue, NULL) < 0, "wait: says that a kernel failed");
	apart->fail = false;
	ok(nn_queue_wait(queue, &err) < 0 && strstr(err.text, "dense"),
	   "wait: a failure is kept for who can tell it, with the kernel's name");
	ok(nn_queue_wait(queue, &err) == 0, "wait: a failure is told once");
	nn_mirror_free(&m, queue);
}

/* ---- what a real device would punish on another day is punished at once ---- */

static void read_there(void)
{
	note("%d", *(volatile char *)nn_memory_new(queue, 1, &err));
}

static void use_freed(void)
{
	void *a = nn_memory_new(queue, N, &err), *b = nn_memory_new(queue, N, &err);

	nn_memory_free(queue, b);
	nn_queue_copy(queue, a, b, N);
	nn_queue_wait(queue, NULL);
}

static void copy_unpinned(void)
{
	char here = 0;

	queue->remote->copy_in(queue, nn_memory_new(queue, 1, &err), &here, 1);
}

static void take_while_noting(void)
{
	queue->remote->record(queue, &err);
	nn_memory_new(queue, 1, &err);
}

static void wait_while_noting(void)
{
	queue->remote->record(queue, &err);
	nn_queue_wait(queue, NULL);
}

static void check_misuse(const char *name, void (*misuse)(void))
{
	const struct rlimit none = { 0 };
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		setrlimit(RLIMIT_CORE, &none);
		if (!freopen("/dev/null", "w", stderr))
			_exit(0);
		misuse();
		_exit(0);
	}
	ok(child > 0 && waitpid(child, &status, 0) == child && status != 0,
	   "device of the tests: %s ends the program", name);
}

int main(void)
{
	const char *build = getenv("NN_BUILD");
	char path[4096];

	snprintf(path, sizeof path, "%s/tests/device/apart/.libs", build ? build : ".");
	setenv("NN_MODULE_PATH", path, 1);
	device = nn_device_open("cuda", NN_F32, &err);
	if (!ok(device && (apart = dlsym(RTLD_DEFAULT, "nn_apart")) &&
			nn_queue_open(&queue, device, &err) == 0,
		"the module of the tests is loaded")) {
		note("%s", err.text);
		return tap_done();
	}
	check_order();
	check_marks();
	check_after();
	check_record();
	check_failure();
	check_misuse("reading its memory", read_there);
	check_misuse("freed memory in use", use_freed);
	check_misuse("a copy of memory that is not pinned", copy_unpinned);
	check_misuse("taking memory while work is noted", take_while_noting);
	check_misuse("a wait while work is noted", wait_while_noting);
	nn_queue_close(queue);
	return tap_done();
}
