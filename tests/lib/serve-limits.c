/* What the server refuses: limits, and requests that end elsewhere for another server. */
#include "serve-http.h"

#define HOST "Host: x\r\n"
#define POST "POST / HTTP/1.1\r\n" HOST
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"
#define GET "GET / HTTP/1.1\r\n"
#define R10 "A: b\r\nA: b\r\nA: b\r\nA: b\r\nA: b\r\nA: b\r\nA: b\r\nA: b\r\nA: b\r\nA: b\r\n"

static const struct {
	const char *what, *request;
	int status;
	const char *word; /* in the error */
} cases[] = {
	{ "a bare LF behind the request line", "GET / HTTP/1.1\n" HOST "\r\n", 400, "malformed" },
	{ "a bare LF behind a header", GET HOST "A: b\nC: d\r\n\r\n", 400, "malformed" },
	{ "a bare LF behind the last header", GET HOST "A: b\n\r\n", 400, "malformed" },
	{ "a bare LF behind the headers", GET HOST "\n", 400, "malformed" },
	{ "no Host", GET "A: b\r\n\r\n", 400, "Host" },
	{ "no header at all", GET "\r\n", 400, "Host" },
	{ "two Hosts", GET HOST HOST "\r\n", 400, "malformed" },
	{ "a folded header", GET "A: b\r\n c\r\n" HOST "\r\n", 400, "malformed" },
	{ "a folded last header", GET HOST "A: b\r\n\tc\r\n\r\n", 400, "malformed" },
	{ "a blank before the colon", GET HOST "A : b\r\n\r\n", 400, "malformed" },
	{ "no name before the colon", GET HOST ": b\r\n\r\n", 400, "malformed" },
	{ "no colon", GET HOST "A\r\n\r\n", 400, "malformed" },
	{ "a CR inside a header", GET HOST "A: b\rc\r\n\r\n", 400, "malformed" },
	{ "two blanks in the request line", "GET  / HTTP/1.1\r\n" HOST "\r\n", 400, "malformed" },
	{ "a blank in the URL", "GET /a b HTTP/1.1\r\n" HOST "\r\n", 400, "malformed" },
	{ "a blank behind the version", "GET / HTTP/1.1 \r\n" HOST "\r\n", 400, "" },
	{ "a version there is not", "GET / HTTP/x\r\n" HOST "\r\n", 400, "" },
	{ "a length and a coding",
	  POST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "ends" },
	{ "a coding and a length",
	  POST "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n", 400, "ends" },
	{ "two lengths", POST "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc", 400, "ends" },
	{ "a length with a sign", POST "Content-Length: +3\r\n\r\nabc", 400, "ends" },
	{ "a list of lengths", POST "Content-Length: 3, 3\r\n\r\nabc", 400, "ends" },
	{ "a length in hex", POST "Content-Length: 0x3\r\n\r\nabc", 400, "ends" },
	{ "an empty length", POST "Content-Length:\r\n\r\nabc", 400, "ends" },
	{ "two codings",
	  POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400,
	  "ends" },
	{ "a coding in HTTP/1.0",
	  "POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "ends" },
	{ "gzip", POST "Transfer-Encoding: gzip\r\n\r\nabc", 501, "chunked" },
	{ "gzip, chunked", POST "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501,
	  "chunked" },
	{ "identity", POST "Transfer-Encoding: identity\r\n\r\nabc", 501, "chunked" },
	{ "a chunk whose size is none", CHUNKED "xyz\r\nabc\r\n0\r\n\r\n", 400, "ends" },
	{ "a chunk of size -1", CHUNKED "-1\r\nabc\r\n0\r\n\r\n", 400, "ends" },
	{ "a chunk that is longer than it says", CHUNKED "2\r\nabc\r\n0\r\n\r\n", 400, "ends" },
	{ "a chunk of 2^72 bytes", CHUNKED "1000000000000000000\r\n", 413, "--max-body" },
	{ "a chunk of 2^64 - 1 bytes, of which some came", CHUNKED "ffffffffffffffff\r\nabc", 413,
	  "--max-body" },
	{ "one of 2^63 behind a short one", CHUNKED "2\r\nab\r\n8000000000000000;x=y\r\nabc", 413,
	  "--max-body" },
	{ "a chunk's size that ends in a bare LF", CHUNKED "3\nabc\r\n0\r\n\r\n", 400, "ends" },
	{ "a length above --max-body", POST "Content-Length: 5001\r\n\r\n", 413, "--max-body" },
	{ "a length of 2^80", POST "Content-Length: 1208925819614629174706176\r\n\r\n", 413,
	  "--max-body" },
	{ "a length above --max-body that waits to be let in",
	  POST "Content-Length: 5001\r\nExpect: 100-continue\r\n\r\n", 413, "--max-body" },
	{ "6 chunks",
	  CHUNKED "1\r\na\r\n1\r\na\r\n1\r\na\r\n1\r\na\r\n1\r\na\r\n1\r\na\r\n0\r\n\r\n", 413,
	  "--max-chunks" },
	{ "11 headers", GET HOST R10 "\r\n", 431, "--max-headers" },
	{ "trailers beyond 10 headers", CHUNKED "1\r\na\r\n0\r\n" R10 "\r\n", 431,
	  "--max-headers" },
};

static bool is_refusal(const struct heard *heard, int status, const char *word)
{
	return heard->status == status && heard->closed &&
	       strncmp(heard->body, "{\"error\":\"", 10) == 0 && strstr(heard->body, word) &&
	       strstr(heard->head, "Content-Type: application/json\r\n") &&
	       strstr(heard->head, "Server-Timing: read;dur=");
}

static void test_cases(const char *where)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct heard heard =
			ask_bytes(where, cases[i].request, strlen(cases[i].request), true);

		if (!ok(is_refusal(&heard, cases[i].status, cases[i].word), "%s: %d", cases[i].what,
			cases[i].status))
			note("%d %s: %s", heard.status, heard.head, heard.body);
	}
}

