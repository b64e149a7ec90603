/* The key file, and who may do what. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/memory.h"
#include "base/sha256.h"
#include "serve/keys.h"

#define MOST_BYTES ((size_t)1 << 20)
#define BLANKS " \t\r"

struct key {
	char digest[NN_SHA256_HEX];
	unsigned rights;
	int line;
};

struct nn_keys {
	struct key *keys;
	size_t n;
};

static void digest_of(char digest[NN_SHA256_HEX], const char *key, size_t n)
{
	struct nn_sha256 hash;

	nn_sha256_init(&hash);
	nn_sha256_add(&hash, key, n);
	nn_sha256_hex(&hash, digest);
}

/* ---- the file ---- */

static const struct {
	const char *word;
	enum nn_right right;
} rights[] = { { "predict", NN_RIGHT_PREDICT }, { "admin", NN_RIGHT_ADMIN } };
#define N_RIGHTS (sizeof rights / sizeof *rights)

/* Words with commas between; 0: one is none. */
static unsigned parse_rights(const char *text, size_t n)
{
	unsigned all = 0;
	size_t length;

	for (const char *end = text + n; text <= end; text += length + 1) {
		const char *comma = memchr(text, ',', (size_t)(end - text));
		unsigned right = 0;

		length = (size_t)((comma ? comma : end) - text);
		for (size_t i = 0; i < N_RIGHTS; i++)
			if (strlen(rights[i].word) == length &&
			    memcmp(rights[i].word, text, length) == 0)
				right = rights[i].right;
		if (!right)
			return 0;
		all |= right;
	}
	return all;
}

static bool is_visible(const char *key, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (key[i] <= ' ' || key[i] > '~')
			return false;
	return true;
}

/* A line that has something; errors never show its words, of which one is a key. */
static int take_key(struct nn_keys *keys, const char *place, int number, const char *line,
		    struct nn_error *err)
{
	struct key *key = &keys->keys[keys->n];
	size_t n = strcspn(line, BLANKS), length;
	const char *words = line + n + strspn(line + n, BLANKS), *rest;

	if (!is_visible(line, n))
		return nn_fail(err, NN_EFAIL,
			       "%s:%d: the key has other than visible ASCII characters", place,
			       number);
	if (!*words || *words == '#')
		return nn_fail(err, NN_EFAIL,
			       "%s:%d: no right after the key, expected predict or admin", place,
			       number);
	length = strcspn(words, BLANKS);
	rest = words + length + strspn(words + length, BLANKS);
	key->rights = parse_rights(words, length);
	if (!key->rights)
		return nn_fail(err, NN_EFAIL,
			       "%s:%d: unknown right after the key, expected predict or admin",
			       place, number);
	if (*rest && *rest != '#')
		return nn_fail(err, NN_EFAIL,
			       "%s:%d: more than a key and its rights, which commas separate",
			       place, number);
	digest_of(key->digest, line, n);
	key->line = number;
	for (size_t i = 0; i < keys->n; i++)
		if (strcmp(keys->keys[i].digest, key->digest) == 0)
			return nn_fail(err, NN_EFAIL, "%s:%d: the key of line %d again", place,
				       number, keys->keys[i].line);
	keys->n++;
	return 0;
}

static int take_lines(struct nn_keys *keys, const char *place, char *text, struct nn_error *err)
{
	size_t lines = 1;
	int number = 0;

	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	keys->keys = nn_alloc(lines, sizeof *keys->keys, err);
	if (!keys->keys)
		return -1;
	for (char *line = text, *next; line; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		number++;
		line += strspn(line, BLANKS);
		if (*line && *line != '#' && take_key(keys, place, number, line, err) < 0)
			return -1;
	}
	return keys->n > 0 ? 0 : nn_fail(err, NN_EFAIL, "%s: no keys", place);
}

/* text [MOST_BYTES + 1] */
static int read_file(char *text, const char *path, struct nn_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0;
	ssize_t got = 0;
	struct stat s;

	if (fd < 0 || fstat(fd, &s) < 0) {
		nn_fail_errno(err, NN_EFAIL, "%s", path);
	} else if (s.st_mode & S_IRWXO) {
		nn_fail(err, NN_EFAIL,
			"%s: others can read or change it (mode %04o): make it yours with chmod "
			"600",
			path, (unsigned)s.st_mode & 07777);
	} else {
		while (n <= MOST_BYTES &&
		       (got = nn_read_some(fd, text + n, MOST_BYTES + 1 - n)) > 0)
			n += (size_t)got;
		if (got < 0)
			nn_fail_errno(err, NN_EFAIL, "%s", path);
		else if (n > MOST_BYTES || memchr(text, '\0', n))
			nn_fail(err, NN_EFAIL, "%s: not a file of keys", path);
		else {
			text[n] = '\0';
			close(fd);
			return 0;
		}
	}
	if (fd >= 0)
		close(fd);
	return -1;
}

int nn_keys_open(struct nn_keys **keys, const char *path, struct nn_error *err)
{
	struct nn_keys *k = nn_alloc(1, sizeof *k, err);
	char *text = k ? nn_alloc(MOST_BYTES + 1, 1, err) : NULL;
	int status = text ? read_file(text, path, err) : -1;

	if (status == 0)
		status = take_lines(k, path, text, err);
	if (text)
		explicit_bzero(text, MOST_BYTES + 1);
	nn_free(text);
	if (status < 0) {
		nn_keys_close(k);
		return -1;
	}
	*keys = k;
	return 0;
}

void nn_keys_close(struct nn_keys *keys)
{
	if (!keys)
		return;
	nn_free(keys->keys);
	nn_free(keys);
}

/* ---- requests ---- */

/* The key of "Bearer KEY", blanks around it left out; NULL: something else. */
static const char *bearer(const char *value, size_t *n)
{
	static const char scheme[] = "bearer";

	if (!value)
		return NULL;
	value += strspn(value, BLANKS);
	if (strncasecmp(value, scheme, strlen(scheme)) != 0)
		return NULL;
	value += strlen(scheme);
	if (strspn(value, BLANKS) == 0)
		return NULL;
	value += strspn(value, BLANKS);
	*n = strlen(value);
	while (*n > 0 && strchr(BLANKS, value[*n - 1]))
		--*n;
	return *n > 0 ? value : NULL;
}

/* All ones where the digests are the same, else 0; it takes the same time for both. */
static unsigned same(const char a[NN_SHA256_HEX], const char b[NN_SHA256_HEX])
{
	unsigned different = 0;

	for (size_t i = 0; i < NN_SHA256_HEX; i++)
		different |= (unsigned)(a[i] ^ b[i]) & 0xff;
	return (different - 1) >> 31 ? ~0u : 0;
}

unsigned nn_keys_allow(const struct nn_keys *keys, const char *authorization, enum nn_right right)
{
	char digest[NN_SHA256_HEX];
	unsigned found = 0;
	size_t n = 0;
	const char *key = bearer(authorization, &n);

	if (!key)
		return 401;
	digest_of(digest, key, n);
	for (size_t i = 0; i < keys->n; i++)
		found |= keys->keys[i].rights & same(keys->keys[i].digest, digest);
	return !found ? 401 : found & (unsigned)right ? 0 : 403;
}
