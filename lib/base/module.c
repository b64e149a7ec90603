/*
 * Modules are found where NN_MODULE_PATH says, beside libnn, in nntools/ beside it, or where they
 * were installed.
 */
#include "config.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/module.h"

static const void *check(void *handle, const char *path, const char *name, struct nn_error *err)
{
	const struct nn_module *module = dlsym(handle, "nn_module");

	if (!module || module->abi != NN_MODULE_ABI || strcmp(module->name, name) != 0) {
		nn_fail(err, NN_ENODEV, "%s: is not a module %s of this version", path, name);
		return NULL;
	}
	return module->table;
}

/* *found: there is a file; else the next place is tried. */
static const void *open_in(const char *directory, size_t n, const char *name, bool *found,
			   struct nn_error *err)
{
	char path[4096];
	void *handle;

	*found = snprintf(path, sizeof path, "%.*s/nn-%s.so", (int)n, directory, name) <
			 (int)sizeof path &&
		 access(path, F_OK) == 0;
	if (!*found)
		return NULL;
	handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
	if (!handle) {
		nn_fail(err, NN_ENODEV, "cannot load module %s: %s", name, dlerror());
		return NULL;
	}
	return check(handle, path, name, err);
}

static const void *open_in_list(const char *list, const char *name, bool *found,
				struct nn_error *err)
{
	const void *table = NULL;

	*found = false;
	for (const char *at = list; at && *at && !*found;) {
		size_t n = strcspn(at, ":");

		if (n > 0)
			table = open_in(at, n, name, found, err);
		at += n + (at[n] == ':');
	}
	return table;
}

const void *nn_module_open(const char *name, struct nn_error *err)
{
	char places[3 * 4096];
	Dl_info self;
	bool found;
	const void *table = open_in_list(secure_getenv("NN_MODULE_PATH"), name, &found, err);

	if (found)
		return table;
	if (dladdr((const void *)nn_module_open, &self) && strrchr(self.dli_fname, '/')) {
		int n = (int)(strrchr(self.dli_fname, '/') - self.dli_fname);

		snprintf(places, sizeof places, "%.*s:%.*s/nntools:%s", n, self.dli_fname, n,
			 self.dli_fname, NN_PKGLIBDIR);
	} else {
		snprintf(places, sizeof places, "%s", NN_PKGLIBDIR);
	}
	table = open_in_list(places, name, &found, err);
	if (!found)
		nn_fail(err, NN_ENODEV, "module nn-%s.so is not installed", name);
	return table;
}

int nn_module_library(const char *file, const struct nn_module_function *functions, size_t n,
		      struct nn_error *err)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return nn_fail(err, NN_ENODEV, "cannot load %s", dlerror());
	for (size_t i = 0; i < n; i++) {
		void *function = dlsym(library, functions[i].name);

		if (!function)
			return nn_fail(err, NN_ENODEV, "%s has no %s", file, functions[i].name);
		memcpy(functions[i].to, &function, sizeof function);
	}
	return 0;
}
