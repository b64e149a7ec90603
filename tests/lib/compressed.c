/* Inputs that are compressed with xz or zstd: members, cuts, damage, bombs, a module that is
 * missing. */
#include "file/input.h"
#include "files.h"

/* All of path in memory, or the error. */
static int slurp(const char *path, char *text, size_t room, size_t *n, struct nn_error *err)
{
	struct nn_input *in;
	int status;

	if (nn_input_open(&in, path, err) < 0)
		return -1;
	status = nn_input_read(in, text, room - 1, n, err);
	nn_input_close(in);
	text[status < 0 ? 0 : *n] = '\0';
	return status;
}

static void slurp_is(const char *path, const char *wanted, const char *claim)
{
	static char text[1 << 16];
	struct nn_error err;
	size_t n;

	text_is(slurp(path, text, sizeof text, &n, &err) < 0 ? err.text : text, wanted, claim);
}

static void cut(const char *from, const char *to, long n)
{
	char command[200];

	snprintf(command, sizeof command, "head -c %ld %s > %s", n, from, to);
	if (run(command) != 0)
		printf("# failed: %s\n", command);
}

/* A bomb, and bytes that take several reads. */
static void large(const char *command)
{
	struct nn_error err;
	char line[300];

	snprintf(line, sizeof line,
		 "head -c 20000000 /dev/zero | %s >zeros && head -c 3000000 /dev/urandom | %s >big",
		 command, command);
	if (run(line) == 0) {
		struct nn_input *in;
		struct nn_block block = { 0 };

		ok(nn_input_open(&in, "zeros", &err) == 0 &&
			   nn_input_load(in, &block, 0, 20000000, "zeros", &err) < 0,
		   "compressed: a bomb is refused");
		text_is(err.text, "zeros: decompresses to more than 1100 times its size (--limit=ratio=2200)",
			"compressed: and named");
		nn_input_close(in);
		ok(nn_input_open(&in, "big", &err) == 0 &&
			   nn_input_load(in, &block, 0, 3000000, "big", &err) == 0 &&
			   nn_input_end(in, "big", &err) == 0,
		   "compressed: what cannot be made smaller");
		nn_block_free(&block);
		nn_input_close(in);
	}
}

/* What the commands do not write: zeros behind xz, a frame before zstd that is to be skipped. */
static void padded(void)
{
	char line[300], file[20], wanted[120];

	for (int zeros = 1; zeros <= 8; zeros++) {
		snprintf(file, sizeof file, "zeros%d.xz", zeros);
		snprintf(line, sizeof line, "(cat a.xz; head -c %d /dev/zero; %s) >%s", zeros,
			 zeros & 1 ? ":" : "cat a.xz", file);
		snprintf(wanted, sizeof wanted,
			 "%s: %d zero%s follow the xz data, expected a multiple of 4", file, zeros,
			 zeros == 1 ? "" : "s");
		if (run(line) == 0)
			slurp_is(file, zeros % 4 ? wanted : "some textsome text",
				 "compressed: xz is padded by four zeros, or eight");
	}
	if (run("(cat a.xz; head -c 4 /dev/zero) >end.xz") == 0)
		slurp_is("end.xz", "some text", "compressed: at its end, too");
}

static void skipped(void)
{
	if (run("(printf 'P*M\\030\\003\\0\\0\\0abc'; cat a.zstd) >first") == 0)
		slurp_is("first", "some text", "compressed: a frame that is skipped comes first");
	if (run("(cat a.zstd; printf '_*M\\030\\001\\0\\0\\0a'; cat first) >between") == 0)
		slurp_is("between", "some textsome text", "compressed: or between others");
	if (run("head -c 10 first >cut") == 0)
		slurp_is("cut", "cut: the zstd data end early", "compressed: and is not cut");
}

/* xz and zstd: by their commands where these are installed, by their modules where they were built.
 */
static void compressed(const char *word, const char *command, const char *damage)
{
	struct nn_error err = { 0 };
	char line[300], file[60], wanted[100], text[64];
	size_t n;
	long size;
	FILE *packed;

	snprintf(line, sizeof line,
		 "%s <a >a.%s && cat a.%s a.%s >two.%s && (cat a.%s; printf junk) >junk.%s && (cat "
		 "a.%s; "
		 "printf 'other bytes') >other.%s && %s </dev/null >none.%s",
		 command, word, word, word, word, word, word, word, word, command, word);
	if (run(line) != 0) {
		ok(true, "compressed: # skip the command is not installed");
		return;
	}
	snprintf(file, sizeof file, "a.%s", word);
	if (slurp(file, text, sizeof text, &n, &err) < 0 && err.code == NN_ENODEV) {
		snprintf(wanted, sizeof wanted,
			 "a.%s: is compressed with %s: module nn-%s.so is not installed", word,
			 word, word);
		text_is(err.text, wanted, "compressed: without the module it is named");
		return;
	}
	slurp_is(file, "some text", "compressed: is taken off");
	snprintf(file, sizeof file, "none.%s", word);
	slurp_is(file, "", "compressed: nothing is an empty file");
	snprintf(file, sizeof file, "two.%s", word);
	slurp_is(file, "some textsome text", "compressed: members are concatenated");
	for (int i = 0; i < 2; i++) {
		snprintf(file, sizeof file, "%s.%s", i ? "other" : "junk", word);
		snprintf(wanted, sizeof wanted, "%s: other bytes follow the %s data", file, word);
		slurp_is(file, wanted, "compressed: bytes after it are an error");
	}
	snprintf(file, sizeof file, "a.%s", word);
	packed = fopen(file, "rb");
	fseek(packed, 0, SEEK_END);
	size = ftell(packed);
	fclose(packed);
	snprintf(wanted, sizeof wanted, "cut: the %s data end early", word);
	for (long i = 6; i < size; i++) {
		cut(file, "cut", i);
		slurp_is("cut", wanted, "compressed: a cut file is an error");
	}
	snprintf(line, sizeof line,
		 "cp %s bad && printf '\\377' | dd of=bad bs=1 seek=%ld conv=notrunc 2>/dev/null",
		 file, size / 2);
	if (run(line) == 0 && slurp("bad", text, sizeof text, &n, &err) < 0)
		text_is(err.text, damage, "compressed: damage is an error");
	large(command);
	(strcmp(word, "xz") == 0 ? padded : skipped)();
}

int main(void)
{
	go_to_tmp();
	put("a", "some text");
	compressed("xz", "xz -c", "bad: the xz data are damaged");
	compressed("zstd", "zstd -qc",
		   "bad: the zstd data are damaged (Restored data doesn't match checksum)");
	return tests_done();
}
