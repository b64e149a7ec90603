/* A request as libmicrohttpd hands it over: its line, its headers, its body in pieces, its end. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "serve/http/loop.h"

/* What an idle request keeps of its buffers, and how many of them a loop keeps. */
enum { KEPT_BYTES = 64 * 1024, KEPT_REQUESTS = 256, FIRST_BODY = 4096, MOST_TRUSTED = 1 << 20 };

void nn_http_request_free(struct nn_http_request *request)
{
	if (!request)
		return;
	nn_text_free(&request->exchange.answer);
	nn_text_free(&request->line);
	nn_text_free(&request->headers);
	free(request->exchange.body);
	free(request);
}

/* Empty, its buffers kept. */
static void clean(struct nn_http_request *request)
{
	struct nn_text answer = request->exchange.answer, line = request->line,
		       headers = request->headers;
	char *body = request->exchange.body;
	size_t room = request->body_room;

	if (answer.room > KEPT_BYTES || answer.failed)
		nn_text_free(&answer);
	if (headers.failed)
		nn_text_free(&headers);
	if (line.failed)
		nn_text_free(&line);
	nn_text_clear(&answer);
	nn_text_clear(&line);
	nn_text_clear(&headers);
	if (room > KEPT_BYTES) {
		free(body);
		body = NULL;
		room = 0;
	}
	memset(request, 0, sizeof *request);
	request->exchange.answer = answer;
	request->exchange.body = body;
	request->body_room = room;
	request->line = line;
	request->headers = headers;
}

static struct nn_http_request *get(struct nn_http_loop *loop)
{
	struct nn_http_request *request = loop->spare;

	if (!request)
		return calloc(1, sizeof *request);
	loop->spare = request->next;
	loop->n_spare--;
	return request;
}

static void put(struct nn_http_loop *loop, struct nn_http_request *request)
{
	if (loop->n_spare >= KEPT_REQUESTS) {
		nn_http_request_free(request);
		return;
	}
	clean(request);
	request->next = loop->spare;
	loop->spare = request;
	loop->n_spare++;
}

static struct nn_http_link *link_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* Called before the URL is taken apart; what it gives is *request of the other callbacks. */
void *nn_http_on_line(void *arg, const char *url, struct MHD_Connection *connection)
{
	struct nn_http_loop *loop = arg;
	struct nn_http_link *link = link_of(connection);
	struct nn_http_request *request = link ? get(loop) : NULL;

	if (!request)
		return NULL;
	request->link = link;
	request->loop = loop;
	request->http = loop->http;
	request->raw_url = url;
	request->raw_url_length = url ? strlen(url) : 0;
	request->exchange.loop = loop->number;
	request->exchange.began = nn_now_s();
	nn_text_add_bytes(&request->line, url ? url : "", request->raw_url_length);
	link->request = request;
	atomic_fetch_add_explicit(&loop->pending, 1, memory_order_relaxed);
	link->phase = NN_HTTP_HEADERS;
	link->since = request->exchange.began;
	return request;
}

/* Point path, query and method into the copy of the request line. */
static bool copy_line(struct nn_http_request *request, const char *method)
{
	struct nn_text *line = &request->line;
	size_t at = line->length + 1;
	char *query;

	nn_text_add_bytes(line, "", 1);
	nn_text_add(line, method);
	if (line->failed)
		return false;
	query = strchr(line->data, '?');
	if (query)
		*query++ = '\0';
	request->exchange.path = line->data;
	request->exchange.query = query;
	request->exchange.method = line->data + at;
	return true;
}

/* Room for n bytes of body and '\0'; false: memory is out. */
static bool reserve(struct nn_http_request *request, size_t n)
{
	size_t room = request->body_room ? request->body_room : FIRST_BODY;
	char *body;

	if (n < request->body_room)
		return true;
	while (room <= n)
		room *= 2;
	body = realloc(request->exchange.body, room);
	if (!body)
		return false;
	request->exchange.body = body;
	request->body_room = room;
	return true;
}

