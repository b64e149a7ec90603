/* HTTP as the server speaks it: whole requests, any thread, any split, connections that end. */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "serve-http.h"

static const char get_now[] = "GET /now HTTP/1.1\r\nHost: x\r\n\r\n";

static void test_answers(const char *where)
{
	char request[8000], body[3001];
	struct heard heard =
		ask(where, "GET /a%20b?c=d&e HTTP/1.1\r\nHost: x\r\nX-Test: t\r\n\r\n");

	ok(heard.status == 200 && strcmp(heard.body, "GET /a%20b?c=d&e t remote\n") == 0,
	   "path, query and headers come as they were sent");
	ok(strstr(heard.head, "Content-Type: text/plain\r\n") &&
		   strstr(heard.head, "X-Bytes: whole\r\n"),
	   "headers of the answer are sent");
	memset(body, 'b', 3000);
	body[3000] = '\0';
	snprintf(request, sizeof request,
		 "POST /now HTTP/1.1\r\nHost: x\r\nContent-Length: 3000\r\n\r\n%s", body);
	heard = ask(where, request);
	ok(heard.status == 200 && strcmp(strchr(heard.body, '\n') + 1, body) == 0,
	   "a body comes whole");
	heard = ask(where, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
			   "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nTrailer: t\r\n\r\n");
	ok(heard.status == 200 && strcmp(strchr(heard.body, '\n') + 1, "abcde") == 0,
	   "a body in chunks comes whole");
	heard = ask(where, "HEAD /now HTTP/1.1\r\nHost: x\r\n\r\n");
	ok(heard.status == 200 && strstr(heard.head, "Content-Length: "),
	   "HEAD has the head of GET");
	heard = ask_bytes(where, "GET / HTTP/1.0\r\n\r\n", 18, true);
	ok(heard.status == 200 && heard.closed, "HTTP/1.0 needs no Host, and ends");
	heard = ask(where, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
			   "Expect: 100-continue\r\n\r\n");
	ok(heard.status == 100, "100-continue is answered before the body is sent");
}

static void test_pipelining(const char *where)
{
	static const char *const paths[] = { "/now", "/later", "/round" };
	char request[16384] = "", wanted[64];
	int fd = dial(where);
	size_t n = 0, good = 0;

	for (int i = 0; i < 100; i++)
		n += (size_t)snprintf(
			request + n, sizeof request - n,
			"POST %s?%d HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n%04d",
			paths[i % 3], i, i);
	say(fd, request, n);
	for (int i = 0; i < 100; i++) {
		struct heard heard = hear(fd, false);

		snprintf(wanted, sizeof wanted, "POST %s?%d - remote\n%04d", paths[i % 3], i, i);
		good += strcmp(heard.body, wanted) == 0;
	}
	close(fd);
	ok(good == 100, "100 requests in one write are answered in order: %zu are", good);
}

static void test_split(const char *where)
{
	static const char request[] =
		"POST /later?q HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: "
		"chunked\r\nX-Test: v\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
	static const char wanted[] = "POST /later?q v remote\nabcde";
	size_t n = sizeof request - 1, good = 0;
	int fd = dial(where);

	for (size_t cut = 1; cut < n; cut++) {
		say(fd, request, cut);
		usleep(500);
		say(fd, request + cut, n - cut);
		good += strcmp(hear(fd, false).body, wanted) == 0;
	}
	ok(good == n - 1, "a request may be split at every byte: %zu of %zu", good, n - 1);
	for (size_t i = 0; i < n; i++) {
		say(fd, request + i, 1);
		usleep(500);
	}
	ok(strcmp(hear(fd, false).body, wanted) == 0, "a request may come byte by byte");
	close(fd);
}

static void *many(void *where)
{
	size_t *good = malloc(sizeof *good);
	int fd = dial(where);

	*good = 0;
	for (int i = 0; i < 100; i++) {
		const char *path = i % 2 ? "/later" : "/round";
		char request[128], wanted[64];
		int n = snprintf(request, sizeof request, "GET %s?%d HTTP/1.1\r\nHost: x\r\n\r\n",
				 path, i);

		snprintf(wanted, sizeof wanted, "GET %s?%d - remote\n", path, i);
		say(fd, request, (size_t)n);
		*good += strcmp(hear(fd, false).body, wanted) == 0;
	}
	close(fd);
	return good;
}