/* prefix, n times byte, suffix */
static struct heard ask_long(const char *where, const char *prefix, size_t n, const char *suffix,
			     bool ends)
{
	size_t a = strlen(prefix), b = strlen(suffix);
	char *request = malloc(a + n + b);
	struct heard heard;

	memcpy(request, prefix, a);
	memset(request + a, 'a', n);
	memcpy(request + a + n, suffix, b);
	heard = ask_bytes(where, request, a + n + b, ends);
	free(request);
	return heard;
}

static void test_sizes(const char *where)
{
	static const struct {
		const char *what, *prefix, *suffix;
		size_t fits;
		int status;
		const char *word;
	} sizes[] = {
		/* "GET /aaa HTTP/1.1" has 14 bytes more, "A: aaa\r\n" with Host and the end 16 */
		{ "the request line", "GET /", " HTTP/1.1\r\n" HOST "\r\n", 186, 414,
		  "--max-line" },
		{ "the headers", GET HOST "A: ", "\r\n\r\n", 482, 431, "--max-headers" },
	};
	static const size_t beyond[] = { 1, 2000, 60000, 3000000 };
	struct heard heard;

	for (size_t i = 0; i < 2; i++) {
		heard = ask_long(where, sizes[i].prefix, sizes[i].fits, sizes[i].suffix, false);
		ok(heard.status == 200, "%s may be as long as the limit", sizes[i].what);
		for (size_t k = 0; k < sizeof beyond / sizeof *beyond; k++) {
			heard = ask_long(where, sizes[i].prefix, sizes[i].fits + beyond[k],
					 sizes[i].suffix, true);
			if (!ok(is_refusal(&heard, sizes[i].status, sizes[i].word),
				"%s, %zu bytes too long: %d", sizes[i].what, beyond[k],
				sizes[i].status))
				note("%d %s: %s", heard.status, heard.head, heard.body);
		}
	}
	heard = ask_long(where, POST "Content-Length: 5000\r\n\r\n", 5000, "", false);
	ok(heard.status == 200, "a body may be as long as the limit");
	heard = ask_long(where, POST "Content-Length: 3000000\r\n\r\n", 3000000, "", true);
	ok(is_refusal(&heard, 413, "--max-body"),
	   "who sends a large body without waiting reads why it is refused");
	heard = ask_long(where, CHUNKED "2dc6c0\r\n", 3000000, "\r\n0\r\n\r\n", true);
	ok(is_refusal(&heard, 413, "--max-body"), "and so does who sends it in a chunk");
}

