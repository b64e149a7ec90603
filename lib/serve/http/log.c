/* What libmicrohttpd says of requests that it refuses by itself, in our words. */
#include <string.h>

#include "serve/http/loop.h"

enum {
	AT_LINE = 1 << NN_HTTP_LINE | 1 << NN_HTTP_IDLE,
	AT_HEADERS = 1 << NN_HTTP_HEADERS,
	AT_CHUNKS = 1 << NN_HTTP_BODY
};

/*
 * The only connection that is in one of these phases, and, with news, of which something came since
 * they were looked at last; NULL: there are others.
 */
static struct nn_http_link *only_one(const struct nn_http_loop *loop, unsigned phases, bool news)
{
	struct nn_http_link *found = NULL;

	for (struct nn_http_link *link = loop->links; link; link = link->next) {
		if (!(phases >> link->phase & 1) || link->refused ||
		    (link->phase == NN_HTTP_BODY && !link->request->chunked) ||
		    (news && nn_http_bytes_taken(link) == link->bytes_taken))
			continue;
		if (found)
			return NULL;
		found = link;
	}
	return found;
}

/*
 * What libmicrohttpd would print. Among it, before it sends them, are refusals of its own: headers
 * that do not fit its memory, bad chunks. It does not say whose, but what is wrong says how far the
 * request has come. If a single connection is there, or one alone that has sent something lately,
 * that is it, and gets our words. Else the status is the same, and the body a small page of HTML.
 */
void nn_http_on_log(void *arg, const char *format, va_list args)
{
	static const char refused[] = "Error processing request (HTTP response code is %u ('%s'))";
	struct nn_http_link *link;
	struct nn_http_refusal refusal = nn_http_malformed;
	unsigned phases = AT_LINE | AT_HEADERS | AT_CHUNKS, status;
	const char *page;

	if (strncmp(format, refused, sizeof refused - 1) != 0)
		return;
	status = va_arg(args, unsigned);
	page = va_arg(args, const char *);
	if (strstr(page, "chunk")) {
		phases = AT_CHUNKS;
		refusal = status == 413 ? nn_http_large_body : nn_http_bad_framing;
	} else if (strstr(page, "Content-Length")) {
		phases = AT_HEADERS;
		refusal = status == 413 ? nn_http_large_body : nn_http_bad_framing;
	} else if (status == 431) {
		phases = AT_HEADERS | AT_CHUNKS; /* trailers, too */
		refusal = nn_http_large_headers;
	} else if (status == 414) {
		phases = AT_LINE;
		refusal = nn_http_long_line;
	}
	link = only_one(arg, phases, false);
	link = link ? link : only_one(arg, phases, true);
	if (link)
		nn_http_refuse_raw(link, refusal);
}
