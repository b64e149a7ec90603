/* From a URL to a socket. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/number.h"
#include "bench/load/server.h"
#include "file/input.h"

static int refuse(const char *url, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	return nn_fail(err, NN_EUSAGE,
		       "%s: expected http://HOST:PORT, the server's root, or unix:PATH",
		       nn_quote(quoted, url, strlen(url)));
}

static int find_path(struct nn_load_server *s, const char *path, struct nn_error *err)
{
	struct sockaddr_un *address = (struct sockaddr_un *)&s->address;

	if (*path == '\0' || strlen(path) >= sizeof address->sun_path)
		return *path == '\0' ? refuse(s->url, err)
				     : nn_fail(err, NN_EUSAGE,
					       "%s: the name of a socket has at most %zu bytes",
					       s->url, sizeof address->sun_path - 1);
	address->sun_family = AF_UNIX;
	strcpy(address->sun_path, path);
	s->length = sizeof *address;
	strcpy(s->host, "localhost");
	return 0;
}

/* "host", "host:80", "[::1]:80" into a name and a port. */
static int split(const char *text, size_t n, char name[NN_LOAD_HOST], char port[8])
{
	const char *end = *text == '[' ? memchr(text, ']', n) : NULL;
	const char *colon = end ? end + 1 : memchr(text, ':', n);
	size_t length = colon ? (size_t)(colon - text) : n;
	uint64_t number = 80;

	if (n == 0 || n >= NN_LOAD_HOST || length == 0 || (*text == '[' && !end))
		return -1;
	if (length < n && (*colon != ':' || !nn_parse_u64(colon + 1, n - length - 1, &number) ||
			   number < 1 || number > 65535))
		return -1;
	snprintf(port, 8, "%u", (unsigned)number);
	snprintf(name, NN_LOAD_HOST, "%.*s", (int)(end ? length - 2 : length),
		 end ? text + 1 : text);
	return strpbrk(name, "/?#@ \t\r\n") || *name == '\0' ? -1 : 0;
}

/* Without the slash of the root. */
static size_t length_of(const char *text)
{
	size_t n = strlen(text);

	return n - (n > 0 && text[n - 1] == '/');
}

int nn_load_server_check(const char *url, struct nn_error *err)
{
	struct nn_load_server server = { .url = url };
	char name[NN_LOAD_HOST], port[8];

	if (strncmp(url, "unix:", 5) == 0)
		return find_path(&server, url + 5, err);
	return strncmp(url, "http://", 7) == 0 &&
			       split(url + 7, length_of(url + 7), name, port) == 0
		       ? 0
		       : refuse(url, err);
}

#define PROBE_MS 3000 /* for an address to answer, where a name has several */

/* Does anybody listen there? */
static bool is_there(const struct nn_load_server *s)
{
	struct pollfd fd = { .fd = nn_load_server_connect(s), .events = POLLOUT };
	socklen_t size = sizeof(int);
	int error = 1;

	if (fd.fd < 0)
		return false;
	if (poll(&fd, 1, PROBE_MS) == 1 &&
	    getsockopt(fd.fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		error = 1;
	close(fd.fd);
	return error == 0;
}

static void take_address(struct nn_load_server *s, const struct addrinfo *a)
{
	memcpy(&s->address, a->ai_addr, a->ai_addrlen);
	s->length = a->ai_addrlen;
}

/* The first address of a name that answers: localhost is often ::1 first, where few listen. */
static void choose(struct nn_load_server *s, const struct addrinfo *found)
{
	for (const struct addrinfo *a = found; a; a = a->ai_next) {
		take_address(s, a);
		if (!found->ai_next || is_there(s))
			return;
	}
	take_address(s, found);
}

static int find_host(struct nn_load_server *s, const char *text, struct nn_error *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *found;
	char name[NN_LOAD_HOST], port[8];
	size_t n = length_of(text);
	int status;

	if (split(text, n, name, port) < 0)
		return refuse(s->url, err);
	status = getaddrinfo(name, port, &hints, &found);
	if (status != 0)
		return nn_fail(err, NN_EFAIL, "%s: %s", s->url, gai_strerror(status));
	choose(s, found);
	freeaddrinfo(found);
	snprintf(s->host, sizeof s->host, "%.*s", (int)n, text);
	return 0;
}

int nn_load_server_find(struct nn_load_server *s, const char *url, struct nn_error *err)
{
	*s = (struct nn_load_server){ .url = url };
	if (strncmp(url, "unix:", 5) == 0)
		return find_path(s, url + 5, err);
	if (strncmp(url, "http://", 7) == 0)
		return find_host(s, url + 7, err);
	return refuse(url, err);
}

int nn_load_server_connect(const struct nn_load_server *s)
{
	int fd = socket(s->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
	    one = 1;

	if (fd < 0)
		return -1;
	/* A request goes out at once; a Unix socket knows no such option, and does so anyway. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (connect(fd, (const struct sockaddr *)&s->address, s->length) == 0 ||
	    errno == EINPROGRESS)
		return fd;
	one = errno;
	close(fd);
	errno = one;
	return -1;
}

int nn_load_server_key(struct nn_load_server *s, const char *path, struct nn_error *err)
{
	const unsigned char *bytes;
	struct nn_input *input;
	size_t got, n = 0;
	int status;

	if (nn_input_open(&input, path, err) < 0)
		return -1;
	status = nn_input_peek(input, &bytes, NN_LOAD_KEY + 1, &got, err);
	while (status == 0 && n < got && bytes[n] > ' ' && bytes[n] <= '~')
		n++;
	if (status == 0 && (n == 0 || n > NN_LOAD_KEY || (n < got && !strchr(" \t\r\n", bytes[n]))))
		status = nn_fail(err, NN_EFORMAT,
				 "%s:1: expected a key of at most %d letters, digits and signs",
				 path, NN_LOAD_KEY);
	if (status == 0)
		snprintf(s->headers, sizeof s->headers, "Authorization: Bearer %.*s\r\n", (int)n,
			 bytes);
	nn_input_close(input);
	return status;
}
