/* Loaders: batches of an order, what follows them, and rows of different length down to a kernel.
 */
#include <string.h>

#include "base/memory.h"
#include "model/model.h"
#include "op/op.h"
#include "step/step.h"
#include "tap.h"

#define ROWS 10
#define BATCH 4

static const uint64_t order[ROWS] = { 3, 1, 4, 0, 5, 9, 2, 6, 8, 7 };

/* ---- a source whose rows have lengths: row r has r + 1 positions ---- */

static struct nn_source data; /* where its values come from */
static uint64_t fetched;      /* a bit for each row */

static int fill_input(const void *arg, size_t input, const uint64_t *rows, size_t n, bool last,
		      void *values, struct nn_error *err)
{
	return data.ops->fill_input(arg, input, rows, n, last, values, err);
}

static int fill_target(const void *arg, size_t target, const uint64_t *rows, size_t n, void *values,
		       struct nn_error *err)
{
	return data.ops->fill_target(arg, target, rows, n, values, err);
}

static void fetch(const void *arg, const uint64_t *rows, size_t n)
{
	(void)arg;
	for (size_t i = 0; i < n; i++)
		fetched |= UINT64_C(1) << rows[i];
}

static int lengths(const void *arg, const uint64_t *rows, size_t n, uint32_t *to,
		   struct nn_error *err)
{
	(void)arg;
	(void)err;
	for (size_t i = 0; i < n; i++)
		to[i] = (uint32_t)rows[i] + 1;
	return 0;
}

static const struct nn_source_ops with_lengths = { .fill_input = fill_input,
						   .fill_target = fill_target,
						   .fetch = fetch,
						   .lengths = lengths };

/* ---- a device whose dense layer notes what it was called with ---- */

static const struct nn_kernel *real;
static uint32_t seen[ROWS];
static size_t n_seen;
static bool none_seen;

static void forward(const struct nn_call *call)
{
	none_seen |= !call->lengths;
	for (size_t r = 0; call->lengths && r < call->rows && n_seen < ROWS; r++)
		seen[n_seen++] = call->lengths[r];
	real->forward(call);
}

static struct nn_device noting(struct nn_error *err)
{
	static struct nn_kernel dense;
	static const struct nn_kernel *kernels[NN_N_OPS];
	struct nn_device device = *nn_device_open("cpu", NN_F32, err);

	real = device.kernels[NN_OP_dense];
	dense = *real;
	dense.forward = forward;
	memcpy(kernels, device.kernels, sizeof kernels);
	kernels[NN_OP_dense] = &dense;
	device.kernels = kernels;
	return device;
}

/* ---- claims ---- */

static bool are_lengths(const uint32_t *found, const uint64_t *rows, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (found[i] != rows[i] + 1)
			return false;
	return true;
}

static struct nn_loader loader_of(const struct nn_source *source, uint64_t window, bool prefetch)
{
	struct nn_loader_options o = { .source = *source,
				     .rows = order,
				     .n = ROWS,
				     .batch = BATCH,
				     .seed = 1,
				     .window = window,
				     .prefetch = prefetch };
	struct nn_loader loader;

	ok(nn_loader_init(&loader, &o, NULL) == 0, "loader: is made");
	return loader;
}

static void draws(const struct nn_source *source)
{
	struct nn_loader loader = loader_of(source, 0, true), plain = loader_of(&data, 0, false);
	struct nn_batch b;
	bool rows = true, sizes = true, cut = true, next = true;
	size_t at = 0;

	for (uint64_t i = 0; i < nn_loader_batches(&loader); i++, at += b.n) {
		size_t left = ROWS - at - (ROWS - at < BATCH ? ROWS - at : BATCH);

		rows &= nn_loader_draw(&loader, i, &b, NULL) == 0 &&
			memcmp(b.rows, order + at, b.n * sizeof *order) == 0 && b.sample == at;
		sizes &= b.n == (ROWS - at < BATCH ? ROWS - at : BATCH) &&
			 nn_loader_rows(&loader, i) == b.n;
		cut &= b.lengths && are_lengths(b.lengths, order + at, b.n);
		next &= b.n_next == (left < BATCH ? left : BATCH) &&
			(left == 0 || b.next == b.rows + b.n);
	}
	ok(at == ROWS && rows && sizes, "loader: rows are drawn once in an epoch, in batches");
	ok(cut, "loader: lengths go with their rows");
	ok(next, "loader: with prefetch a batch names the rows that follow");
	ok(nn_loader_draw(&loader, 5, &b, NULL) == 0 && b.n == 2 && b.rows[1] == 7 &&
		   b.sample == ROWS + 8,
	   "loader: any batch can be drawn, of any epoch");
	ok(nn_loader_draw(&plain, 0, &b, NULL) == 0 && !b.lengths && b.n_next == 0,
	   "loader: rows of one length have none, and nothing follows unasked");
	nn_loader_fini(&loader);
	nn_loader_fini(&plain);
}

