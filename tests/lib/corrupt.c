/*
 * Damaged files of every format: cut at every length, bytes flipped and lengthened at random. They
 * are read or refused in one line; nothing crashes (run with sanitizers).
 */
#include <sys/resource.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "data/data.h"
#include "file/json/json.h"
#include "file/safetensors.h"
#include "files.h"

#ifndef ROUNDS
#define ROUNDS 80
#endif

static uint64_t draws;

static uint32_t draw(uint32_t n)
{
	uint32_t x[4];

	nn_philox(20, draws++, NN_STREAM_NOISE, 0, x);
	return (uint32_t)((uint64_t)x[0] * n >> 32);
}

static bool one_line(const struct nn_error *err)
{
	size_t n = strlen(err->text);

	if (n == 0 || n >= sizeof err->text || nn_utf8_prefix(err->text, n) < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)err->text[i] < 32)
			return false;
	return true;
}

static int bad_message(const struct nn_error *err)
{
	printf("# message: %.300s\n", err->text);
	return -1;
}

/* Everything a reader can be asked about a file: 0, or -1 when an error was no line. */
static int as_dataset(const char *path, const char *target, bool all)
{
	static const char *const losses = "cn0";
	struct nn_data_options options = { .target = target };
	struct nn_want_input input = { .vector = true };
	int status = 0;

	for (int i = 0; i < (all ? 3 : 1) && status == 0; i++) {
		struct nn_want_target want_target = { .classes = losses[i] == 'c',
						      .numbers = losses[i] == 'n' };
		struct nn_want want = { .inputs = &input,
					.n_inputs = 1,
					.targets = &want_target,
					.n_targets = 1,
					.dtype = i ? NN_F64 : NN_F32 };
		struct nn_dataset *ds;
		struct nn_error err = { 0 };

		if (nn_dataset_open(&ds, path, target ? NULL : path, &options, &want, &err) < 0) {
			status = one_line(&err) ? 0 : bad_message(&err);
			continue;
		}
		if (nn_dataset_rows(ds)) {
			uint64_t row = nn_dataset_rows(ds) - 1;
			size_t size = nn_shape_count(&nn_dataset_schema(ds)->inputs[0].shape);
			void *values = nn_alloc(size + nn_dataset_target_size(ds, 0), 8, &err);

			if (nn_dataset_measure(ds, &row, 1, &err) < 0)
				status = one_line(&err) ? 0 : bad_message(&err);
			nn_dataset_fill_input(ds, 0, &row, 1, false, values);
			nn_dataset_fill_target(ds, 0, &row, 1, values);
			nn_free(values);
		}
		nn_dataset_free(ds);
	}
	return status;
}

static int as_rows(const char *path, const char *input_json, int on_error)
{
	struct nn_rows_options options = { .on_error = on_error, .scaled = true };
	struct nn_schema *schema;
	struct nn_rows *rows;
	struct nn_error err = { 0 };
	float values[4][64];
	void *to[1] = { values };
	const char *bad[4];
	size_t n = 1;
	bool end = false;
	int status = 0;

	if (nn_schema_parse(&schema, input_json, NULL, &err) < 0)
		return -1;
	if (nn_rows_open(&rows, path, NULL, schema, &options, NN_F32, &err) < 0) {
		nn_schema_free(schema);
		return one_line(&err) ? 0 : bad_message(&err);
	}
	while (status == 0 && (n > 0 || end)) {
		end = false;
		if (nn_rows_next(rows, 4, to, NULL, bad, &n, &end, &err) < 0) {
			status = one_line(&err) ? 0 : bad_message(&err);
			break;
		}
	}
	nn_rows_close(rows);
	nn_schema_free(schema);
	return status;
}

static int as_model(const char *path)
{
	struct nn_error err = { 0 };
	struct nn_st *st;

	if (nn_st_read(&st, path, &err) < 0)
		return one_line(&err) ? 0 : bad_message(&err);
	nn_st_free(st);
	return 0;
}