static void test_many(const char *where)
{
	pthread_t threads[16];
	size_t good = 0;

	for (int i = 0; i < 16; i++)
		pthread_create(threads + i, NULL, many, (void *)where);
	for (int i = 0; i < 16; i++) {
		void *result;

		pthread_join(threads[i], &result);
		good += *(size_t *)result;
		free(result);
	}
	ok(good == 1600, "16 connections get each its own answers, from two threads: %zu", good);
}

static void test_gone(struct nn_http *http)
{
	int fds[10];

	for (int i = 0; i < 10; i++) {
		fds[i] = dial(nn_http_where(http));
		say(fds[i], "GET /held HTTP/1.1\r\nHost: x\r\n\r\n", 32);
	}
	AWAIT(n_held() == 10);
	ok(nn_http_pending(http) == 10, "requests that wait for their answer are counted");
	for (int i = 0; i < 10; i++)
		close(fds[i]);
	release();
	AWAIT(nn_http_pending(http) == 0 && nn_http_connections(http) == 0);
	ok(nn_http_pending(http) == 0 && nn_http_connections(http) == 0,
	   "clients may leave while their answer is made");
}

static void test_stop(struct nn_http *http)
{
	char where[64], first;
	int open = dial(nn_http_where(http)), waits = dial(nn_http_where(http)), late = 0, accepted;

	snprintf(where, sizeof where, "%s", nn_http_where(http));
	say(open, get_now, sizeof get_now - 1);
	ok(hear(open, false).status == 200, "a connection is open");
	say(waits, "GET /held HTTP/1.1\r\nHost: x\r\n\r\n", 32);
	AWAIT(n_held() == 1);
	/* a client whose request nobody has looked at yet */
	accepted = dial(where);
	say(accepted, get_now, sizeof get_now - 1);
	nn_http_stop_accepting(http);
	AWAIT(nn_http_pending(http) == 1); /* that which waits */
	ok(recv(accepted, &first, 1, MSG_DONTWAIT) == 1,
	   "who was accepted is answered before there is nothing pending");
	close(accepted);
	for (int i = 0; i < 30000 && (late = dial(where)) >= 0; i++) {
		close(late);
		usleep(1000);
	}
	ok(late < 0, "after stop_accepting new connections are refused");
	say(open, get_now, sizeof get_now - 1);
	ok(hear(open, false).status == 200, "and those that are open go on");
	ok(nn_http_close(http) == 1, "close says how many requests are still the handler's");
	ok(hear(open, false).status == 0 && hear(waits, false).status == 0,
	   "close ends all connections");
	ok(atomic_load(&bench.handled) == atomic_load(&bench.ended) + 1,
	   "a request that is still the handler's outlives close");
	release();
	ok(atomic_load(&bench.handled) == atomic_load(&bench.ended),
	   "and ends when it is answered");
	close(open);
	close(waits);
}

static int open_at(struct nn_http **http, const char *listen, struct nn_error *err)
{
	struct nn_http_setup setup = plain_setup();

	setup.listen = listen;
	return nn_http_open(http, &setup, err);
}

static void test_unix(void)
{
	char directory[] = "/tmp/nn-serve-http.XXXXXX", listen[64], *path = listen + 5;
	struct nn_error err = { 0 };
	struct nn_http *http, *second;
	struct stat found = { 0 };
	struct heard heard;
	int fd;

	snprintf(listen, sizeof listen, "unix:%s/socket", mkdtemp(directory));
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	close(fd);
	ok(open_at(&http, listen, &err) != 0 && strstr(err.text, "not a socket") &&
		   stat(path, &found) == 0,
	   "a file in place of a socket is left alone: %s", err.text);
	unlink(path);
	if (open_at(&http, listen, &err) != 0 || nn_http_start(http, &err) != 0) {
		ok(false, "a Unix socket: %s", err.text);
		return;
	}
	ok(stat(path, &found) == 0 && (found.st_mode & 0777) == 0600 &&
		   strcmp(nn_http_where(http), listen) == 0 && !nn_http_is_wide(http),
	   "a Unix socket is its owner's alone");
	heard = ask(listen, get_now);
	ok(strcmp(heard.body, "GET /now?- - local\n") == 0, "who comes by it is local");
	ok(open_at(&second, listen, &err) != 0 && strstr(err.text, "a server listens there") &&
		   ask(listen, get_now).status == 200,
	   "a live one is refused: %s", err.text);
	nn_http_close(http);
	ok(stat(path, &found) != 0, "it is removed at close");
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	{
		struct sockaddr_un address = { .sun_family = AF_UNIX };

		strncpy(address.sun_path, path, sizeof address.sun_path - 1);
		bind(fd, (struct sockaddr *)&address, sizeof address);
		close(fd);
	}
	ok(open_at(&http, listen, &err) == 0, "a stale one is replaced");
	nn_http_close(http);
	rmdir(directory);
}

