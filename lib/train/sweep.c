/* What a killed run left: temporaries that no renaming will ever take. */
#include <dirent.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "train/lock.h"

#define RANDOM 6                     /* of `.NAME.XXXXXX.tmp` */

static bool is_temporary(const char *entry, const char *name)
{
	size_t n = strlen(name);

	return strlen(entry) == 1 + n + 1 + RANDOM + 4 && entry[0] == '.' && strncmp(entry + 1, name, n) == 0 &&
	       entry[1 + n] == '.' && strcmp(entry + 1 + n + 1 + RANDOM, ".tmp") == 0;
}

void nn_sweep_temporaries(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	char *directory = slash ? nn_strndup(path, slash == path ? 1 : (size_t)(slash - path), NULL) : nn_strdup(".", NULL);
	DIR *entries = directory ? opendir(directory) : NULL;
	struct dirent *entry;

	while (entries && (entry = readdir(entries)))
		if (is_temporary(entry->d_name, name))
			unlinkat(dirfd(entries), entry->d_name, 0);
	if (entries)
		closedir(entries);
	nn_free(directory);
}
