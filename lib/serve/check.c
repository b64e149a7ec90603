/* What can be said of a command line of nn-serve before any work. */
#include "base/files.h"
#include "base/memory.h"
#include "serve/models/files.h"
#include "serve/serve.h"

/* Models are inputs: nothing else is written over them. */
static int check_models(const char *const *words, const struct nn_opt_list *options,
			struct nn_error *err)
{
	struct nn_file_use *files;
	size_t n = 0;
	int status = 0;

	while (words[n])
		n++;
	files = nn_alloc(n + 1, sizeof *files, err);
	if (!files)
		return -1;
	for (size_t i = 0; i < n && status == 0; i++) {
		struct nn_operand operand;

		status = nn_operand_parse(&operand, words[i], err);
		files[i].path = operand.path;
		nn_operand_fini(&operand);
	}
	if (status == 0)
		status = nn_files_check(options, files, n, err);
	nn_free(files);
	return status;
}

int nn_serve_check(const struct nn_serve *serve, const struct nn_opt_list *options,
		   struct nn_error *err)
{
	const struct nn_serve_options *o = &serve->options;

	if (!o->tls_cert != !o->tls_key)
		return nn_fail(err, NN_EUSAGE, "%s: needs --%s",
			       o->tls_cert ? "--tls-cert" : "--tls-key",
			       o->tls_cert ? "tls-key" : "tls-cert");
	if (nn_http_check_listen(o->listen, err) < 0)
		return -1;
	return check_models(serve->models, options, err);
}
