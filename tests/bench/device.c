/*
 * Products on a device with memory of its own, one kernel at a time: device ROWSxINxOUT...
 * Forward, towards the input, weights; TFLOP/s, the best of some runs of many calls.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "device/queue.h"
#include "step/cut.h"
#include "device/device.h"

#define RUNS 5
#define RUN_S 0.05

struct product {
	const struct nn_device *device;
	struct nn_queue *queue;
	size_t rows, in, out, leaves;
};

static void die(const struct nn_error *err)
{
	fprintf(stderr, "device: %s\n", err->text);
	exit(1);
}

static float *numbers(struct nn_queue *queue, size_t n)
{
	struct nn_error err;
	float *host = malloc(n * sizeof *host),
	      *there = nn_memory_new(queue, n * sizeof *host, &err);
	uint64_t seed = 1;

	if (!host || !there)
		die(&err);
	for (size_t i = 0; i < n; i++)
		host[i] = (float)((double)(int64_t)(nn_lcg(&seed) >> 40) * 0x1p-23 - 1);
	nn_queue_write(queue, there, host, n * sizeof *host);
	free(host);
	return there;
}

/* Seconds of a call, of as many as take RUN_S. */
static double seconds(const struct product *p, void (*ask)(const struct nn_call *),
		      const struct nn_call *call)
{
	double best = 1e9;
	size_t n = 1;

	for (int run = 0; run < RUNS;) {
		struct nn_error err;
		double start, taken;

		ask(call);
		if (nn_queue_wait(p->queue, &err) < 0)
			die(&err);
		start = nn_now_s();
		for (size_t i = 0; i < n; i++)
			ask(call);
		if (nn_queue_wait(p->queue, &err) < 0)
			die(&err);
		taken = nn_now_s() - start;
		if (taken < RUN_S) {
			n *= 2;
			continue;
		}
		run++;
		best = taken / (double)n < best ? taken / (double)n : best;
	}
	return best;
}

static void measure(const struct product *p)
{
	const struct nn_dense attrs = { .out = p->out, .bias = false };
	const struct nn_shape in = { 1, { p->in } }, out = { 1, { p->out } };
	const struct nn_kernel *k = p->device->kernels[NN_OP_dense];
	const struct nn_site site = { .attrs = &attrs,
				      .in = &in,
				      .n_in = 1,
				      .out = out,
				      .training = true,
				      .want_dx = true,
				      .queue = p->queue };
	size_t packed = k->packed(&site, 0);
	struct nn_error err;
	struct nn_cut *cut =
		nn_cut_new(p->rows, p->leaves, 0, p->rows, nn_cut_share(p->leaves, 0, 1), &err);
	const void *x[1] = { numbers(p->queue, p->rows * p->in) };
	void *dx[1] = { NULL }, *towards = numbers(p->queue, p->rows * p->in),
	     *w[1] = { numbers(p->queue, packed) }, *dw[1] = { NULL },
	     *weights = numbers(p->queue, packed);
	const bool add[1] = { false };
	struct nn_call call = { .site = site,
				.rows = p->rows,
				.x = x,
				.w = w,
				.dx = dx,
				.dx_add = add,
				.dw = dw,
				.first = true };
	double flop = 2 * (double)p->rows * (double)p->in * (double)p->out, s;

	if (!cut)
		die(&err);
	call.y = numbers(p->queue, p->rows * p->out);
	call.dy = numbers(p->queue, p->rows * p->out);
	call.work = nn_memory_new(p->queue, k->work(&site, p->rows, cut->n_leaves, 1), &err);
	call.leaf = cut->spans[0].span.leaf;
	call.n_leaves = cut->spans[0].span.n_leaves;
	printf("%zux%zux%zu", p->rows, p->in, p->out);
	s = seconds(p, k->forward, &call);
	printf("\tforward %.1f us %.2f TFLOP/s", s * 1e6, flop / s * 1e-12);
	dw[0] = weights;
	s = seconds(p, k->backward, &call);
	printf("\tweights (%zu leaves) %.1f us %.2f TFLOP/s", call.n_leaves, s * 1e6,
	       flop / s * 1e-12);
	dx[0] = towards;
	s = seconds(p, k->backward, &call) - s;
	printf("\tinput %.1f us %.2f TFLOP/s\n", s * 1e6, flop / s * 1e-12);
	fflush(stdout);
	nn_memory_free(p->queue, (void *)(uintptr_t)x[0]);
	nn_memory_free(p->queue, towards);
	nn_memory_free(p->queue, w[0]);
	nn_memory_free(p->queue, weights);
	nn_memory_free(p->queue, call.y);
	nn_memory_free(p->queue, call.dy);
	nn_memory_free(p->queue, call.work);
	nn_cut_free(cut);
}

int main(int argc, char **argv)
{
	struct nn_error err;
	struct product p = { .device = nn_device_open("cuda", NN_F32, &err) };

	if (!p.device || nn_queue_open(&p.queue, p.device, &err) < 0)
		die(&err);
	for (int i = 1; i < argc; i++) {
		if (sscanf(argv[i], "%zux%zux%zu", &p.rows, &p.in, &p.out) != 3)
			return 2;
		p.leaves = p.device->leaves(p.rows, 0, SIZE_MAX);
		measure(&p);
	}
	nn_queue_close(p.queue);
	return 0;
}
