/* What can be said of a command line of nn-serve before any work. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/files.h"
#include "base/memory.h"
#include "base/output.h"
#include "model/weights.h"
#include "serve/models/files.h"
#include "serve/models/models.h"
#include "serve/places.h"
#include "serve/serve.h"

/* Is a path, or where it will be, below a directory? */
static bool is_below(const char *path, const char *folder)
{
	char *parent = nn_parent(path, NULL), at[PATH_MAX], top[PATH_MAX];
	size_t n;
	bool below = false;

	if ((realpath(path, at) || (parent && realpath(parent, at))) && realpath(folder, top)) {
		n = strcmp(top, "/") == 0 ? 0 : strlen(top);
		below = strncmp(at, top, n) == 0 && (at[n] == '\0' || at[n] == '/');
	}
	nn_free(parent);
	return below;
}

/* What is written into a directory of models is taken for one, or replaces one. */
static int check_below(const char *option, const char *path, const char *folder,
		       struct nn_error *err)
{
	char quoted[NN_QUOTED];
	struct stat s;

	if (!path || strcmp(path, "-") == 0 || stat(folder, &s) < 0 || !S_ISDIR(s.st_mode) ||
	    (stat(path, &s) == 0 && !S_ISREG(s.st_mode)) || !is_below(path, folder))
		return 0;
	return nn_fail(err, NN_EUSAGE, "--%s=%s: lies in a directory of models that is served",
		       option, nn_quote(quoted, path, strlen(path)));
}

/* stdin can be read once: by one process, for one device and one model. */
static int check_stdin(const struct nn_serve *serve, size_t times, struct nn_error *err)
{
	const struct nn_serve_options *o = &serve->options;

	if (times > 1)
		return nn_fail(err, NN_EUSAGE, "-: stdin cannot be two models");
	if (times > 0 && (o->ranks > 1 || o->workers > 1 || strchr(serve->device, ',')))
		return nn_fail(err, NN_EUSAGE,
			       "-: stdin is read once, which %s does not go with: give a file",
			       o->ranks > 1     ? "--ranks"
			       : o->workers > 1 ? "--workers"
						: "--device of several");
	return 0;
}

/* Models are inputs: nothing else is written over them. */
static int check_models(const struct nn_serve *serve, const struct nn_opt_list *options,
			struct nn_error *err)
{
	const char *const *words = serve->models;
	struct nn_file_use *files;
	size_t n = 0, times = 0;
	int status = 0;

	while (words[n])
		n++;
	files = nn_alloc(n + 1, sizeof *files, err);
	if (!files)
		return -1;
	for (size_t i = 0; i < n && status == 0; i++) {
		struct nn_operand operand;

		status = nn_operand_parse(&operand, words[i], err);
		files[i] =
			(struct nn_file_use){ .path = operand.path, .each = nn_weights_each_file };
		times += nn_is_stdin(operand.path);
		if (status == 0)
			status = check_below("log", serve->log, operand.path, err);
		if (status == 0)
			status = check_below("access-log", serve->options.access_log, operand.path,
					     err);
		nn_operand_fini(&operand);
	}
	if (status == 0)
		status = check_stdin(serve, times, err);
	if (status == 0)
		status = nn_files_check(options, files, n, err);
	nn_free(files);
	return status;
}

int nn_serve_check(const struct nn_serve *serve, const struct nn_opt_list *options,
		   struct nn_error *err)
{
	const struct nn_serve_options *o = &serve->options;
	struct nn_places places;

	if (!o->tls_cert != !o->tls_key)
		return nn_fail(err, NN_EUSAGE, "%s: needs --%s",
			       o->tls_cert ? "--tls-cert" : "--tls-key",
			       o->tls_cert ? "tls-key" : "tls-cert");
	if (o->ranks > 1 && o->workers > 1)
		return nn_fail(err, NN_EUSAGE,
			       "--workers=%d: not with --ranks=%d; its processes work on one batch "
			       "after the other",
			       (int)o->workers, (int)o->ranks);
	if (nn_places_parse(&places, serve->device, err) < 0)
		return -1;
	if (places.n > 1 && (o->ranks > 1 || strstr(serve->device, "auto")))
		return nn_fail(err, NN_EUSAGE, "--device=%s: several devices go with neither %s",
			       serve->device, "auto nor --ranks");
	if (o->access_log && nn_is_stdout(o->access_log))
		return nn_fail(err, NN_EUSAGE,
			       "--access-log=%s: stdout is for the address; log to a file",
			       o->access_log);
	if (nn_http_check_listen(o->listen, err) < 0)
		return -1;
	return check_models(serve, options, err);
}
