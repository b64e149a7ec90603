/* Answers: what a handler made, and refusals, through libmicrohttpd or past it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "serve/http/loop.h"

#define REFUSAL(name, status, why) const struct nn_http_refusal name = { status, why }
REFUSAL(nn_http_late_headers, 408, "the request's headers did not come in time (--header-timeout)");
REFUSAL(nn_http_late_body, 408, "the request's body came too slowly (--min-rate)");
REFUSAL(nn_http_large_body, 413, "the request's body is too large (--max-body)");
REFUSAL(nn_http_long_line, 414, "the request line is too long (--max-line)");
REFUSAL(nn_http_large_headers, 431, "the request's headers are too large (--max-headers)");
REFUSAL(nn_http_many_headers, 431, "the request has too many headers (--max-headers)");
REFUSAL(nn_http_many_chunks, 413, "the request's body has too many chunks (--max-chunks)");
REFUSAL(nn_http_many_connections, 503, "there are too many connections (--max-connections)");
REFUSAL(nn_http_bad_framing, 400, "where the request's body ends is not clear");
REFUSAL(nn_http_malformed, 400, "the request is malformed");

static const char json[] = "application/json";

static bool add_headers(struct MHD_Response *response, const struct nn_http_request *request)
{
	const struct nn_text *headers = &request->headers;

	if (request->type &&
	    MHD_add_response_header(response, "Content-Type", request->type) != MHD_YES)
		return false;
	for (size_t at = 0; at < headers->length;) {
		const char *name = headers->data + at, *value = name + strlen(name) + 1;

		if (MHD_add_response_header(response, name, value) != MHD_YES)
			return false;
		at = (size_t)(value + strlen(value) + 1 - headers->data);
	}
	return true;
}

bool nn_http_reply(struct nn_http_request *request)
{
	struct nn_text *answer = &request->exchange.answer;
	struct MHD_Response *response;
	bool good;

	if (answer->failed)
		return false;
	/* the answer lives until nn_http_on_completed, which libmicrohttpd calls last */
	response = MHD_create_response_from_buffer(answer->length, answer->data,
						   MHD_RESPMEM_PERSISTENT);
	if (!response)
		return false;
	good = add_headers(response, request) &&
	       MHD_queue_response(request->link->connection, request->status, response) == MHD_YES;
	MHD_destroy_response(response);
	return good;
}

#define TIMING 120

/* Server-Timing of what was read since then and no further. */
static const char *timing(char text[TIMING], double since)
{
	snprintf(text, TIMING,
		 "read;dur=%.3f, parse;dur=0, queue;dur=0, compute;dur=0, format;dur=0",
		 since > 0 ? (nn_now_s() - since) * 1e3 : 0);
	return text;
}

enum MHD_Result nn_http_refuse(struct nn_http_request *request, struct nn_http_refusal refusal)
{
	struct nn_text *answer = &request->exchange.answer;
	char text[TIMING];

	nn_text_clear(answer);
	nn_text_addf(answer, "{\"error\":\"%s\"}\n", refusal.why);
	nn_text_clear(&request->headers);
	nn_exchange_set_header(&request->exchange, "Connection", "close");
	nn_exchange_set_header(&request->exchange, "Server-Timing",
			       timing(text, request->exchange.began));
	request->status = refusal.status;
	request->type = json;
	request->link->phase = NN_HTTP_ANSWER;
	atomic_store_explicit(&request->owner, NN_HTTP_ANSWERED, memory_order_relaxed);
	return nn_http_reply(request) ? MHD_YES : MHD_NO;
}

static const char *reason(unsigned status)
{
	static const struct {
		unsigned status;
		const char *phrase;
	} reasons[] = { { 400, "Bad Request" },
			{ 408, "Request Timeout" },
			{ 413, "Content Too Large" },
			{ 414, "URI Too Long" },
			{ 431, "Request Header Fields Too Large" },
			{ 503, "Service Unavailable" } };

	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		if (reasons[i].status == status)
			return reasons[i].phrase;
	return "Error";
}