/* The headers are there. */
static enum MHD_Result begin(struct nn_http_request *request, struct MHD_Connection *connection,
			     const char *method, const char *version)
{
	struct nn_http_link *link = request->link;
	struct nn_http_refusal refusal;
	uint64_t length = 0;

	request->begun = true;
	if (!copy_line(request, method))
		return MHD_NO;
	refusal = nn_http_check(request, connection, method, version, &length);
	if (refusal.status != 0)
		return nn_http_refuse(request, refusal);
	/* a length is believed up to a point: more is taken when more comes */
	if (!reserve(request, length < MOST_TRUSTED ? (size_t)length : MOST_TRUSTED))
		return MHD_NO;
	link->phase = NN_HTTP_BODY;
	if (length > 0 || request->chunked)
		link->since = nn_now_s();
	return MHD_YES;
}

/*
 * Pieces do not cross chunks. One that does not begin where the buffer does has a chunk's head in
 * front of it; one that does may go on with the chunk before it, which is believed of long ones.
 */
static bool count_chunk(struct nn_http_request *request, const char *data, size_t n)
{
	request->chunks += data != request->body_begin || n < 64;
	return request->chunks <= request->http->setup.limits.chunks;
}

/* In front of such a piece stands the line of the chunk's size; libmicrohttpd takes a bare LF. */
static bool ends_in_crlf(const struct nn_http_request *request, const char *data)
{
	return data < request->body_begin + 2 || data[-2] == '\r';
}

/* The size in that line, UINT64_MAX for any beyond; 0 where the whole line is not there. */
static uint64_t announced(const struct nn_http_request *request, const char *data)
{
	const char *line = data;
	uint64_t size = 0;

	if (data < request->body_begin + 2)
		return 0;
	line -= 2;
	while (line > request->body_begin && line[-1] != '\n')
		line--;
	if (line == request->body_begin && request->exchange.bytes > 0)
		return 0;
	for (; isxdigit((unsigned char)*line); line++) {
		if (size >> 60)
			return UINT64_MAX;
		size = size * 16 + (uint64_t)(*line <= '9' ? *line - '0' : (*line | 32) - 'a' + 10);
	}
	return size;
}

static enum MHD_Result take(struct nn_http_request *request, const char *data, size_t *bytes)
{
	struct nn_exchange *exchange = &request->exchange;
	uint64_t most = request->http->setup.limits.body;
	size_t n = *bytes;

	*bytes = 0;
	if (request->status != 0) /* refused: what is still on its way is dropped */
		return MHD_YES;
	if (n > most || exchange->bytes > most - n ||
	    (request->chunked && announced(request, data) > most - exchange->bytes)) {
		nn_http_refuse_raw(request->link, nn_http_large_body);
		return MHD_NO;
	}
	if (request->chunked && !ends_in_crlf(request, data)) {
		nn_http_refuse_raw(request->link, nn_http_bad_framing);
		return MHD_NO;
	}
	if (request->chunked && !count_chunk(request, data, n)) {
		nn_http_refuse_raw(request->link, nn_http_many_chunks);
		return MHD_NO;
	}
	if (!reserve(request, exchange->bytes + n))
		return MHD_NO;
	memcpy(exchange->body + exchange->bytes, data, n);
	exchange->bytes += n;
	return MHD_YES;
}

/* Nobody else can be part of the loop's round: libmicrohttpd sends what is answered at once. */
static bool is_alone(const struct nn_http_loop *loop)
{
	return atomic_load_explicit(&loop->load, memory_order_relaxed) == 1;
}

/* All of it is there: the handler's turn. */
static enum MHD_Result hand_over(struct nn_http_request *request)
{
	struct nn_http_loop *loop = request->loop;
	struct nn_http *http = request->http;
	struct nn_exchange *exchange = &request->exchange;

	request->handled = true;
	exchange->body[exchange->bytes] = '\0';
	exchange->read = nn_now_s();
	request->link->phase = NN_HTTP_ANSWER;
	http->setup.handle(http->setup.arg, exchange);
	if (is_alone(loop))
		http->setup.round(http->setup.arg, loop->number);
	if (atomic_load_explicit(&request->owner, memory_order_acquire) == NN_HTTP_ANSWERED)
		return nn_http_reply(request) ? MHD_YES : MHD_NO;
	request->next = loop->fresh;
	loop->fresh = request;
	return MHD_YES;
}