/* The rows of an epoch, and whether each came once. */
static bool draws_epoch(struct nn_loader *loader, uint64_t epoch, uint64_t rows[ROWS])
{
	uint64_t seen = 0;
	struct nn_batch b;
	size_t n = 0;

	for (uint64_t i = 0; i < 3; i++) {
		nn_loader_draw(loader, 3 * epoch + i, &b, NULL);
		for (size_t k = 0; k < b.n; k++) {
			rows[n++] = b.rows[k];
			seen |= UINT64_C(1) << b.rows[k];
		}
	}
	return n == ROWS && seen == (1 << ROWS) - 1;
}

static void shuffles(void)
{
	struct nn_loader loader = loader_of(&data, UINT64_MAX, false);
	uint64_t first[ROWS], second[ROWS], again[ROWS], wanted[ROWS];
	bool once = draws_epoch(&loader, 0, first) && draws_epoch(&loader, 1, second);

	ok(once && memcmp(first, second, sizeof first) != 0,
	   "loader: each epoch has an order of its own, of the same rows");
	nn_shuffle(1, 0, order, wanted, ROWS, UINT64_MAX);
	ok(draws_epoch(&loader, 0, again) && memcmp(first, again, sizeof first) == 0 &&
		   memcmp(first, wanted, sizeof first) == 0,
	   "loader: it is nn_shuffle's, whatever was drawn before");
	nn_loader_fini(&loader);
}

static void fills(const struct nn_source *source)
{
	float whole[BATCH * 3], copies[2][BATCH * 3];
	struct nn_batch b = nn_batch_of(source, order, BATCH);
	struct nn_place place = { .values = whole, .row_bytes = 12, .copies = 1, .fetch = true };

	b.next = order + BATCH;
	b.n_next = BATCH;
	fetched = 0;
	nn_batch_input(&b, 0, 0, BATCH, &place, NULL, NULL);
	ok(fetched == (1 << 5 | 1 << 9 | 1 << 2 | 1 << 6),
	   "loader: rows of the next batch are fetched while this one is filled");
	place = (struct nn_place){ copies, 12, 2, sizeof copies[0], false, false };
	nn_batch_input(&b, 0, 1, BATCH - 1, &place, NULL, NULL);
	ok(memcmp(copies[0], whole + 3, 36) == 0 && memcmp(copies[1], whole + 3, 36) == 0,
	   "loader: each copy gets the same rows of the batch");
}

/* Two spans of a batch: each kernel call sees the lengths of its own rows. */
static void reaches_kernels(const struct nn_source *source, const struct nn_dataset *dataset)
{
	static const char text[] = "input 3\ndense 2\n";
	struct nn_error err = { 0 };
	struct nn_device device = noting(&err);
	struct nn_loss_spec loss = { .kind = NN_LOSS_CROSS_ENTROPY, .ignore = -1 };
	double weight = 1;
	struct nn_net *net = NULL;
	struct nn_step *step = NULL;
	struct nn_step_result result;
	struct nn_step_options o = { .device = &device,
				     .dataset = dataset,
				     .rows = ROWS,
				     .batch = BATCH,
				     .leaves = 1,
				     .micro = BATCH / 2,
				     .losses = &loss,
				     .weights = &weight };

	if (!ok(nn_net_parse(&net, "-m", text, strlen(text), false, &err) == 0 &&
			nn_net_resolve(net, NULL, NULL, &err) == 0,
		"loader: a net"))
		return;
	o.program = nn_net_program(net);
	if (ok(nn_step_new(&step, &o, &err) == 0, "loader: a step %s", err.text)) {
		struct nn_loader loader = loader_of(source, 0, true),
				 plain = loader_of(&data, 0, false);
		struct nn_batch b;

		fetched = 0;
		nn_loader_draw(&loader, 0, &b, &err);
		nn_step_gradient(step, &b, &result, &err);
		ok(nn_step_spans(step) == 2 && n_seen == BATCH && !none_seen &&
			   are_lengths(seen, order, BATCH),
		   "loader: lengths of a batch reach the kernels, cut as its rows are");
		ok(fetched == (1 << 5 | 1 << 9 | 1 << 2 | 1 << 6),
		   "loader: a step fetches the rows that will follow");
		nn_loader_draw(&plain, 0, &b, &err);
		nn_step_gradient(step, &b, &result, &err);
		ok(none_seen, "loader: kernels see none where rows are of one length");
		nn_loader_fini(&loader);
		nn_loader_fini(&plain);
	}
	nn_step_free(step);
	nn_net_free(net);
}

int main(void)
{
	struct nn_error err = { 0 };
	struct nn_shape shape = nn_shape1(3);
	struct nn_made_target target = { 1, 2 };
	size_t none = 0;
	struct nn_made made = { ROWS, &shape, &none, 1, &target, 1, NN_F32, 1 };
	struct nn_dataset *dataset;
	struct nn_source source;

	if (nn_dataset_make(&dataset, &made, &err) == 0) {
		data = source = nn_dataset_source(dataset);
		source.ops = &with_lengths;
		draws(&source);
		shuffles();
		fills(&source);
		reaches_kernels(&source, dataset);
		nn_dataset_free(dataset);
	}
	return tap_done();
}