/* Headers and body; the bytes of the body that were sent. */
static size_t send_refusal(const struct nn_http *http, int fd, struct nn_http_refusal refusal,
			   double since)
{
	size_t body = strlen(refusal.why) + sizeof "{\"error\":\"\"}";
	char text[640], times[TIMING];
	int n = snprintf(text, sizeof text,
			 "HTTP/1.1 %u %s\r\nConnection: close\r\nContent-Type: %s\r\n%s"
			 "Server-Timing: %s\r\nContent-Length: %zu\r\n\r\n{\"error\":\"%s\"}\n",
			 refusal.status, reason(refusal.status), json,
			 refusal.status == 503 ? "Retry-After: 1\r\n" : "", timing(times, since),
			 body, refusal.why);

	/* inside TLS nothing can be said past libmicrohttpd; and a client that has no room for so
	 * few bytes gets none */
	if (http->setup.tls_cert || n <= 0 || (size_t)n >= sizeof text ||
	    send(fd, text, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) != n)
		return 0;
	shutdown(fd, SHUT_WR);
	return body;
}

void nn_http_refuse_socket(struct nn_http *http, int fd, struct nn_http_refusal refusal,
			   double since)
{
	struct nn_http_request none = { .exchange = { .method = "", .path = "", .began = since },
					.http = http,
					.status = refusal.status };

	nn_http_over(&none, send_refusal(http, fd, refusal, since));
}

void nn_http_refuse_raw(struct nn_http_link *link, struct nn_http_refusal refusal)
{
	struct nn_http *http = link->loop->http;
	struct nn_http_request *request = link->request;

	link->refused = true;
	link->phase = NN_HTTP_ANSWER;
	if (request) {
		request->status = refusal.status;
		request->refusal_bytes = send_refusal(http, link->fd, refusal, link->since);
		atomic_store_explicit(&request->owner, NN_HTTP_ANSWERED, memory_order_relaxed);
	} else {
		nn_http_refuse_socket(http, link->fd, refusal, link->since);
	}
	if (!http->setup.tls_cert)
		nn_http_linger(http, link->fd);
}

void nn_http_over(struct nn_http_request *request, size_t bytes_out)
{
	struct nn_http *http = request->http;

	if (request->exchange.method && strcmp(request->exchange.method, "HEAD") == 0)
		bytes_out = 0;
	http->setup.ended(http->setup.arg, &request->exchange, request->status, bytes_out);
}

static struct nn_http_request *request_of(const struct nn_exchange *exchange)
{
	return (struct nn_http_request *)exchange;
}

const char *nn_exchange_header(const struct nn_exchange *exchange, const char *name)
{
	const struct nn_http_request *request = request_of(exchange);

	if (!request->link)
		return NULL;
	return MHD_lookup_connection_value(request->link->connection, MHD_HEADER_KIND, name);
}

bool nn_exchange_is_local(const struct nn_exchange *exchange)
{
	const struct nn_http_request *request = request_of(exchange);

	return request->link && request->link->local;
}

bool nn_exchange_set_header(struct nn_exchange *exchange, const char *name, const char *value)
{
	struct nn_text *headers = &request_of(exchange)->headers;

	nn_text_add_bytes(headers, name, strlen(name) + 1);
	nn_text_add_bytes(headers, value, strlen(value) + 1);
	return !headers->failed;
}

/* The server is closed: nobody but this thread knows the request. */
static void bury(struct nn_http_request *request)
{
	struct nn_http *http = request->http;

	nn_http_over(request, 0);
	nn_http_request_free(request);
	nn_http_let_go(http);
}

void nn_exchange_answer(struct nn_exchange *exchange, unsigned status, const char *type)
{
	struct nn_http_request *request = request_of(exchange);
	struct nn_http_loop *loop = request->loop;
	bool ours = nn_http_loop_is_here(loop);
	int owner;

	request->status = status;
	request->type = type;
	/* close waits for threads that are between these two lines and have a connection in hand */
	if (!ours)
		atomic_fetch_add(&loop->answering, 1);
	owner = atomic_exchange(&request->owner, NN_HTTP_ANSWERED);
	if (owner == NN_HTTP_SUSPENDED) {
		struct MHD_Connection *connection = request->link->connection;

		if (!nn_http_reply(request))
			shutdown(request->link->fd, SHUT_RDWR);
		MHD_resume_connection(connection);
		if (!ours)
			nn_http_loop_wake(loop);
	}
	if (!ours)
		atomic_fetch_sub(&loop->answering, 1);
	if (owner == NN_HTTP_GONE)
		bury(request);
}
