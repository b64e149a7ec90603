/*
 * libFuzzer's door to pictures and tars: `make fuzz`. Whatever the bytes are, a codec that says how
 * large a picture is decodes that one or says why not, and samples of a tar hold no more than it
 * had.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/module.h"
#include "data/picture/samples.h"
#include "file/picture/picture.h"

#define MOST_VALUES ((size_t)1 << 22) /* that are decoded here, for speed */
#define REQUIRE(claim) ((claim) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

extern const struct nn_module nn_module_png, nn_module_jpeg;

static void picture(const struct nn_codec *codec, const uint8_t *data, size_t n, bool classes)
{
	struct nn_picture_file file = { data, n, "file", classes };
	struct nn_error err = { 0 };
	struct nn_picture p;
	unsigned char *planes;
	size_t size;

	if (codec->header(&file, &p, &err) < 0) {
		REQUIRE(err.text[0]);
		return;
	}
	size = p.channels * p.height * p.width;
	REQUIRE(size > 0 && p.channels <= NN_PICTURE_MOST_CHANNELS);
	REQUIRE(!classes || p.channels == 1);
	if (size > MOST_VALUES)
		return;
	planes = malloc(size);
	if (codec->decode(&file, &p, planes, &err) < 0)
		REQUIRE(err.text[0]);
	p.width++;
	REQUIRE(codec->decode(&file, &p, planes, &err) < 0);
	free(planes);
}

static void tar(const uint8_t *data, size_t n)
{
	struct nn_picture_sample sample = { 0 };
	struct nn_sample_reader reader = { 0 };
	struct nn_error err = { 0 };
	struct nn_input *input;
	size_t bytes = 0;
	int got;

	REQUIRE(nn_input_open_memory(&input, "tar", &err) == 0);
	nn_input_give(input, data, n);
	REQUIRE(nn_sample_reader_open(&reader, input, NN_FORMAT_tar, &err) == 0);
	while ((got = nn_sample_reader_next(&reader, &sample, &err)) == 1) {
		REQUIRE(sample.picture.n > 0 && sample.name && sample.place);
		bytes += sample.picture.n + sample.mask.n;
	}
	REQUIRE(bytes <= n && (got == 0 || err.text[0]));
	nn_picture_sample_free(&sample);
	nn_sample_reader_close(&reader);
	nn_input_close(input);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	enum nn_format_id id = nn_sniff(data, n);

	if (id == NN_FORMAT_png || id == NN_FORMAT_jpeg) {
		const struct nn_module *module =
			id == NN_FORMAT_png ? &nn_module_png : &nn_module_jpeg;

		picture(module->table, data, n, false);
		picture(module->table, data, n, true);
	} else {
		tar(data, n);
	}
	return 0;
}
