/*
 * Damaged model texts and files: read, or refused with one line that names the place; never worse.
 */
#include "base/memory.h"
#include "base/random.h"
#include "files.h"
#include "model/model.h"

#define ROUNDS 4000

static const char *const texts[] = {
	"# a comment, and more\ninput 1x28x28\na: conv2d 6 5x5 pad=2 stride=1x2 "
	"groups=1\nbatchnorm group=16\nrelu\n"
	"maxpool2d 2 pad=1\nskip: dropout 0.25\nconv2d 6 1x1 from=a\nb: maxpool2d 2 pad=1\nadd "
	"from=skip+b\nflatten\n"
	"dense 10 init=zeros\n",
	"wide: input 3 columns=\"d e\",f\nw: dense 4\nrepeat 3 {\n  h: dense 4\n  repeat 2 { t: "
	"tanh }\n  add from=h+t\n}\n"
	"steer: dense 2 output target=angle weight=0.5\nconcat dim=0 from=w+t+t_0_1+steer\ndense "
	"2\n",
};

static uint32_t dice(uint32_t *state, uint32_t sides)
{
	return nn_random_u32(1, 0, NN_STREAM_NOISE, (*state)++) % sides;
}

/* A few bytes changed, dropped, doubled or taken from elsewhere in the text. */
static size_t damage(char *text, size_t n, uint32_t *state)
{
	static const char special[] = "\n\t {}#,\"=+:?x0123456789.-\0\xff\r";

	for (uint32_t i = 1 + dice(state, 3); i > 0 && n > 1; i--) {
		size_t at = dice(state, (uint32_t)n), from = dice(state, (uint32_t)n);
		size_t length = 1 + dice(state, 12);

		switch (dice(state, 5)) {
		case 0:
			text[at] = special[dice(state, sizeof special)];
			break;
		case 1:
			text[at] = (char)dice(state, 256);
			break;
		case 2:
			length = length < n - at ? length : n - at;
			memmove(text + at, text + at + length, n - at - length);
			n -= length;
			break;
		case 3:
			length = length < n - from ? length : n - from;
			memmove(text + at + length, text + at, n - at);
			memmove(text + at, text + from, length);
			n += length;
			break;
		default:
			n = at + 1;
			break;
		}
	}
	return n;
}

/* One line that begins with the place. */
static bool is_sentence(const struct nn_error *err, const char *place)
{
	return (err->code == NN_EFAIL || err->code == NN_EUSAGE) && !strchr(err->text, '\n') &&
	       strncmp(err->text, place, strlen(place)) == 0 &&
	       strlen(err->text) > strlen(place) + 4;
}

/* Refused with a sentence, or understood; then the canonical text is its own. */
static bool handled(const char *text, size_t n, bool is_inline, size_t *understood)
{
	struct nn_error err = { 0 };
	struct nn_net *net, *again = NULL;
	size_t sizes[64];
	struct nn_shape shapes[64];
	bool good;

	if (nn_net_parse(&net, "net.nn", text, n, is_inline, &err))
		return is_sentence(&err, "net.nn:");
	for (size_t i = 0; i < 64; i++) {
		sizes[i] = 3;
		shapes[i] = i < nn_net_n_inputs(net) && nn_net_input(net, i)->shaped
				    ? nn_net_input(net, i)->shape
				    : nn_shape1(3);
	}
	if (nn_net_resolve(net, shapes, sizes, &err)) {
		nn_net_free(net);
		return is_sentence(&err, "net.nn:");
	}
	++*understood;
	good = nn_net_parse(&again, "net.nn", nn_net_text(net), strlen(nn_net_text(net)), false,
			    &err) == 0 &&
	       nn_net_resolve(again, NULL, NULL, &err) == 0 &&
	       strcmp(nn_net_text(again), nn_net_text(net)) == 0;
	nn_net_free(again);
	nn_net_free(net);
	return good;
}

static void show(const char *text, size_t n)
{
	printf("# text: ");
	for (size_t i = 0; i < n; i++)
		printf(text[i] >= ' ' && text[i] <= '~' ? "%c" : "\\x%02x", (unsigned char)text[i]);
	printf("\n");
}

