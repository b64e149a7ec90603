/*
 * A server for tests of nn-bench load: protocol v2 metadata of a model, answers to predictions with
 * a Server-Timing of its own invention, and bad manners on demand. One thread, so that a stall is
 * everybody's.
 *
 *   load-server ADDRESS [KEY=VALUE]...     ADDRESS: "tcp" (its port is the line on stdout), or a
 * path
 *
 * Keys: stall=MS (so long after the first prediction a second of silence, once), fail=N (every Nth
 * is a 503), drop=N (every Nth is not answered, the connection closed), mute=N (every Nth is never
 * answered), close=1 (each answer ends its connection), chunked=1, untimed=1, status=S (of every
 * prediction), garbage=TEXT (in place of every answer to one), metadata=FILE, models=JSON, log=FILE
 * (paths and bodies of predictions), key=KEY (401 without it),
 * until=N (ends after that many).
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define MOST 600
#define ROOM ((size_t)1 << 20)

static struct {
	long stall, fail, drop, mute, close, chunked, untimed, status, until;
	const char *garbage, *key, *metadata, *models, *log;
} o;
static long predictions;
static FILE *log_file;
static const char fp32[] =
	"{\"name\":\"m\",\"versions\":[\"1\"],\"platform\":\"nn\",\"inputs\":[{\"name\":\"input\","
	"\"datatype\":\"FP32\",\"shape\":[-1,2,3]}],\"outputs\":[]}";

static void say(int fd, int status, const char *headers, const char *body)
{
	static char answer[ROOM];
	size_t n = strlen(body);
	int length;

	if (o.chunked)
		length = snprintf(answer, sizeof answer,
				  "HTTP/1.1 %d X\r\n%sTransfer-Encoding: "
				  "chunked\r\n\r\n%zx;a=b\r\n%s\r\n0\r\nTrailer: x\r\n\r\n",
				  status, headers, n, body);
	else
		length = snprintf(answer, sizeof answer,
				  "HTTP/1.1 %d X\r\n%sContent-Length: %zu\r\n\r\n%s", status,
				  headers, n, body);
	for (int at = 0; at < length;) {
		ssize_t sent = send(fd, answer + at, (size_t)(length - at), MSG_NOSIGNAL);

		if (sent < 0)
			return;
		at += (int)sent;
	}
}

/* Once, some time after the first call. */
static int is_stall(void)
{
	static struct timespec first;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (predictions == 1)
		first = now;
	if (!o.stall ||
	    (now.tv_sec - first.tv_sec) * 1000 + (now.tv_nsec - first.tv_nsec) / 1000000 < o.stall)
		return 0;
	o.stall = 0;
	return 1;
}

/* Whether the connection stays. */
static int predict(int fd, const char *request, size_t head, size_t n)
{
	static const struct timespec second = { 1, 0 };
	const char *timing =
		o.untimed ? ""
			  : "server-timing: read;dur=0.1, parse;desc=\"a, b;dur=9\";dur=0.2, "
			    "queue;dur=1,\r\n"
			    "Server-Timing: compute;dur=3,format;dur=0.5,other;dur=100\r\n";
	char headers[300];

	predictions++;
	if (log_file) {
		fprintf(log_file, "%.*s\n", (int)strcspn(request, "\r"), request);
		fwrite(request + head, 1, n - head, log_file);
		fputc('\n', log_file);
		fflush(log_file);
	}
	if (is_stall())
		nanosleep(&second, NULL);
	if (o.drop && predictions % o.drop == 0)
		return 0;
	if (o.mute && predictions % o.mute == 0)
		return 1;
	if (o.garbage) {
		send(fd, o.garbage, strlen(o.garbage), MSG_NOSIGNAL);
		return 0;
	}
	snprintf(headers, sizeof headers, "%s%s", timing, o.close ? "Connection: close\r\n" : "");
	if ((o.fail && predictions % o.fail == 0) || o.status)
		say(fd, o.status ? (int)o.status : 503, headers,
		    "{\"error\":\"the queue is full\"}");
	else
		say(fd, 200, headers, "{\"predictions\":[[1.0]]}");
	return !o.close;
}