static void test_nul(const char *where)
{
	static const char in_header[] = GET HOST "A: b\0c\r\n\r\n",
			  in_url[] = "GET /\0 HTTP/1.1\r\n" HOST "\r\n";
	struct heard heard = ask_bytes(where, in_header, sizeof in_header - 1, true);

	ok(is_refusal(&heard, 400, "malformed"), "a NUL in a header: 400");
	heard = ask_bytes(where, in_url, sizeof in_url - 1, true);
	ok(is_refusal(&heard, 400, "malformed"), "a NUL in the URL: 400");
}

static void test_no_request(const char *where)
{
	struct heard heard = ask_bytes(where, "\x16\x03\x01\r\n\r\n", 7, true);

	ok(heard.closed, "what is no request at all ends the connection");
}

/* libmicrohttpd refuses some by itself, and does not say whom: nobody else may be meant. */
static void test_innocent(struct nn_http *http)
{
	const char *where = nn_http_where(http);
	static const char *const bad[] = {
		"GET / HTTP/x\r\n" HOST "\r\n",
		GET HOST "A\r\n\r\n",
		POST "Content-Length: +3\r\n\r\nabc",
		CHUNKED "xyz\r\n",
	};
	static const char begun[] = CHUNKED "3\r\nabc\r\n", ends[] = "0\r\n\r\n";
	static const char part[] = GET "Ho", rest[] = "st: x\r\n\r\n", whole[] = GET HOST "\r\n";
	size_t good = 0, n = sizeof bad / sizeof *bad;

	for (size_t i = 0; i < n; i++) {
		int idle = dial(where), mid = dial(where), body = dial(where);

		say(idle, whole, sizeof whole - 1);
		hear(idle, false);
		say(mid, part, sizeof part - 1);
		say(body, begun, sizeof begun - 1);
		usleep(20000); /* sooner, it is an easier case */
		good += ask_bytes(where, bad[i], strlen(bad[i]), true).status == 400;
		say(mid, rest, sizeof rest - 1);
		say(body, ends, sizeof ends - 1);
		say(idle, whole, sizeof whole - 1);
		good += hear(mid, false).status == 200;
		good += hear(body, false).status == 200;
		good += hear(idle, false).status == 200;
		close(idle);
		close(mid);
		close(body);
	}
	ok(good == 4 * n, "who is refused harms nobody else: %zu of %zu", good, 4 * n);
	good = 0;
	for (size_t i = 0; i < n; i++) {
		struct heard heard;
		int silent, other;

		AWAIT(nn_http_connections(http) == 0); /* those before have sent something */
		silent = dial(where);
		other = dial(where);
		heard = ask_bytes(where, bad[i], strlen(bad[i]), true);

		good += heard.status == 400 && strstr(heard.body, "{\"error\":");
		close(silent);
		close(other);
	}
	ok(good == n, "and hears so in our words beside those that are silent: %zu of %zu", good, n);
}

static void test_connections(void)
{
	struct nn_http_setup setup = plain_setup();
	struct nn_http *http;
	const char *where;
	struct heard heard = { 0 };
	int fds[20];

	setup.limits.connections = 20;
	http = serve(&setup);
	where = nn_http_where(http);
	for (int i = 0; i < 20; i++)
		fds[i] = dial(where);
	AWAIT(nn_http_connections(http) == 20);
	for (int i = 0; i < 5; i++) {
		int fd = dial(where);

		heard = hear(fd, false);
		heard.closed = is_closed(fd);
		close(fd);
	}
	ok(is_refusal(&heard, 503, "--max-connections") && strstr(heard.head, "Retry-After: "),
	   "connection 21 of 20 is told so");
	heard = ask_bytes(where, GET HOST "\r\n", strlen(GET HOST "\r\n"), true);
	ok(is_refusal(&heard, 503, "--max-connections") && nn_http_refused(http) == 6,
	   "also when it has sent a request");
	say(fds[7], GET HOST "\r\n", strlen(GET HOST "\r\n"));
	ok(hear(fds[7], false).status == 200, "the others are answered");
	close(fds[0]);
	AWAIT(nn_http_connections(http) == 19);
	ok(ask(where, GET HOST "\r\n").status == 200, "one leaves, one may come");
	for (int i = 1; i < 20; i++)
		close(fds[i]);
	nn_http_close(http);
}

