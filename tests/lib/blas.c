/*
 * The device cpu+openblas: close to our own kernels where it goes to OpenBLAS, equal to them where
 * it does not; answers are kept.
 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "graph-read.h"
#include "graph/graph.h"
#include "model/model.h"
#include "tap.h"

#define ROWS 48

static const char text[] = "input 2x5x5, conv2d 3 3x3, relu, flatten, dense 33, tanh, a: dense 33, "
			   "relu, b: dense 33, add from=b+a, "
			   "dense 7";

struct blas_result {
	size_t n;
	void *values; /* gradients, canonical, then outputs */
};

static double at(const struct blas_result *r, enum nn_dtype dtype, size_t i)
{
	return dtype == NN_F64 ? ((double *)r->values)[i] : (double)((float *)r->values)[i];
}

/*
 * Forward and backward of fixed rows on a device; twice, the second time going on from the first as
 * a piece of a leaf does.
 */
static struct blas_result run(const struct nn_net *net, const char *device, enum nn_dtype dtype)
{
	const struct nn_program *program = nn_net_program(net);
	struct nn_graph_options options = { .max_rows = ROWS, .max_leaves = 1, .training = true };
	size_t leaf[2] = { 0, ROWS }, size, element = nn_dtype_size(dtype), n = 0, at = 0;
	struct nn_span span = { .rows = ROWS, .leaf = leaf, .n_leaves = 1, .first = true };
	void **params = nn_params_new(program, dtype, NULL);
	struct nn_error err;
	struct nn_graph *graph;
	struct blas_result r;
	bool last;

	options.device = nn_device_open(device, dtype, &err);
	if (!options.device || nn_net_init(net, 3, dtype, params, &err) < 0 ||
	    nn_graph_bind(&graph, program, &options, &err) < 0 ||
	    nn_graph_load(graph, (const void *const *)params, &err) < 0) {
		note("%s", err.text);
		exit(9);
	}
	for (int pass = 0; pass < 2; pass++, span.first = false) {
		void *x = nn_graph_input(graph, 0, &size, &last),
		     *dy = nn_graph_output_gradient(graph, 0);

		for (size_t i = 0; i < ROWS * size; i++) {
			double v = (double)(i * 2654435761u % 1001) / 500 - 1;

			if (dtype == NN_F64)
				((double *)x)[i] = v;
			else
				((float *)x)[i] = (float)v;
		}
		nn_graph_forward(graph, &span);
		for (size_t i = 0; i < ROWS * 7; i++) {
			if (dtype == NN_F64)
				((double *)dy)[i] = (double)(i % 5) - 2;
			else
				((float *)dy)[i] = (float)(i % 5) - 2;
		}
		nn_graph_backward(graph, &span, NULL, NULL);
	}
	for (int p = 0; p < program->n_params; p++)
		n += nn_shape_count(&program->params[p].desc.shape);
	r.n = n + ROWS * 7;
	r.values = nn_alloc(r.n, element, NULL);
	for (int p = 0; p < program->n_params; p++) {
		nn_graph_unpack(graph, p, nn_graph_gradients(graph),
				(char *)r.values + at * element);
		at += nn_shape_count(&program->params[p].desc.shape);
	}
	read_output(graph, program, 0, ROWS, element, (char *)r.values + at * element);
	nn_graph_free(graph);
	nn_free(params);
	return r;
}

/* MIXED: one type's results are equal, the other's close */
enum { EQUAL, CLOSE, WRONG, MIXED };

static int compare(const struct nn_net *net, enum nn_dtype dtype)
{
	struct blas_result ours = run(net, "cpu", dtype), other = run(net, "cpu+openblas", dtype);
	double tolerance =
		dtype == NN_F64 ? 1e-11 : 1e-3; /* chains of up to 96 rows of values of order 10 */
	int found = memcmp(ours.values, other.values, ours.n * nn_dtype_size(dtype)) == 0 ? EQUAL : CLOSE;

	for (size_t i = 0; i < ours.n; i++) {
		double a = at(&ours, dtype, i), b = at(&other, dtype, i);

		if (!(fabs(a - b) <= tolerance * (1 + fabs(a))))
			found = WRONG;
	}
	nn_free(ours.values);
	nn_free(other.values);
	return found;
}

static int compare_types(const struct nn_net *net)
{
	int f32 = compare(net, NN_F32), f64 = compare(net, NN_F64);

	if (f32 == WRONG || f64 == WRONG)
		return WRONG;
	return f32 == f64 ? f32 : MIXED;
}

static int in_child(const char *self)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		execl(self, self, "compare", (char *)NULL);
		_exit(8);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 7;
}

/* Where times choose, each type may go either way. */
static bool close_in_child(const char *self)
{
	int found = in_child(self);

	return found == EQUAL || found == CLOSE || found == MIXED;
}

/* Every answer in the file becomes `answer`; how many there are. */
static int rewrite(const char *path, const char *answer)
{
	char line[512], all[65536] = "";
	FILE *file = fopen(path, "r");
	int n = 0;

	while (file && fgets(line, sizeof line, file)) {
		char *tab = strrchr(line, '\t');

		if (!tab)
			continue;
		snprintf(tab, sizeof line - (size_t)(tab - line), "\t%s\n", answer);
		strncat(all, line, sizeof all - strlen(all) - 1);
		n++;
	}
	if (file)
		fclose(file);
	if (n && (file = fopen(path, "w"))) {
		fputs(all, file);
		fclose(file);
	}
	return n;
}

int main(int argc, char **argv)
{
	char directory[] = "/tmp/nn-blas.XXXXXX", path[64];
	struct nn_shape input = nn_shape3(2, 5, 5);
	struct nn_error err;
	struct nn_net *net;
	size_t open = 0;

	if (nn_net_parse(&net, "-m", text, strlen(text), true, &err) < 0 ||
	    nn_net_resolve(net, &input, &open, &err) < 0) {
		printf("Bail out! %s\n", err.text);
		return 1;
	}
	if (argc == 2) {
		int found = compare_types(net);

		nn_net_free(net);
		return found;
	}
	if (!nn_device_open("cpu+openblas", NN_F32, &err)) {
		printf("1..0 # skip %s\n", err.text);
		nn_net_free(net);
		return 0;
	}
	mkdtemp(directory);
	setenv("XDG_CACHE_HOME", directory, 1);
	snprintf(path, sizeof path, "%s/nntools/products", directory);
	ok(close_in_child(argv[0]), "blas: whoever is faster, results are close to ours");
	ok(rewrite(path, "openblas") == 6, "blas: an answer is kept for each shape and type");
	ok(in_child(argv[0]) == CLOSE,
	   "blas: layers that go to OpenBLAS are close to ours, and are not ours");
	rewrite(path, "ours");
	ok(in_child(argv[0]) == EQUAL, "blas: layers that stay have the bytes of the device cpu");
	unlink(path);
	ok(close_in_child(argv[0]) && access(path, R_OK) == 0,
	   "blas: without the file it is measured again");
	ok(chmod(directory, 0) == 0 && setenv("XDG_CACHE_HOME", "/proc/nothing", 1) == 0 &&
		   close_in_child(argv[0]),
	   "blas: no place to keep answers does no harm");
	chmod(directory, 0700);
	unlink(path);
	snprintf(path, sizeof path, "%s/nntools", directory);
	rmdir(path);
	rmdir(directory);
	nn_net_free(net);
	return tap_done();
}
