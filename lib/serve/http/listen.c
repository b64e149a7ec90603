/* Where the server listens: TCP, a Unix socket, or what systemd passes (sd_listen_fds(3)). */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/output.h"
#include "serve/http/loop.h"

enum { BACKLOG = 1024, FIRST_PASSED = 3 };

static bool is_loopback(const struct sockaddr *address)
{
	const struct sockaddr_in *v4 = (const void *)address;
	const struct sockaddr_in6 *v6 = (const void *)address;

	if (address->sa_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
	return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* A socket that listens: name it if it is the first, see how far it reaches. */
static int add(struct nn_http *http, int fd, struct nn_error *err)
{
	struct sockaddr_storage address = { 0 };
	socklen_t size = sizeof address;
	char host[INET6_ADDRSTRLEN] = "", port[8] = "";
	const char *path = ((struct sockaddr_un *)&address)->sun_path;
	bool first = http->n_listeners == 0;

	if (getsockname(fd, (struct sockaddr *)&address, &size) != 0 ||
	    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0 ||
	    fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
		close(fd);
		return nn_fail_errno(err, NN_EFAIL, "cannot use a socket that is to listen");
	}
	http->listeners[http->n_listeners++] = fd;
	if (address.ss_family == AF_UNIX) {
		if (first)
			nn_text_addf(&http->where, "unix:%s", path);
	} else {
		http->wide |= !is_loopback((struct sockaddr *)&address);
		getnameinfo((struct sockaddr *)&address, size, host, sizeof host, port, sizeof port,
			    NI_NUMERICHOST | NI_NUMERICSERV);
		if (first)
			nn_text_addf(&http->where, strchr(host, ':') ? "%s[%s]:%s" : "%s%s:%s",
				     http->setup.tls_cert ? "https://" : "http://", host, port);
	}
	return http->where.failed ? nn_fail(err, NN_ENOMEM, "out of memory") : 0;
}

/* Does a server answer at this address? */
static bool is_live(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool live = fd >= 0 &&
		    (connect(fd, (const void *)address, sizeof *address) == 0 || errno == EAGAIN);

	if (fd >= 0)
		close(fd);
	return live;
}

static int listen_unix(struct nn_http *http, const char *path, struct nn_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct stat found;
	mode_t mask;
	int fd, bound;

	memcpy(address.sun_path, path, strlen(path) + 1);
	if (lstat(path, &found) == 0) {
		if (!S_ISSOCK(found.st_mode))
			return nn_fail(err, NN_EFAIL, "cannot listen on %s: it is not a socket",
				       path);
		if (is_live(&address))
			return nn_fail(err, NN_EFAIL, "cannot listen on %s: a server listens there",
				       path);
		unlink(path);
	}
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return nn_fail_errno(err, NN_EFAIL, "cannot listen on %s", path);
	mask = umask(0177); /* 0600 from its first moment */
	bound = bind(fd, (struct sockaddr *)&address, sizeof address);
	umask(mask);
	if (bound == 0)
		http->unix_path = nn_strdup(path, NULL);
	if (http->unix_path)
		http->unix_handle = nn_output_remember(http->unix_path);
	if (bound != 0 || !http->unix_path || listen(fd, BACKLOG) != 0) {
		nn_fail_errno(err, NN_EFAIL, "cannot listen on %s", path);
		close(fd);
		return -1;
	}
	return add(http, fd, err);
}

static int listen_at(const struct addrinfo *at)
{
	int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	if (bind(fd, at->ai_addr, at->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
		int why = errno;

		close(fd);
		errno = why;
		return -1;
	}
	return fd;
}

/* Cut HOST:PORT or [HOST]:PORT; false: it is neither. */
static bool split(char *text, const char **host, const char **port)
{
	char *colon = strrchr(text, ':'), *end;

	if (!colon || colon[1] == '\0' || strspn(colon + 1, "0123456789") != strlen(colon + 1) ||
	    strlen(colon + 1) > 5 || strtoul(colon + 1, NULL, 10) > 65535)
		return false;
	*colon = '\0';
	*port = colon + 1;
	*host = text;
	if (*text == '[') {
		end = colon - 1;
		if (*end != ']' || end == text + 1)
			return false;
		*end = '\0';
		*host = text + 1;
		return true;
	}
	return *text != '\0' && !strchr(text, ':');
}

int nn_http_check_listen(const char *listen, struct nn_error *err)
{
	const size_t most = sizeof((struct sockaddr_un *)NULL)->sun_path - 1;
	const char *host, *port;
	char quoted[NN_QUOTED], *text;
	bool good;

	nn_quote(quoted, listen, strlen(listen));
	if (strncmp(listen, "unix:", 5) == 0)
		return listen[5] && strlen(listen + 5) <= most
			       ? 0
			       : nn_fail(err, NN_EUSAGE,
					 "--listen=%s: the path of a Unix socket has %zu bytes, "
					 "expected 1 to %zu",
					 quoted, strlen(listen + 5), most);
	text = nn_strdup(listen, err);
	if (!text)
		return -1;
	good = split(text, &host, &port);
	nn_free(text);
	return good ? 0
		    : nn_fail(err, NN_EUSAGE,
			      "--listen=%s: expected HOST:PORT, [HOST]:PORT or unix:PATH", quoted);
}

static int listen_tcp(struct nn_http *http, struct nn_error *err)
{
	const char *listen = http->setup.listen, *host, *port;
	struct addrinfo hints = { .ai_flags = AI_PASSIVE | AI_NUMERICSERV,
				  .ai_socktype = SOCK_STREAM },
			*found = NULL;
	char *text = strdup(listen);
	int fd = -1, status;

	if (!text)
		return nn_fail(err, NN_ENOMEM, "out of memory");
	split(text, &host, &port);
	status = getaddrinfo(strcmp(host, "*") == 0 ? NULL : host, port, &hints, &found);
	free(text);
	if (status != 0)
		return nn_fail(err, NN_EFAIL, "cannot listen on %s: %s", listen,
			       status == EAI_SYSTEM ? strerror(errno) : gai_strerror(status));
	for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next)
		fd = listen_at(at);
	freeaddrinfo(found);
	if (fd < 0)
		return nn_fail_errno(err, NN_EFAIL, "cannot listen on %s", listen);
	return add(http, fd, err);
}

/* How many sockets. */
static long passed(void)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");

	return pid && count && strtol(pid, NULL, 10) == (long)getpid() ? strtol(count, NULL, 10)
								       : 0;
}

bool nn_http_is_passed(void)
{
	return passed() > 0;
}

void nn_http_close_passed(void)
{
	const char *pid = getenv("LISTEN_PID"), *count = getenv("LISTEN_FDS");
	long n = pid && count && strtol(pid, NULL, 10) == (long)getppid() ? strtol(count, NULL, 10)
									  : 0;

	for (int fd = FIRST_PASSED; fd < FIRST_PASSED + n && n <= NN_HTTP_LISTENERS; fd++)
		close(fd);
}

static int listen_passed(struct nn_http *http, struct nn_error *err)
{
	long n = passed();
	int listens = 0;
	socklen_t size = sizeof listens;

	if (n <= 0)
		return nn_fail(err, NN_EFAIL,
			       "no sockets were passed (LISTEN_PID, LISTEN_FDS): give --listen");
	unsetenv("LISTEN_PID");
	unsetenv("LISTEN_FDS");
	unsetenv("LISTEN_FDNAMES");
	if (n > NN_HTTP_LISTENERS)
		return nn_fail(err, NN_EFAIL, "%ld sockets were passed, at most %d can be used", n,
			       NN_HTTP_LISTENERS);
	for (int fd = FIRST_PASSED; fd < FIRST_PASSED + n; fd++) {
		if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens)
			return nn_fail(err, NN_EFAIL,
				       "descriptor %d, which was passed, is not a socket that "
				       "listens",
				       fd);
		if (add(http, fd, err) != 0)
			return -1;
	}
	return 0;
}

/* Sockets that other processes accept from, too. */
static int listen_with(struct nn_http *http, const struct nn_http *from, struct nn_error *err)
{
	memcpy(http->listeners, from->listeners, sizeof http->listeners);
	http->n_listeners = from->n_listeners;
	http->wide = from->wide;
	nn_text_add(&http->where, from->where.data);
	return http->where.failed ? nn_fail(err, NN_ENOMEM, "out of memory") : 0;
}

int nn_http_listen(struct nn_http *http, struct nn_error *err)
{
	const char *listen = http->setup.listen;

	if (http->setup.from)
		return listen_with(http, http->setup.from, err);
	if (!listen)
		return listen_passed(http, err);
	if (nn_http_check_listen(listen, err) < 0)
		return -1;
	if (strncmp(listen, "unix:", 5) == 0)
		return listen_unix(http, listen + 5, err);
	return listen_tcp(http, err);
}