/* The beginning of a second request: with the first one, and letter by letter behind it. */
static void test_slow_second(const char *listen)
{
	static const char whole[] = GET HOST "\r\n",
			  both[] = GET HOST "\r\n" GET HOST "\r\nGET / HT";
	struct nn_http_setup setup = plain_setup();
	struct nn_http *http;
	struct heard first, second, third;
	int at_once, letters, idle;
	char more;

	setup.listen = listen;
	setup.limits.header_timeout = 0.3;
	http = serve(&setup);
	idle = dial(nn_http_where(http));
	say(idle, whole, sizeof whole - 1);
	hear(idle, false);
	at_once = dial(nn_http_where(http));
	say(at_once, both, sizeof both - 1);
	first = hear(at_once, false);
	second = hear(at_once, false);
	third = hear(at_once, false);
	third.closed = is_closed(at_once);
	ok(first.status == 200 && second.status == 200 &&
		   is_refusal(&third, 408, "--header-timeout"),
	   "a line that began with the request before it, and no more: 408 (%s)", listen);
	letters = dial(nn_http_where(http));
	say(letters, whole, sizeof whole - 1);
	hear(letters, false);
	for (int i = 0; i < 100 && say(letters, "A", 1); i++) {
		usleep(100000);
		if (recv(letters, &more, 1, MSG_PEEK | MSG_DONTWAIT) >= 0)
			break;
	}
	third = hear(letters, false);
	third.closed = is_closed(letters);
	ok(is_refusal(&third, 408, "--header-timeout"), "a line of which letters come: 408 (%s)",
	   listen);
	say(idle, whole, sizeof whole - 1);
	ok(hear(idle, false).status == 200, "who sends nothing in between may wait (%s)", listen);
	close(idle);
	close(at_once);
	close(letters);
	nn_http_close(http);
}

static void test_slow(void)
{
	static const struct {
		const char *what, *request, *word;
	} slow[] = { { "a request line", "GET / HT", "--header-timeout" },
		     { "headers", GET HOST "A: b", "--header-timeout" },
		     { "nothing", "", "--header-timeout" },
		     { "a body", POST "Content-Length: 100\r\n\r\nabc", "--min-rate" },
		     { "a chunk", CHUNKED "a\r\nabc", "--min-rate" } };
	struct nn_http_setup setup = plain_setup();
	struct nn_http *http;
	size_t told = atomic_load(&bench.refused);
	struct heard heard;
	int fds[100], idle;
	char more;

	setup.limits.header_timeout = 0.3;
	setup.limits.min_rate = 1000;
	http = serve(&setup);
	idle = dial(nn_http_where(http));
	say(idle, GET HOST "\r\n", strlen(GET HOST "\r\n"));
	hear(idle, false);
	for (size_t i = 0; i < sizeof slow / sizeof *slow; i++) {
		heard = ask_bytes(nn_http_where(http), slow[i].request, strlen(slow[i].request),
				  true);
		ok(is_refusal(&heard, 408, slow[i].word), "%s, and no more: 408", slow[i].what);
		AWAIT(atomic_load(&bench.refused) > told + i);
		ok(atomic_load(&bench.last_bytes) == strlen(heard.body), "told with its bytes");
	}
	ok(atomic_load(&bench.refused) == told + sizeof slow / sizeof *slow,
	   "who is refused before there is a request is told, too");
	heard = ask_long(nn_http_where(http), CHUNKED "3;", 100000, "\r\nabc\r\n0\r\n\r\n", true);
	ok(is_refusal(&heard, 408, "--min-rate"),
	   "a chunk's line beyond all memory, of which nothing more is read: 408");
	AWAIT(nn_http_connections(http) == 1);
	ok(nn_http_connections(http) == 1, "and the connection ends");
	say(idle, GET HOST "\r\n", strlen(GET HOST "\r\n"));
	ok(hear(idle, false).status == 200, "between requests a connection may be idle for long");
	/* nobody knows when it is first looked at: what comes behind that counts */
	AWAIT(!say(idle, "A", 1) || recv(idle, &more, 1, MSG_PEEK | MSG_DONTWAIT) >= 0);
	heard = hear(idle, false);
	ok(heard.status == 408, "but not within the next one");
	close(idle);
	nn_http_close(http);

	setup.limits.header_timeout = 20;
	http = serve(&setup);
	for (int i = 0; i < 100; i++) {
		fds[i] = dial(nn_http_where(http));
		say(fds[i], i % 2 ? GET "Ho" : "GE", i % 2 ? strlen(GET "Ho") : 2);
	}
	ok(ask(nn_http_where(http), GET HOST "\r\n").status == 200,
	   "100 slow clients do not keep another from its answer");
	for (int i = 0; i < 100; i++)
		close(fds[i]);
	nn_http_close(http);
}

