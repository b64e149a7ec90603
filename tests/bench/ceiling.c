/*
 * What libmicrohttpd alone does with the load of a server: it reads a body and answers at once. A
 * ceiling for nn-serve, which goes through the same library.
 *
 * usage: ceiling THREADS METADATA ANSWER     GET is answered with METADATA, POST with ANSWER
 */
#include <microhttpd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct MHD_Response *metadata, *answer;

static struct MHD_Response *text(const char *body)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(strlen(body), (void *)body, MHD_RESPMEM_PERSISTENT);

	MHD_add_response_header(response, "Content-Type", "application/json");
	return response;
}

static enum MHD_Result handle(void *arg, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *body,
			      size_t *bytes, void **state)
{
	static int begun;

	(void)arg;
	(void)url;
	(void)version;
	(void)body;
	if (!*state) {
		*state = &begun;
		return MHD_YES;
	}
	if (*bytes > 0) {
		*bytes = 0;
		return MHD_YES;
	}
	return MHD_queue_response(connection, MHD_HTTP_OK,
				  strcmp(method, "POST") == 0 ? answer : metadata);
}

int main(int argc, char **argv)
{
	struct MHD_Daemon *daemon;
	sigset_t set;
	int number;

	if (argc != 4) {
		fputs("usage: ceiling THREADS METADATA ANSWER\n", stderr);
		return 2;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	metadata = text(argv[2]);
	answer = text(argv[3]);
	daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL, handle, NULL,
				  MHD_OPTION_THREAD_POOL_SIZE, (unsigned)atoi(argv[1]),
				  MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)64 << 10,
				  MHD_OPTION_END);
	if (!daemon) {
		fputs("ceiling: cannot listen\n", stderr);
		return 1;
	}
	printf("http://127.0.0.1:%u\n",
	       MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT)->port);
	fflush(stdout);
	sigwait(&set, &number);
	MHD_stop_daemon(daemon);
	MHD_destroy_response(metadata);
	MHD_destroy_response(answer);
	return 0;
}
