/* The access log of nn-serve: whole lines from any thread, rotation, a disk that is full. */
#include "config.h"
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "files.h"
#include "serve/access-log.h"

static int n_warnings;
static char warning[600];

static void warn(void *arg, const char *text)
{
	(void)arg;
	n_warnings++;
	snprintf(warning, sizeof warning, "%s", text);
}

static struct nn_access_log *open_log(const char *path)
{
	struct nn_access_log *log;
	struct nn_error err;

	if (nn_access_log_open(&log, path, warn, NULL, &err) == 0)
		return log;
	printf("Bail out! %s\n", err.text);
	exit(1);
}

static char *text_of(const char *path)
{
	static char text[1 << 20];
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;

	if (f)
		fclose(f);
	text[n] = '\0';
	return text;
}

static const struct nn_access access_of = { .method = "POST",
					    .path = "/v1/models/a\"b\n:predict",
					    .status = 200,
					    .bytes_in = 17,
					    .bytes_out = 40,
					    .seconds = 0.00125,
					    .model = "a",
					    .rows = 3 };
#define REST \
	",\"method\":\"POST\",\"path\":\"/v1/models/a\\\"b\\n:predict\",\"status\":200," \
	"\"bytes_in\":17,\"bytes_out\":40,\"seconds\":0.001250,\"model\":\"a\",\"rows\":3}\n"

static void lines_are_json(void)
{
	struct nn_access_log *log = open_log("log");
	struct nn_access other = access_of;
	int year, month, day, hour, minute, second, ms, n = 0;
	struct stat s;
	char *text;

	nn_access_log_write(log, &access_of);
	other.model = "";
	nn_access_log_write(log, &other);
	nn_access_log_close(log);
	text = text_of("log");
	ok(sscanf(text, "{\"time\":\"%4d-%2d-%2dT%2d:%2d:%2d.%3dZ\"%n", &year, &month, &day, &hour,
		  &minute, &second, &ms, &n) == 7 &&
		   n == 34 && strncmp(text + n, REST, strlen(REST)) == 0,
	   "a line says when, what, how it went and for whom");
	ok(strstr(text, "\"model\":null,\"rows\":3}\n") != NULL, "no model is null");
	ok(stat("log", &s) == 0 && (s.st_mode & 07) == 0, "others may not read it");
	log = open_log("log");
	nn_access_log_write(log, &access_of);
	nn_access_log_close(log);
	ok(strncmp(text_of("log"), "{\"time\"", 7) == 0 &&
		   strlen(text_of("log")) > 3 * strlen(REST),
	   "it is added to");
}

static void *write_many(void *arg)
{
	for (int i = 0; i < 500; i++)
		nn_access_log_write(arg, &access_of);
	return NULL;
}

static void threads_write_whole_lines(void)
{
	struct nn_access_log *log = open_log("many");
	pthread_t threads[4];
	int lines = 0;
	bool whole = true;

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, write_many, log);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	nn_access_log_close(log);
	for (char *line = text_of("many"); *line; lines++) {
		whole &= strncmp(line, "{\"time\":\"", 9) == 0 && strlen(line) > 34 &&
			 strncmp(line + 34, REST, strlen(REST)) == 0;
		line += whole ? 34 + strlen(REST) : strlen(line);
	}
	ok(whole && lines == 2000, "4 threads write whole lines");
}

static void it_is_rotated(void)
{
	struct nn_access_log *log = open_log("turn");
	struct nn_error err;

	nn_access_log_write(log, &access_of);
	ok(rename("turn", "turn.1") == 0 && nn_access_log_reopen(log, &err) == 0,
	   "a renamed log is opened anew");
	nn_access_log_write(log, &access_of);
	nn_access_log_write(log, &access_of);
	ok(strlen(text_of("turn.1")) == 34 + strlen(REST) &&
		   strlen(text_of("turn")) == 2 * (34 + strlen(REST)),
	   "and written to from then on");
	ok(unlink("turn") == 0 && mkdir("turn", 0700) == 0 && nn_access_log_reopen(log, &err) < 0 &&
		   strcmp(err.text, "turn: cannot write: Is a directory") == 0,
	   "where that fails the old one goes on");
	nn_access_log_close(log);
	ok(nn_access_log_open(&log, "no/log", warn, NULL, &err) < 0 && err.code == NN_EFAIL &&
		   strcmp(err.text, "no/log: cannot write: No such file or directory") == 0,
	   "at the start it is an error");
}

static void a_full_disk_is_told_once(void)
{
	struct nn_access_log *log = open_log("/dev/full");

	for (int i = 0; i < 5; i++)
		nn_access_log_write(log, &access_of);
	nn_access_log_close(log);
	ok(n_warnings == 1 &&
		   strcmp(warning, "/dev/full: lines are lost: No space left on device") == 0,
	   "a full disk is told once");
}

static void a_torn_line_stays_alone(void)
{
	struct rlimit before, low;
	struct nn_access_log *log = open_log("torn");
	const char *next;

	getrlimit(RLIMIT_FSIZE, &before);
	low = before;
	low.rlim_cur = 50;
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &low);
	nn_access_log_write(log, &access_of);
	setrlimit(RLIMIT_FSIZE, &before);
	nn_access_log_write(log, &access_of);
	nn_access_log_close(log);
	next = strchr(text_of("torn"), '\n');
	ok(next && next - text_of("torn") == 50 && strncmp(next + 1, "{\"time\"", 7) == 0,
	   "after a line that was cut short the next begins on its own");
}

int main(void)
{
	go_to_tmp();
	lines_are_json();
	threads_write_whole_lines();
	it_is_rotated();
	a_full_disk_is_told_once();
	a_torn_line_stays_alone();
	return tests_done();
}