static int as_everything(const char *path, const char *target)
{
	return as_dataset(path, target, true) < 0 || as_dataset(path, NULL, false) < 0 ||
			       as_rows(path, "{\"shape\":[4]}", 1) < 0 ||
			       as_rows(path, "{\"shape\":[2,2],\"scale\":2}", 2) < 0 ||
			       as_rows(path,
				       "{\"columns\":[{\"kind\":\"number\",\"name\":\"a\",\"mean\":"
				       "1,\"sd\":2},{\"kind\":\"category\","
				       "\"name\":\"c\",\"values\":[\"x\"]}],\"shape\":[2]}",
				       2) < 0 ||
			       as_model(path) < 0
		       ? -1
		       : 0;
}

static void damage(const char *kind, const char *bytes, size_t n, const char *target)
{
	char copy[4096], claim[100];
	int status = 0;

	put_bytes("f", bytes, n);
	status = as_everything("f", target);
	snprintf(claim, sizeof claim, "%s: whole", kind);
	ok(status == 0, claim);
	for (size_t i = 0; i < n && status == 0; i += 1 + n / (ROUNDS * 2)) {
		put_bytes("f", bytes, i);
		status = as_everything("f", target);
	}
	snprintf(claim, sizeof claim, "%s: cut anywhere, read or refused in one line", kind);
	ok(status == 0, claim);
	for (int round = 0; round < ROUNDS && status == 0; round++) {
		static const char odd[] = "\0\1\xff\"\n\r,{}[]:-e.09\x80\t ";
		size_t length = n;

		memcpy(copy, bytes, n);
		for (uint32_t i = 0, flips = 1 + draw(4); i < flips; i++) {
			size_t at = draw((uint32_t)length);

			switch (draw(4)) {
			case 0:
				copy[at] = (char)draw(256);
				break;
			case 1:
				copy[at] = odd[draw(sizeof odd - 1)];
				break;
			case 2:
				copy[at] ^= (char)(1 << draw(8));
				break;
			default: { /* a piece of the file once more */
				size_t from = draw((uint32_t)length), m = 1 + draw(20);

				m = from + m > length ? length - from : m;
				m = length + m > sizeof copy ? 0 : m;
				memmove(copy + at + m, copy + at, length - at);
				memcpy(copy + at, bytes + (from < n ? from : 0),
				       from + m <= n ? m : 0);
				length += m;
			}
			}
		}
		put_bytes("f", copy, length);
		status = as_everything("f", target);
		if (status < 0)
			printf("# round %d\n", round);
	}
	snprintf(claim, sizeof claim, "%s: damaged at random, read or refused in one line", kind);
	ok(status == 0, claim);
}

static size_t npy(char *file, const char *dict, size_t data)
{
	size_t n = strlen(dict);

	memcpy(file, "\x93NUMPY\1\0", 8);
	file[8] = (char)n, file[9] = 0;
	memcpy(file + 10, dict, n);
	for (size_t i = 0; i < data; i++)
		file[10 + n + i] = (char)(i % 7);
	return 10 + n + data;
}

static void tables(void)
{
	const char *csv = "a,b,c,y\n1,2.5,x,0\n-3,4e1,\"y\"\"z\n\",1\n5,6,,0\n";
	const char *tsv = "a\tc\ty\r\n1\tx\tu\r\n2\tz\tv\r\n";

	damage("csv", csv, strlen(csv), "y");
	damage("tsv", tsv, strlen(tsv), "y");
	damage("csv without a header", "1,2,3,4\n5,6,7,8\n", 16, "4");
}