static void damaged_texts(void)
{
	uint32_t state = 0;
	size_t bad = 0, understood = 0;

	for (int round = 0; round < ROUNDS; round++) {
		const char *text = texts[round % 2];
		char copy[1024];
		size_t n = strlen(text);

		memcpy(copy, text, n);
		n = damage(copy, n, &state);
		if (!handled(copy, n, round % 3 == 0, &understood) && bad++ == 0)
			show(copy, n);
	}
	ok(bad == 0, "model: 4,000 damaged texts: refused with a sentence, or their canonical text "
		     "is its own");
	ok(understood > ROUNDS / 50 && understood < ROUNDS,
	   "model: some of them are understood, some not");
}

static void cut_texts(void)
{
	size_t bad = 0, understood = 0;

	for (size_t i = 0; i < 2; i++)
		for (size_t n = 0; n <= strlen(texts[i]); n++)
			bad += !handled(texts[i], n, false, &understood);
	ok(bad == 0, "model: texts that end anywhere are refused with a sentence or understood");
}

/* ---- files ---- */

static size_t make_file(char *bytes, size_t room)
{
	const char *text = "input 3\ndense 4\nbatchnorm group=32\nout: dense 2\n";
	struct nn_output *output;
	struct nn_error err;
	struct nn_net *net;
	void **params = NULL;
	size_t n = 0;
	FILE *f;

	if (nn_net_parse(&net, "net.nn", text, strlen(text), false, &err) == 0 &&
	    nn_net_resolve(net, NULL, NULL, &err) == 0)
		params = nn_params_new(nn_net_program(net), NN_F32, &err);
	if (params && nn_net_init(net, 1, NN_F32, params, &err) == 0 &&
	    nn_output_open(&output, "good", true, &err) == 0 &&
	    nn_model_file_write(output, net, NN_F32, (const void *const *)params, NULL, NULL, NULL,
				&err) == 0 &&
	    nn_output_commit(output, &err) == 0 && (f = fopen("good", "rb"))) {
		n = fread(bytes, 1, room, f);
		fclose(f);
	}
	nn_free(params);
	nn_net_free(net);
	return n;
}

/* A new file each time: writing over an old one waits for the disk on some file systems. */
static bool file_handled(const char *bytes, size_t n, size_t *understood)
{
	struct nn_model_file *file = NULL;
	struct nn_error err = { 0 };
	bool good = true;

	unlink("damaged");
	put_bytes("damaged", bytes, n);
	if (nn_model_file_read(&file, "damaged", NULL, &err) == 0)
		++*understood;
	else
		good = is_sentence(&err, "damaged:");
	if (!good)
		printf("# code %d: %s\n", err.code, err.text);
	nn_model_file_free(file);
	return good;
}

static void damaged_files(void)
{
	static char bytes[1 << 14], copy[1 << 15];
	size_t n = make_file(bytes, sizeof bytes), bad = 0, understood = 0, whole = 0;
	uint32_t state = 1 << 20;

	if (!ok(n > 500, "model file: a small one is written"))
		return;
	for (int round = 0; round < ROUNDS / 4; round++) {
		memcpy(copy, bytes, n);
		bad += !file_handled(copy, damage(copy, round % 2 ? n : n / 2, &state),
				     &understood);
	}
	ok(bad == 0, "model file: 1,000 damaged files are refused with a sentence or understood");
	for (size_t i = 0; i < n; i++) {
		memcpy(copy, bytes, n);
		copy[i] = (char)(copy[i] ^ (1 << dice(&state, 8)));
		bad += !file_handled(copy, n, &understood);
	}
	ok(bad == 0, "model file: with any one bit turned: refused with a sentence or understood");
	understood = 0;
	for (size_t i = 0; i <= n; i++) {
		bad += !file_handled(bytes, i, i < n ? &understood : &whole);
	}
	ok(bad == 0 && understood == 0 && whole == 1, "model file: cut anywhere it is refused");
}

int main(void)
{
	go_to_tmp();
	damaged_texts();
	cut_texts();
	damaged_files();
	return tests_done();
}
