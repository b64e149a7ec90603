/*
 * Predict from a C program with threads of its own: one model, four threads, a session each.
 *
 *     cc -o predict predict.c $(pkg-config --cflags --libs libnn) -lpthread
 *     ./predict digits.safetensors
 *
 * Every thread predicts the same rows; the model is shared, and all get the same bytes.
 */
#include <nn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ROWS = 10 };

struct job {
	const struct nn_model *model;
	const float *rows; /* [ROWS][inputs], shared */
	float *out;        /* [ROWS][outputs], of this thread */
	struct nn_error err;
	int status;
};

static void *work(void *argument)
{
	struct job *job = argument;
	struct nn_session_options options = { .size = sizeof options, .max_rows = ROWS };
	struct nn_session *session = nn_session_open(job->model, &options, &job->err);

	job->status = -1;
	if (session)
		job->status = nn_session_predict(session, &job->rows, ROWS, &job->out, &job->err);
	nn_session_close(session);
	return NULL;
}

/* Start the threads, wait for them, compare what they found; 0 when all agree. */
static int predict(const struct nn_model *model, const float *rows, float *out)
{
	size_t size = ROWS * nn_model_outputs(model);
	struct job job[THREADS];
	pthread_t thread[THREADS];
	int failed = 0, n;

	for (n = 0; n < THREADS; n++) {
		job[n] = (struct job){ .model = model, .rows = rows, .out = out + n * size };
		if (pthread_create(&thread[n], NULL, work, &job[n]) != 0)
			break;
	}
	failed = n < THREADS;
	while (n-- > 0) {
		pthread_join(thread[n], NULL);
		if (job[n].status != 0) {
			fprintf(stderr, "predict: %s\n", job[n].err.text);
			failed = 1;
		}
	}
	for (n = 1; n < THREADS && !failed; n++)
		failed = memcmp(out, out + n * size, size * sizeof *out) != 0;
	return failed;
}

int main(int argc, char **argv)
{
	struct nn_error err;
	struct nn_model *model;
	float *rows, *out;
	size_t i, n_in, n_out;
	int failed = 1;

	if (argc != 2) {
		fprintf(stderr, "usage: predict MODEL\n");
		return 2;
	}
	model = nn_model_open(argv[1], &err);
	if (!model) {
		fprintf(stderr, "predict: %s\n", err.text);
		return 1;
	}
	n_in = nn_model_inputs(model);
	n_out = nn_model_outputs(model);
	rows = malloc(ROWS * n_in * sizeof *rows);
	out = malloc(THREADS * ROWS * n_out * sizeof *out);
	if (rows && out) {
		for (i = 0; i < ROWS * n_in; i++)
			rows[i] = (float)(i % 17);
		failed = predict(model, rows, out);
	}
	for (i = 0; i < n_out && !failed; i++)
		printf("%.9g%c", out[i], i + 1 < n_out ? ' ' : '\n');
	free(out);
	free(rows);
	nn_model_close(model);
	return failed;
}