static void arrays(void)
{
	char file[1000];

	damage("npy", file,
	       npy(file, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n", 48),
	       NULL);
	damage("npy, Fortran", file,
	       npy(file, "{'descr': '>i2', 'fortran_order': True, 'shape': (3, 2, 2), }\n", 24),
	       NULL);
	damage("npy, u8", file,
	       npy(file, "{'descr': '|u1', 'fortran_order': False, 'shape': (3, 4), }\n", 12),
	       NULL);
	damage("idx", "\0\0\x08\3\0\0\0\2\0\0\0\2\0\0\0\2abcdefgh", 24, NULL);
	damage("idx labels", "\0\0\x0c\1\0\0\0\2\0\0\0\2\0\0\0\2", 16, NULL);
}

static void containers(void)
{
	const char *header = "{\"__metadata__\":{\"nn.version\":\"1\"},\"x\":{\"dtype\":\"F32\","
			     "\"shape\":[2,2],\"data_offsets\":[0,16]},"
			     "\"y\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[16,18]}}";
	char file[1000] = { (char)strlen(header) };

	memcpy(file + 8, header, strlen(header));
	damage("safetensors", file, 8 + strlen(header) + 18, NULL);
	put("z.csv", "a,b,c,y\n1,2.5,x,0\n-3,4e1,q,1\n5,6,,0\n");
	if (run("gzip -kn z.csv") == 0) {
		FILE *f = fopen("z.csv.gz", "rb");
		size_t n = f ? fread(file, 1, sizeof file, f) : 0;

		if (f)
			fclose(f);
		damage("gzip", file, n, "y");
	}
}

static int parse_schema(const char *text, bool input)
{
	struct nn_error err = { 0 };
	struct nn_schema *schema;

	if (nn_schema_parse(&schema, input ? text : NULL, input ? NULL : text, &err) < 0)
		return one_line(&err) ? 0 : bad_message(&err);
	nn_schema_free(schema);
	return 0;
}

static void schemas(void)
{
	static const char *const texts[] = {
		"{\"columns\":[{\"kind\":\"number\",\"mean\":1,\"name\":\"a\",\"sd\":2},{\"kind\":"
		"\"category\",\"name\":\"c\",\"values\":[\"x\",\"z\"]}],\"shape\":[3]}",
		"[{\"columns\":[\"y\",3,null],\"labels\":null,\"mean\":[1,2,3],\"name\":\"o\","
		"\"sd\":[1,1,1]},{\"columns\":[\"z\"],\"labels\":[1,2]}]",
	};
	int status = 0;

	for (int round = 0; round < 20 * ROUNDS && status == 0; round++) {
		char copy[300];
		bool input = round % 2;

		strcpy(copy, texts[!input]);
		for (uint32_t i = 0, flips = draw(5); i < flips; i++)
			copy[draw((uint32_t)strlen(copy))] = "{}[]:,\"0-1e9ntx\\"[draw(16)];
		status = parse_schema(copy, input);
	}
	ok(status == 0, "schema: damaged at random, read or refused in one line");
}

/* What is small in a file must not become large in memory. */
static void bombs(void)
{
	char dict[200], file[400];
	struct rlimit limit = { (rlim_t)3 << 30, (rlim_t)3 << 30 };
	size_t n;

#if !defined __SANITIZE_ADDRESS__
	setrlimit(RLIMIT_AS, &limit);
#else
	(void)limit;
#endif
	snprintf(dict, sizeof dict,
		 "{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000, 4), }\n");
	n = npy(file, dict, 16);
	put_bytes("bomb.npy", file, n);
	ok(as_dataset("bomb.npy", NULL, false) == 0,
	   "npy: a shape that the file does not hold is not believed");
	if (run("cat bomb.npy | gzip > bomb.npy.gz; head -c 20000000 /dev/zero | gzip -1 > "
		"zeros.gz; head -c 20000000 /dev/zero | tr '\\0' , > commas.csv;"
		"head -c 20000000 /dev/zero | tr '\\0' '\"' > quotes.csv; head -c 20000000 "
		"/dev/zero | tr '\\0' '[' > deep") != 0)
		return;
	ok(as_dataset("bomb.npy.gz", NULL, false) == 0, "npy: nor through gzip");
	ok(as_dataset("zeros.gz", "y", false) == 0, "gzip: 20 MB of zeros are refused");
	ok(as_dataset("commas.csv", "y", false) == 0, "csv: 20 million columns are refused");
	ok(as_dataset("quotes.csv", "y", false) == 0, "csv: 20 million quotes are refused");
	ok(as_dataset("deep", "y", false) == 0, "csv: a line of 20 MB is refused");
}

int main(void)
{
	go_to_tmp();
	tables();
	arrays();
	containers();
	schemas();
	bombs();
	return tests_done();
}
