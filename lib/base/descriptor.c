/* Reading and writing descriptors, whatever signals come in between. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "base/text.h"

ssize_t nn_read_some(int fd, void *bytes, size_t n)
{
	ssize_t got;

	do
		got = read(fd, bytes, n);
	while (got < 0 && errno == EINTR);
	return got;
}

bool nn_read_all(int fd, void *bytes, size_t n)
{
	for (char *at = bytes; n > 0;) {
		ssize_t got = nn_read_some(fd, at, n);

		if (got <= 0) {
			errno = got < 0 ? errno : 0;
			return false;
		}
		at += got;
		n -= (size_t)got;
	}
	return true;
}

bool nn_read_at(int fd, void *bytes, size_t n, uint64_t at)
{
	for (size_t done = 0; done < n;) {
		ssize_t got = pread(fd, (char *)bytes + done, n - done, (off_t)(at + done));

		if (got == 0 || (got < 0 && errno != EINTR)) {
			errno = got < 0 ? errno : 0;
			return false;
		}
		done += got > 0 ? (size_t)got : 0;
	}
	return true;
}

bool nn_write_all(int fd, const void *bytes, size_t n)
{
	for (const char *at = bytes; n > 0;) {
		ssize_t written = write(fd, at, n);

		if (written == 0)
			errno = EIO;
		if (written == 0 || (written < 0 && errno != EINTR))
			return false;
		if (written > 0) {
			at += written;
			n -= (size_t)written;
		}
	}
	return true;
}

const char *nn_temporary_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && *folder ? folder : "/tmp";
}

int nn_unnamed_file(const char *place, const char *what, struct nn_error *err)
{
	struct nn_text path = { 0 };
	int fd = -1;

	nn_text_addf(&path, "%s/nn-%s.XXXXXX", nn_temporary_folder(), what);
	if (path.failed)
		nn_fail(err, NN_ENOMEM, "%s: cannot allocate memory for a name", place);
	else if ((fd = mkstemp(path.data)) < 0)
		nn_fail_errno(err, NN_EFAIL, "%s: cannot keep %s there", path.data, what);
	else
		unlink(path.data);
	nn_text_free(&path);
	return fd;
}