static int answer(int fd, const char *request, size_t head, size_t n)
{
	static char file[ROOM / 2];
	char stats[200], bearer[200];

	snprintf(bearer, sizeof bearer, "\r\nAuthorization: Bearer %s\r\n", o.key ? o.key : "");
	if (o.key && !strstr(request, bearer))
		say(fd, 401, "", "{\"error\":\"no key\"}");
	else if (strncmp(request, "GET /v2/models ", 15) == 0)
		say(fd, o.models ? 200 : 404, "",
		    o.models ? o.models : "{\"error\":\"no such path\"}");
	else if (strncmp(request, "POST /v2/repository/index ", 26) == 0)
		say(fd, 200, "", "[{\"name\":\"m\",\"version\":\"1\",\"state\":\"READY\"}]");
	else if (strncmp(request, "GET /v2/models/m/stats ", 23) == 0) {
		snprintf(stats, sizeof stats,
			 "{\"model_stats\":[{\"name\":\"m\",\"inference_count\":%ld,\"execution_"
			 "count\":%ld}]}",
			 4 * predictions, predictions);
		say(fd, 200, "", stats);
	} else if (strncmp(request, "GET /v2/models/m ", 17) == 0) {
		FILE *f = o.metadata ? fopen(o.metadata, "r") : NULL;

		if (f) {
			file[fread(file, 1, sizeof file - 1, f)] = '\0';
			fclose(f);
		}
		say(fd, 200, "", f ? file : fp32);
	} else if (strncmp(request, "POST /v1/models/m:", 18) == 0 ||
		   strncmp(request, "POST /v2/models/m", 17) == 0)
		return predict(fd, request, head, n);
	else
		say(fd, 404, "", "{\"error\":\"no such path\"}");
	return 1;
}

struct connection {
	char *bytes;
	size_t n;
};

/* Requests that are whole; whether the connection stays. */
static int take(int fd, struct connection *c)
{
	for (;;) {
		char *end, *length;
		size_t head, body = 0;

		c->bytes[c->n] = '\0';
		if (!(end = strstr(c->bytes, "\r\n\r\n")))
			return 1;
		head = (size_t)(end - c->bytes) + 4;
		length = strstr(c->bytes, "\r\nContent-Length:");
		if (length && length < end)
			body = strtoul(length + 17, NULL, 10);
		if (c->n < head + body)
			return 1;
		if (!answer(fd, c->bytes, head, head + body))
			return 0;
		memmove(c->bytes, c->bytes + head + body, c->n - head - body);
		c->n -= head + body;
	}
}

static int listen_at(const char *address)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	int tcp = strcmp(address, "tcp") == 0, fd = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
	socklen_t size = sizeof in;

	snprintf(un.sun_path, sizeof un.sun_path, "%s", address);
	if (fd < 0 || bind(fd, tcp ? (void *)&in : (void *)&un, tcp ? sizeof in : sizeof un) < 0 ||
	    listen(fd, MOST) < 0 || (tcp && getsockname(fd, (void *)&in, &size) < 0)) {
		perror(address);
		exit(1);
	}
	printf("%d\n", tcp ? ntohs(in.sin_port) : 0);
	fflush(stdout);
	return fd;
}

static void take_key(const char *word)
{
	static const struct {
		const char *name;
		long *number;
		const char **text;
	} keys[] = {
		{ "stall=", &o.stall, NULL },       { "fail=", &o.fail, NULL },
		{ "drop=", &o.drop, NULL },         { "mute=", &o.mute, NULL },
		{ "close=", &o.close, NULL },       { "chunked=", &o.chunked, NULL },
		{ "untimed=", &o.untimed, NULL },   { "status=", &o.status, NULL },
		{ "until=", &o.until, NULL },       { "garbage=", NULL, &o.garbage },
		{ "metadata=", NULL, &o.metadata }, { "models=", NULL, &o.models },
		{ "log=", NULL, &o.log },           { "key=", NULL, &o.key },
	};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		size_t n = strlen(keys[i].name);

		if (strncmp(word, keys[i].name, n) != 0)
			continue;
		if (keys[i].number)
			*keys[i].number = atol(word + n);
		else
			*keys[i].text = word + n;
		return;
	}
	fprintf(stderr, "load-server: %s?\n", word);
	exit(2);
}

int main(int argc, char **argv)
{
	static struct pollfd fds[MOST + 1];
	static struct connection connections[MOST + 1];
	int n = 1;

	for (int i = 2; i < argc; i++)
		take_key(argv[i]);
	if (argc < 2 || (o.log && !(log_file = fopen(o.log, "w"))))
		return 2;
	fds[0] = (struct pollfd){ .fd = listen_at(argv[1]), .events = POLLIN };
	alarm(120); /* whatever becomes of the test */
	while (!o.until || predictions < o.until) {
		if (poll(fds, (nfds_t)n, -1) < 0)
			return 1;
		if ((fds[0].revents & POLLIN) && n <= MOST) {
			fds[n] = (struct pollfd){ .fd = accept(fds[0].fd, NULL, NULL),
						  .events = POLLIN };
			connections[n++] = (struct connection){ malloc(ROOM), 0 };
		}
		for (int i = n - 1; i > 0; i--) {
			struct connection *c = &connections[i];
			ssize_t got;

			if (!fds[i].revents)
				continue;
			got = recv(fds[i].fd, c->bytes + c->n, ROOM - 1 - c->n, 0);
			if (got > 0) {
				c->n += (size_t)got;
				if (take(fds[i].fd, c))
					continue;
			}
			close(fds[i].fd);
			free(c->bytes);
			connections[i] = connections[--n];
			fds[i] = fds[n];
		}
	}
	return 0;
}
