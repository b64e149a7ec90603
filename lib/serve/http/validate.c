/*
 * What libmicrohttpd lets pass and this server does not: limits, and requests that another server
 * might cut elsewhere (RFC 9112, sections 2.2, 3.2, 5 and 6.3).
 *
 * Nothing of the raw bytes is left by now, but names and values lie where they came, each line's
 * end replaced: two bytes lie between a value and the next name if the line ended in CR LF, one for
 * a bare LF, more where a line was folded or a value has a NUL. So distances tell.
 */
#include <string.h>
#include <strings.h>

#include "serve/http/loop.h"

struct scan {
	const char *expected; /* where the next name begins */
	size_t headers, hosts, lengths, codings;
	const char *length, *coding;
	size_t length_bytes, coding_bytes;
	bool bad;
};

/* Characters of a token (RFC 9110, section 5.6.2). */
static const char is_token[256] = {
	['!'] = 1, ['#'] = 1, ['$'] = 1, ['%'] = 1, ['&'] = 1, ['\''] = 1, ['*'] = 1, ['+'] = 1,
	['-'] = 1, ['.'] = 1, ['^'] = 1, ['_'] = 1, ['`'] = 1, ['|'] = 1,  ['~'] = 1, ['0'] = 1,
	['1'] = 1, ['2'] = 1, ['3'] = 1, ['4'] = 1, ['5'] = 1, ['6'] = 1,  ['7'] = 1, ['8'] = 1,
	['9'] = 1, ['A'] = 1, ['B'] = 1, ['C'] = 1, ['D'] = 1, ['E'] = 1,  ['F'] = 1, ['G'] = 1,
	['H'] = 1, ['I'] = 1, ['J'] = 1, ['K'] = 1, ['L'] = 1, ['M'] = 1,  ['N'] = 1, ['O'] = 1,
	['P'] = 1, ['Q'] = 1, ['R'] = 1, ['S'] = 1, ['T'] = 1, ['U'] = 1,  ['V'] = 1, ['W'] = 1,
	['X'] = 1, ['Y'] = 1, ['Z'] = 1, ['a'] = 1, ['b'] = 1, ['c'] = 1,  ['d'] = 1, ['e'] = 1,
	['f'] = 1, ['g'] = 1, ['h'] = 1, ['i'] = 1, ['j'] = 1, ['k'] = 1,  ['l'] = 1, ['m'] = 1,
	['n'] = 1, ['o'] = 1, ['p'] = 1, ['q'] = 1, ['r'] = 1, ['s'] = 1,  ['t'] = 1, ['u'] = 1,
	['v'] = 1, ['w'] = 1, ['x'] = 1, ['y'] = 1, ['z'] = 1
};

static bool all_token(const char *text, size_t n)
{
	bool good = n > 0;

	for (size_t i = 0; i < n; i++)
		good &= is_token[(unsigned char)text[i]];
	return good;
}

/* No control characters but the tab. */
static bool all_text(const char *text, size_t n)
{
	bool good = true;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];

		good &= (c >= 0x20 && c != 0x7f) || c == '\t';
	}
	return good;
}

static enum MHD_Result look(void *arg, enum MHD_ValueKind kind, const char *name, size_t name_bytes,
			    const char *value, size_t value_bytes)
{
	struct scan *scan = arg;

	(void)kind;
	scan->headers++;
	scan->bad |= name != scan->expected || !value || value <= name + name_bytes ||
		     !all_token(name, name_bytes);
	if (!value || scan->bad)
		return MHD_YES;
	scan->bad |= !all_text(value, value_bytes);
	scan->expected = value + value_bytes + 2;
	if (name_bytes == 4 && strncasecmp(name, "Host", 4) == 0) {
		scan->hosts++;
	} else if (name_bytes == 14 && strncasecmp(name, "Content-Length", 14) == 0) {
		scan->lengths++;
		scan->length = value;
		scan->length_bytes = value_bytes;
	} else if (name_bytes == 17 && strncasecmp(name, "Transfer-Encoding", 17) == 0) {
		scan->codings++;
		scan->coding = value;
		scan->coding_bytes = value_bytes;
	}
	return MHD_YES;
}

/* Digits alone; what does not fit is large enough to be refused. */
static bool read_length(const char *text, size_t n, uint64_t *length)
{
	*length = 0;
	for (size_t i = 0; i < n; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		*length = *length > UINT64_MAX / 16 ? UINT64_MAX / 2
						    : *length * 10 + (uint64_t)(text[i] - '0');
	}
	return n > 0;
}

/* What stands in a URL; neither blanks nor control characters. */
static bool all_url(const char *text)
{
	bool good = true;

	for (; *text; text++)
		good &= (unsigned char)*text > 0x20 && *text != 0x7f;
	return good;
}

/* METHOD SP URL SP VERSION CR LF, one blank each. The URL is taken apart by now: see the copy. */
static bool is_good_line(const struct nn_http_request *request, const char *method,
			 const char *version)
{
	const struct nn_exchange *exchange = &request->exchange;
	const char *url = request->raw_url;
	size_t n = strlen(method);

	return url == method + n + 1 && version == url + request->raw_url_length + 1 &&
	       all_token(method, n) && exchange->path[0] != '\0' && all_url(exchange->path) &&
	       (!exchange->query || all_url(exchange->query));
}

static struct nn_http_refusal framing(const struct scan *scan, bool is_1_1, uint64_t *length,
				      const struct nn_http_limits *limits)
{
	static const struct nn_http_refusal none = { 0, NULL },
					    no_coding = { 501, "no transfer coding but chunked" };

	if (scan->lengths > 1 || scan->codings > 1 || (scan->lengths && scan->codings) ||
	    (scan->codings && !is_1_1))
		return nn_http_bad_framing;
	if (scan->codings &&
	    (scan->coding_bytes != 7 || strncasecmp(scan->coding, "chunked", 7) != 0))
		return no_coding;
	if (scan->lengths && !read_length(scan->length, scan->length_bytes, length))
		return nn_http_bad_framing;
	return *length > limits->body ? nn_http_large_body : none;
}

struct nn_http_refusal nn_http_check(struct nn_http_request *request,
				     struct MHD_Connection *connection, const char *method,
				     const char *version, uint64_t *length)
{
	static const struct nn_http_refusal no_host = { 400, "the request has no Host header" };
	const struct nn_http_limits *limits = &request->http->setup.limits;
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	size_t line = (size_t)(version - method) + strlen(version);
	struct scan scan = { .expected = version + strlen(version) + 2 };
	bool is_1_1 = strcmp(version, "HTTP/1.0") != 0;

	if (!info)
		return nn_http_malformed;
	if (line > limits->line)
		return nn_http_long_line;
	if (info->header_size - line > limits->headers)
		return nn_http_large_headers;
	MHD_get_connection_values_n(connection, MHD_HEADER_KIND, look, &scan);
	if (scan.headers > limits->header_count)
		return nn_http_many_headers;
	/* an empty line follows the last */
	if (scan.bad || method + info->header_size != scan.expected + 2 ||
	    !is_good_line(request, method, version))
		return nn_http_malformed;
	if (scan.hosts != 1 && (is_1_1 || scan.hosts > 1))
		return scan.hosts == 0 ? no_host : nn_http_malformed;
	request->head_bytes = info->header_size;
	request->body_begin = method + info->header_size;
	request->chunked = scan.codings > 0;
	return framing(&scan, is_1_1, length, limits);
}
