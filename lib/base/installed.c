/* Beside libnn (PREFIX/lib and PREFIX/share), so that an installed tree may be moved, or where
 * configure said. */
#include "config.h"
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/installed.h"
#include "base/memory.h"

static const char *look(const char *share, const char *name)
{
	static const char *const folders[] = { "examples", "data" };
	char path[4096], real[PATH_MAX];
	const char *found = NULL;

	for (size_t i = 0; !found && i < sizeof folders / sizeof *folders; i++)
		if (snprintf(path, sizeof path, "%s/%s/%s", share, folders[i], name) <
			    (int)sizeof path &&
		    realpath(path, real))
			found = nn_keep(real, NULL);
	return found;
}

const char *nn_installed_example(const char *name)
{
	char beside[4096], *slash;
	const char *found = NULL;
	Dl_info self;

	if (!*name || *name == '.' || strchr(name, '/') || access(name, F_OK) == 0)
		return NULL;
	if (dladdr((const void *)nn_installed_example, &self) &&
	    snprintf(beside, sizeof beside, "%s", self.dli_fname) < (int)sizeof beside &&
	    (slash = strrchr(beside, '/')) &&
	    snprintf(slash, sizeof beside - (size_t)(slash - beside), "/../share/nntools") > 0)
		found = look(beside, name);
	return found ? found : look(NN_PKGDATADIR, name);
}
