/* The batcher: rows of many threads put together have the bytes that they have alone. */
#include "predict/emit.h"
#include "serve-batch.h"

static const struct example {
	const char *what, *text, *input_json, *target_json, *train_json;
} examples[] = {
	{ "a net without a target", "input 3x5x4, conv2d 8 3x3 pad=1, relu, flatten, dense 9", NULL,
	  NULL, NULL },
	{ "a classifier", CLASSIFIER, NULL, CLASSES, NULL },
	{ "numbers with units", "input 60, dense 16, gelu, dense 2", NULL,
	  "{\"columns\":[\"p\",\"q\"],\"labels\":null,\"mean\":[1,-2],\"sd\":[0.5,30]}", NULL },
	{ "probabilities of columns", "input 60, dense 16, tanh, dense 2", NULL,
	  "{\"columns\":[\"p\",\"q\"],\"labels\":null}", "{\"loss\":\"bce\"}" },
	{ "two inputs and two outputs",
	  "a: input 40\nb: input 20\nconcat from=a+b\nh: dense 12\np: dense 3 from=h output\n"
	  "q: dense 2 from=h output\n",
	  NULL, NULL, NULL },
	{ "images out", "input 3x5x4, conv2d 2 3x3 pad=1", NULL, NULL, NULL },
};
#define N_EXAMPLES (sizeof examples / sizeof *examples)

/* ---- the same bytes ---- */

/* Each row alone, as nn-predict prints it. */
static bool row_by_row(const struct nn_model *model, float out[ROWS * MOST_OUT])
{
	struct nn_session_setup setup = { .model = model, .max_rows = 1 };
	size_t n_outputs = (size_t)model->program->n_outputs;
	struct nn_session *s = NULL;
	bool good = nn_session_new(&s, &setup, NULL) == 0;

	memset(out, 0, ROWS * MOST_OUT * sizeof *out);
	for (size_t r = 0; r < ROWS && good; r++) {
		const float *from = rows + r * IN;

		for (size_t i = 0; i < nn_session_n_inputs(s); i++) {
			nn_session_put(s, i, 0, 1, from, NN_F32);
			from += nn_session_input_size(s, i);
		}
		good = nn_session_run(s, 1, NULL) == 0;
		for (size_t o = 0; o < n_outputs && good; o++) {
			struct nn_emitted e;

			good = nn_emitted_open(&e, model, (int)o, NULL, 1, NULL) == 0;
			if (!good)
				break;
			nn_emitted_take(&e, s, 0, 1);
			for (size_t i = 0; i < e.positions * e.columns; i++)
				/* of an image channels come first */
				*out++ = (float)nn_emitted_value(
					&e, 0, e.shape.rank == 3 ? i % e.positions : 0,
					e.shape.rank == 3 ? i / e.positions : i);
			nn_emitted_close(&e);
		}
	}
	nn_session_close(s);
	return good;
}

struct client {
	struct nn_batcher *batcher;
	struct nn_lane *lane;
	const float *alone;
	unsigned loop;
	bool good;
};

/* Requests of any number of rows, several at a time. */
static void *be_client(void *arg)
{
	struct client *c = arg;
	size_t width = c->lane->row_out;
	unsigned random = c->loop + 1;

	c->good = true;
	for (int round = 0; round < 60; round++) {
		struct request *asked[5];
		size_t first[5], n[5];

		for (int i = 0; i < 5; i++) {
			random = random * 1664525 + 1013904223;
			n[i] = round % 3 ? 1 + (random >> 8) % 3 : 1 + (random >> 8) % ROWS;
			first[i] = (random >> 16) % (ROWS - n[i] + 1);
			asked[i] = ask(c->batcher, c->lane, first[i], n[i], c->loop);
		}
		nn_batcher_round(c->batcher, c->loop);
		for (int i = 0; i < 5; i++) {
			if (!asked[i]) {
				c->good = false;
				continue;
			}
			sem_wait(&asked[i]->told);
			c->good &= memcmp(asked[i]->out, c->alone + first[i] * width,
					  n[i] * width * sizeof(float)) == 0;
			sem_post(&asked[i]->told);
			c->good &= state_of(asked[i]) == NN_JOB_DONE;
		}
	}
	return NULL;
}

static bool four_clients(struct nn_batcher *b, struct nn_lane *lane, const float *alone)
{
	struct client clients[4];
	pthread_t threads[4];
	bool good = true;

	for (unsigned i = 0; i < 4; i++) {
		clients[i] = (struct client){ b, lane, alone, i, false };
		pthread_create(&threads[i], NULL, be_client, &clients[i]);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		good &= clients[i].good;
	}
	return good;
}

/* Light batches on the threads of loops, heavy ones on workers, with and without waiting. */
static bool agrees(const struct nn_model *model, const float *alone)
{
	static const double delays[] = { -1, 0, 300e-6 };
	bool good = true;

	for (int i = 0; i < 3; i++) {
		struct nn_batcher *b = open_batcher(delays[i]);
		struct nn_lane *lane = b ? open_lane(b, model, false) : NULL;

		if (!lane)
			return false;
		good &= four_clients(b, lane, alone);
		make_heavy(lane);
		good &= four_clients(b, lane, alone);
		nn_batcher_close(b);
	}
	return good;
}

static void all_agree(void)
{
	static const char *const sets[] = { "generic", "neon", "avx2", "avx512" };
	static float alone[ROWS * MOST_OUT], before[N_EXAMPLES][ROWS * MOST_OUT];
	bool first = true;

	for (int s = 0; s < 4; s++) {
		setenv("NN_CPU", sets[s], 1);
		if (!nn_device_open("cpu", NN_F32, NULL)) {
			note("no %s here", sets[s]);
			continue;
		}
		for (size_t i = 0; i < N_EXAMPLES; i++) {
			const struct example *e = &examples[i];
			struct nn_model *model =
				serve_model(e->text, e->input_json, e->target_json, e->train_json);

			ok(model && row_by_row(model, alone) && agrees(model, alone),
			   "batch: %s on %s: 1 to 64 rows in any company have the bytes they have "
			   "alone",
			   e->what, sets[s]);
			ok(first || memcmp(before[i], alone, sizeof alone) == 0,
			   "batch: %s on %s: the bytes are those of other instruction sets",
			   e->what, sets[s]);
			memcpy(before[i], alone, sizeof alone);
			nn_model_close(model);
		}
		first = false;
	}
	unsetenv("NN_CPU");
}

int main(void)
{
	fill_rows();
	all_agree();
	return tap_done();
}
