/*
 * .npz: what is written is read, zip64 or not; cut, flipped and hostile files are read or refused
 * in one line.
 */
#include "base/memory.h"
#include "base/text.h"
#include "file/npz.h"
#include "file/zip.h"
#include "files.h"

#define MANY 70000 /* more than zip counts without zip64 */

/* The arrays of every test: a value, none, several dimensions, a name that is no ASCII. */
static const struct nn_st_tensor *arrays(size_t *n)
{
	static const float f[6] = { 1, -2, 3.5f, 4, 5, 6 };
	static const int64_t whole[3] = { 1, -2, 3 };
	static const uint8_t bytes[4] = { 1, 2, 3, 255 };
	static const struct nn_st_tensor list[] = {
		{ "w", NN_F32, { 2, { 2, 3 } }, f },
		{ "b/1", NN_I64, { 1, { 3 } }, whole },
		{ "empty", NN_F64, { 2, { 0, 4 } }, f },
		{ "a", NN_F32, { 0, { 0 } }, f },
		{ "\xc3\xa4", NN_U8, { 3, { 2, 1, 2 } }, bytes },
		{ "h", NN_F16, { 1, { 2 } }, bytes },
	};

	*n = sizeof list / sizeof *list;
	return list;
}

static bool same_arrays(const struct nn_st *st)
{
	const struct nn_st_tensor *list;
	size_t n;

	list = arrays(&n);
	if (st->n_tensors != n || st->n_meta)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct nn_st_tensor *t = nn_st_find(st, list[i].name);

		if (!t || t->dtype != list[i].dtype || !nn_shape_equal(&t->shape, &list[i].shape) ||
		    memcmp(t->data, list[i].data,
			   nn_shape_count(&t->shape) * nn_dtype_size(t->dtype)) != 0)
			return false;
	}
	return true;
}

static size_t load(const char *path, unsigned char *bytes, size_t room)
{
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(bytes, 1, room, f) : 0;

	if (f)
		fclose(f);
	return n;
}

static bool save(const char *path, const struct nn_st_tensor *list, size_t n, uint64_t far)
{
	struct nn_output *out;
	struct nn_error err = { 0 };

	if (nn_output_open(&out, path, true, &err) == 0 &&
	    nn_npz_write_far(out, list, n, far, &err) == 0 && nn_output_commit(out, &err) == 0)
		return true;
	printf("# %s\n", err.text);
	return false;
}

static int read_bytes(struct nn_st **st, const void *bytes, size_t n, struct nn_error *err)
{
	struct nn_input *input;
	int status;

	if (nn_input_open_memory(&input, "z", err) < 0)
		return -1;
	nn_input_give(input, bytes, n);
	status = nn_npz_read(st, input, err);
	nn_input_close(input);
	return status;
}

static void round_trips(unsigned char *bytes, unsigned char *again, size_t room)
{
	static const uint64_t fars[] = { NN_ZIP_FAR, 400, 150, 1 };
	size_t n_arrays, n;
	const struct nn_st_tensor *list = arrays(&n_arrays);

	for (int i = 0; i < 4; i++) {
		struct nn_error err = { 0 };
		struct nn_st *st = NULL;
		char claim[100];

		n = save("a.npz", list, n_arrays, fars[i]) ? load("a.npz", bytes, room) : 0;
		snprintf(claim, sizeof claim,
			 "npz: what is written is read, with zip64 from %llu on",
			 (unsigned long long)fars[i]);
		if (!ok(read_bytes(&st, bytes, n, &err) == 0 && same_arrays(st), claim))
			printf("# %s\n", err.text);
		nn_st_free(st);
		ok(save("b.npz", list, n_arrays, fars[i]) && load("b.npz", again, room) == n &&
			   memcmp(bytes, again, n) == 0,
		   "npz: the same bytes for the same arrays");
	}
}

static void many_members(void)
{
	static char names[MANY][8];
	struct nn_st_tensor *list = nn_alloc(MANY, sizeof *list, NULL);
	struct nn_error err = { 0 };
	struct nn_input *input = NULL;
	struct nn_st *st = NULL;
	uint8_t value = 7;

	for (size_t i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof names[i], "%zu", i);
		list[i] = (struct nn_st_tensor){ names[i], NN_U8, { 0, { 0 } }, &value };
	}
	ok(save("many.npz", list, MANY, NN_ZIP_FAR) &&
		   nn_input_open(&input, "many.npz", &err) == 0 &&
		   nn_npz_read(&st, input, &err) == 0 && st->n_tensors == MANY &&
		   nn_st_find(st, "69999"),
	   "npz: more members than 65535");
	nn_st_free(st);
	nn_input_close(input);
	nn_free(list);
}

static bool one_line(const struct nn_error *err)
{
	size_t n = strlen(err->text);

	if (n == 0 || nn_utf8_prefix(err->text, n) < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)err->text[i] < 32)
			return false;
	return true;
}

/* Cut at every length, every eleventh bit flipped: no length of the file is believed. */
static void damage(const char *claim, uint64_t far, unsigned char *bytes, unsigned char *copy,
		   size_t room)
{
	size_t n_arrays, n, read = 0;
	const struct nn_st_tensor *list = arrays(&n_arrays);
	bool cuts = true, flips = true;

	n = save("a.npz", list, n_arrays, far) ? load("a.npz", bytes, room) : 0;
	for (size_t length = 0; length < n; length++) {
		struct nn_error err = { 0 };
		struct nn_st *st = NULL;

		memcpy(copy, bytes, length); /* so that a sanitizer sees what is read beyond */
		cuts &= read_bytes(&st, copy, length, &err) < 0 && one_line(&err);
		nn_st_free(st);
	}
	for (size_t bit = 0; bit < 8 * n; bit += 11) {
		struct nn_error err = { 0 };
		struct nn_st *st = NULL;

		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
		if (read_bytes(&st, bytes, n, &err) == 0)
			read++;
		else
			flips &= one_line(&err);
		nn_st_free(st);
		bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
	}
	printf("# %zu of %zu flips change nothing that is looked at\n", read, 8 * n / 11);
	ok(n > 0 && cuts, claim);
	ok(n > 0 && flips && read < n / 2, "npz: so is a flipped bit, where it matters");
}

int main(void)
{
	enum { ROOM = 1 << 16 };
	unsigned char *bytes = malloc(ROOM), *again = malloc(ROOM);
	static const float f = 1;
	static const struct nn_st_tensor bf16 = { "x", NN_BF16, { 1, { 1 } }, &f };
	struct nn_output *out = NULL;
	struct nn_error err = { 0 };

	go_to_tmp();
	round_trips(bytes, again, ROOM);
	many_members();
	damage("npz: a file cut anywhere is refused in one line", NN_ZIP_FAR, bytes, again, ROOM);
	damage("npz: with zip64, too", 1, bytes, again, ROOM);
	if (nn_output_open(&out, "c.npz", true, &err) == 0)
		fails_as(nn_npz_write(out, &bf16, 1, &err), &err, NN_EFORMAT,
			 ".npy has no type for bf16", "npz: bf16 has no type");
	nn_output_abort(out);
	leave_tmp();
	free(bytes);
	free(again);
	printf("1..%d\n", n_tests);
	return n_failed > 0;
}