/* A child whose descriptor 3 listens. */
static int passed(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct nn_http_setup setup = plain_setup();
	struct nn_error err = { 0 };
	struct nn_http *http;
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char pid[32];
	bool good;

	if (bind(fd, (struct sockaddr *)&address, sizeof address) != 0 || listen(fd, 8) != 0 ||
	    dup2(fd, 3) != 3)
		return 2;
	setup.listen = NULL;
	if (nn_http_open(&http, &setup, &err) == 0)
		return 3;
	snprintf(pid, sizeof pid, "%ld", (long)getpid());
	setenv("LISTEN_PID", pid, 1);
	setenv("LISTEN_FDS", "1", 1);
	if (nn_http_open(&http, &setup, &err) != 0 || nn_http_start(http, &err) != 0)
		return 4;
	good = ask(nn_http_where(http), get_now).status == 200 && !getenv("LISTEN_FDS");
	nn_http_close(http);
	return good ? 0 : 5;
}

/* Before there are threads: a sanitizer of them follows no fork behind that. */
static void test_passed(void)
{
	pid_t child;
	int status = -1;

	fflush(stdout);
	child = fork();
	if (child == 0)
		_exit(passed());
	waitpid(child, &status, 0);
	ok(status == 0, "a socket that systemd passes is taken, once: %d", status);
}

static void test_addresses(void)
{
	static const char *const bad[] = { "localhost", "127.0.0.1:", "::1:80", "127.0.0.1:70000",
					   "[::1:80",   ":80",        "unix:" };
	struct nn_error err = { 0 };
	struct nn_http *http;
	struct nn_http_setup setup = plain_setup();
	size_t good = 0;

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		int failed = open_at(&http, bad[i], &err);

		if (failed == 0)
			nn_http_close(http);
		good += failed != 0 && err.code == NN_EUSAGE;
	}
	ok(good == sizeof bad / sizeof *bad, "what is no address is a usage error: %s", err.text);
	if (open_at(&http, "0.0.0.0:0", &err) == 0) {
		ok(nn_http_is_wide(http), "0.0.0.0 is wide");
		nn_http_close(http);
	}
	if (open_at(&http, "[::1]:0", &err) == 0) {
		ok(!nn_http_is_wide(http) && strncmp(nn_http_where(http), "http://[::1]:", 13) == 0,
		   "[::1] is not");
		nn_http_close(http);
	}
	setup.tls_cert = setup.tls_key = "/dev/null";
	ok(nn_http_open(&http, &setup, &err) != 0 && strstr(err.text, "/dev/null"),
	   "a certificate that is none is an error: %s", err.text);
}

int main(void)
{
	struct nn_http_setup setup = plain_setup();
	struct nn_http *http;

	test_passed();
	http = serve(&setup);
	test_addresses();
	pthread_create(&bench.worker, NULL, work, NULL);
	test_answers(nn_http_where(http));
	test_pipelining(nn_http_where(http));
	test_split(nn_http_where(http));
	test_many(nn_http_where(http));
	test_gone(http);
	test_unix();
	test_stop(http);
	pthread_mutex_lock(&bench.lock);
	bench.stop = true;
	pthread_cond_signal(&bench.more);
	pthread_mutex_unlock(&bench.lock);
	pthread_join(bench.worker, NULL);
	return tap_done();
}
