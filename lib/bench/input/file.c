/* A file read to its end, or as long as there is time. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "bench/input/file.h"
#include "file/input.h"

#define PIECE ((size_t)1 << 20)

struct pass {
	const struct nn_bench *bench;
	const char *path;
	unsigned char *bytes; /* [PIECE] */
	double ends_s;
};

static bool is_over(const struct pass *p)
{
	return nn_bench_stopped(p->bench) || nn_now_s() > p->ends_s;
}

/* Its bytes as they lie there. */
static int read_bytes(struct pass *p, off_t size, double *seconds, struct nn_error *err)
{
	double start = nn_now_s();
	off_t got = 0;
	int fd = open(p->path, O_RDONLY | O_CLOEXEC), why;
	ssize_t n = 1;

	if (fd < 0)
		return nn_fail_errno(err, NN_EFAIL, "%s: cannot open", p->path);
	while (n > 0 && !is_over(p)) {
		while ((n = read(fd, p->bytes, PIECE)) < 0 && errno == EINTR)
			;
		got += n > 0 ? n : 0;
	}
	why = errno;
	*seconds = got > 0 ? (nn_now_s() - start) * (double)size / (double)got : NAN;
	close(fd);
	errno = why;
	return n < 0 ? nn_fail_errno(err, NN_EFAIL, "%s: cannot read", p->path) : 0;
}

/* Is it compressed? Then the same through what takes that off. */
static int decompress(struct pass *p, double *seconds, struct nn_error *err)
{
	double start = nn_now_s(), share;
	const unsigned char *first;
	struct nn_input *input;
	size_t got;
	int status;

	if (nn_input_open(&input, p->path, err) < 0)
		return -1;
	status = nn_input_peek(input, &first, 1, &got, err);
	if (status == 0 && got > 0 && nn_input_left(input) < 0) {
		do
			status = nn_input_read(input, p->bytes, PIECE, &got, err);
		while (status == 0 && got > 0 && !is_over(p));
		share = nn_input_share(input);
		*seconds = share > 0 ? (nn_now_s() - start) / share : NAN;
	}
	nn_input_close(input);
	return status;
}

int nn_file_times(struct nn_file_times *times, const struct nn_bench *b, const char *path,
		  struct nn_error *err)
{
	struct pass p = { .bench = b, .path = path };
	struct stat st;
	int status;

	*times = (struct nn_file_times){ NAN, NAN };
	if (nn_is_stdin(path) || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (!(p.bytes = nn_alloc(PIECE, 1, err)))
		return -1;
	p.ends_s = nn_now_s() + b->options->time_s;
	status = read_bytes(&p, st.st_size, &times->read_s, err);
	p.ends_s = nn_now_s() + b->options->time_s;
	if (status == 0)
		status = decompress(&p, &times->decompress_s, err);
	nn_free(p.bytes);
	return status;
}
