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

enum { NN_MODULE_PATH_MAX = 4096 };

static const void *check(void *handle, const char *path, const char *name, struct nn_error *err)
{
	const struct nn_module *module = dlsym(handle, "nn_module");

	if (!module || module->abi != NN_MODULE_ABI || strcmp(module->name, name) != 0) {
		nn_fail(err, NN_ENODEV, "%s: is not a module %s of this version", path, name);
		return NULL;
	}
	return module->table;
}

/* Is nn-NAME.so in one of the directories, which colons divide? path: the first place of it. */
static bool find_in(const char *list, const char *name, char path[NN_MODULE_PATH_MAX])
{
	for (const char *at = list; at && *at;) {
		int n = (int)strcspn(at, ":");

		if (n > 0 &&
		    snprintf(path, NN_MODULE_PATH_MAX, "%.*s/nn-%s.so", n, at, name) <
			    NN_MODULE_PATH_MAX &&
		    access(path, F_OK) == 0)
			return true;
		at += n + (at[n] == ':');
	}
	return false;
}

static bool find(const char *name, char path[NN_MODULE_PATH_MAX])
{
	char places[3 * NN_MODULE_PATH_MAX];
	Dl_info self;

	if (find_in(secure_getenv("NN_MODULE_PATH"), name, path))
		return true;
	if (dladdr((const void *)nn_module_open, &self) && strrchr(self.dli_fname, '/')) {
		int n = (int)(strrchr(self.dli_fname, '/') - self.dli_fname);

		snprintf(places, sizeof places, "%.*s:%.*s/nntools:%s", n, self.dli_fname, n,
			 self.dli_fname, NN_PKGLIBDIR);
	} else {
		snprintf(places, sizeof places, "%s", NN_PKGLIBDIR);
	}
	return find_in(places, name, path);
}

bool nn_module_installed(const char *name)
{
	char path[NN_MODULE_PATH_MAX];

	return find(name, path);
}

const void *nn_module_open(const char *name, struct nn_error *err)
{
	char path[NN_MODULE_PATH_MAX];
	void *handle;

	if (!find(name, path)) {
		nn_fail(err, NN_ENODEV, "module nn-%s.so is not installed", name);
		return NULL;
	}
	handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
	if (!handle) {
		nn_fail(err, NN_ENODEV, "cannot load module %s: %s", name, dlerror());
		return NULL;
	}
	return check(handle, path, name, err);
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