/* One connection's whole request lies there while another one keeps the loop beyond its time. */
static void test_busy(void)
{
	static const char sleep[] = "GET /sleep HTTP/1.1\r\n" HOST "\r\n", good[] = GET HOST "\r\n";
	struct nn_http_setup setup = plain_setup();
	struct nn_http *http;
	int status = 0;

	setup.loops = 1;
	setup.limits.header_timeout = 0.5;
	http = serve(&setup);
	/* on a busy machine the time may be over before it sleeps */
	for (int tries = 0; tries < 20 && status != 200; tries++) {
		int sleeps = dial(nn_http_where(http)), waits = dial(nn_http_where(http));

		atomic_store(&bench.sleeping, false);
		AWAIT(nn_http_connections(http) >= 2);
		usleep(20000);
		say(sleeps, sleep, sizeof sleep - 1);
		AWAIT(atomic_load(&bench.sleeping));
		say(waits, good, sizeof good - 1);
		status = hear(waits, false).status;
		close(sleeps);
		close(waits);
	}
	ok(status == 200, "what lies unread while the server is busy is not late: %d", status);
	nn_http_close(http);
}

/* Trailers that do not fit come when the headers have long been there. */
static void test_trailers(const char *where)
{
	static const char part[] = GET HOST, rest[] = "\r\n", head[] = CHUNKED "0\r\nA: ";
	int mid = dial(where);
	struct heard heard;

	say(mid, part, sizeof part - 1);
	usleep(20000);
	heard = ask_long(where, head, 200000, "\r\n\r\n", true);
	say(mid, rest, sizeof rest - 1);
	ok(heard.status == 431 && hear(mid, false).status == 200,
	   "trailers that are too large: 431, and to nobody whose headers still come");
	close(mid);
	heard = ask_long(where, head, 200000, "\r\n\r\n", true);
	ok(is_refusal(&heard, 431, "--max-headers"), "in our words where nobody else can be meant");
	heard = ask_long(where, head, 5000, "\r\n\r\n", true);
	ok(is_refusal(&heard, 431, "--max-headers"), "trailers have the bytes of headers");
}

int main(void)
{
	struct nn_http_setup setup = plain_setup();
	struct nn_http *http = serve(&setup);
	const char *where = nn_http_where(http);
	size_t refused;

	test_cases(where);
	refused = atomic_load(&bench.refused);
	ok(refused > 0 && atomic_load(&bench.handled) == 0,
	   "nothing of that came to the handler, and it is told what was refused: %zu", refused);
	test_sizes(where);
	test_nul(where);
	test_no_request(where);
	nn_http_close(http);
	setup.loops = 1; /* so that all are together */
	http = serve(&setup);
	where = nn_http_where(http);
	test_innocent(http);
	test_trailers(where);
	ok(ask(where, GET HOST "\r\n").status == 200, "after all that it serves");
	nn_http_close(http);
	test_connections();
	test_slow();
	test_slow_second("127.0.0.1:0");
	test_slow_second("unix:limits.socket");
	test_busy();
	ok(atomic_load(&bench.handled) == atomic_load(&bench.ended), "each request has ended");
	return tap_done();
}