static enum MHD_Result add_bytes(void *arg, enum MHD_ValueKind kind, const char *name,
				 size_t name_bytes, const char *value, size_t value_bytes)
{
	(void)kind;
	(void)name;
	(void)value;
	*(uint64_t *)arg += name_bytes + value_bytes;
	return MHD_YES;
}

static uint64_t count_values(struct MHD_Connection *connection, enum MHD_ValueKind kind,
			     uint64_t *bytes)
{
	return (uint64_t)MHD_get_connection_values_n(connection, kind, add_bytes, bytes);
}

/* They are headers that come late, and are bounded with them. */
static struct nn_http_refusal check_trailers(const struct nn_http_request *request,
					     struct MHD_Connection *connection)
{
	const struct nn_http_limits *limits = &request->http->setup.limits;
	uint64_t bytes = 0, n = 0;

	if (request->chunked)
		n = count_values(connection, MHD_FOOTER_KIND, &bytes);
	if (n > 0)
		n += count_values(connection, MHD_HEADER_KIND, &bytes);
	if (n > limits->header_count)
		return nn_http_many_headers;
	return bytes > limits->headers ? nn_http_large_headers : (struct nn_http_refusal){ 0 };
}

enum MHD_Result nn_http_on_request(void *loop, struct MHD_Connection *connection, const char *url,
				   const char *method, const char *version, const char *data,
				   size_t *bytes, void **arg)
{
	struct nn_http_request *request = *arg;

	(void)loop;
	(void)url;
	if (!request || request->link->refused)
		return MHD_NO;
	if (!request->begun)
		return begin(request, connection, method, version);
	if (*bytes > 0)
		return take(request, data, bytes);
	if (!request->handled) {
		struct nn_http_refusal refusal = check_trailers(request, connection);

		return refusal.status ? nn_http_refuse(request, refusal) : hand_over(request);
	}
	/* asked again: an answer that could not be given, or one that is not there yet */
	if (atomic_load_explicit(&request->owner, memory_order_acquire) == NN_HTTP_ANSWERED)
		return nn_http_reply(request) ? MHD_YES : MHD_NO;
	return MHD_YES;
}

/* The connection ends before the answer: the handler has the request alone now. */
static bool abandon(struct nn_http_request *request)
{
	int owner = atomic_load(&request->owner);

	while (request->handled && owner != NN_HTTP_ANSWERED) {
		if (owner == NN_HTTP_GONE)
			return true;
		atomic_fetch_add(&request->http->holders, 1);
		if (atomic_compare_exchange_strong(&request->owner, &owner, NN_HTTP_GONE))
			return true;
		atomic_fetch_sub(&request->http->holders, 1);
	}
	return false;
}

void nn_http_on_completed(void *arg, struct MHD_Connection *connection, void **pointer,
			  enum MHD_RequestTerminationCode code)
{
	struct nn_http_loop *loop = arg;
	struct nn_http_request *request = *pointer;
	struct nn_http_link *link;
	bool sent = code == MHD_REQUEST_TERMINATED_COMPLETED_OK;

	(void)connection;
	*pointer = NULL;
	if (!request)
		return;
	link = request->link;
	link->request = NULL;
	link->phase = NN_HTTP_IDLE;
	link->unread = false;
	/* chunks have heads, TLS has records: of these what was read with the request is its own */
	link->bytes_used =
		request->chunked || loop->http->setup.tls_cert
			? nn_http_bytes_taken(link)
			: link->bytes_used + request->head_bytes + request->exchange.bytes;
	link->bytes_taken = link->bytes_used;
	atomic_fetch_sub_explicit(&loop->pending, 1, memory_order_relaxed);
	if (abandon(request)) {
		request->link = NULL;
		return;
	}
	/* what the client is still sending would take the refusal with it */
	if (request->status >= 400 && !request->handled && !link->refused)
		nn_http_linger(request->http, link->fd);
	if (request->status != 0 && (request->exchange.method || copy_line(request, "")))
		nn_http_over(request,
			     sent ? request->exchange.answer.length : request->refusal_bytes);
	put(loop, request);
}
