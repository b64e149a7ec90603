/* Directories from which models are read: all that a sandbox has to leave open. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/output.h"
#include "serve/models/inside.h"

bool nn_make_room(void **list, size_t n, size_t *room, size_t size, struct nn_error *err)
{
	size_t wanted = *room ? *room * 2 : 4;
	void *more;

	if (n < *room)
		return true;
	more = nn_realloc(*list, *room * size, wanted * size, err);
	if (more) {
		*list = more;
		*room = wanted;
	}
	return more != NULL;
}

char *nn_parent(const char *path, struct nn_error *err)
{
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	while (n > 0 && path[n - 1] != '/')
		n--;
	while (n > 1 && path[n - 1] == '/')
		n--;
	return n > 0 ? nn_strndup(path, n, err) : nn_strdup(".", err);
}

/* folder is taken over. */
static int add_folder(struct nn_models *models, char *folder, struct nn_error *err)
{
	for (size_t i = 0; folder && i < models->n_folders; i++)
		if (strcmp(models->folders[i], folder) == 0) {
			nn_free(folder);
			return 0;
		}
	if (!folder || !nn_make_room((void **)&models->folders, models->n_folders,
				     &models->folders_room, sizeof *models->folders, err)) {
		nn_free(folder);
		return -1;
	}
	models->folders[models->n_folders++] = folder;
	return 0;
}

int nn_models_take_folders(struct nn_models *models, const char *path, struct nn_error *err)
{
	bool directory, link;
	struct stat s;
	char *whole;
	int status;

	if (nn_is_stdin(path))
		return 0;
	directory = stat(path, &s) == 0 && S_ISDIR(s.st_mode);
	link = lstat(path, &s) == 0 && S_ISLNK(s.st_mode);
	whole = realpath(path, NULL);
	status = add_folder(models, directory ? nn_strdup(path, err) : nn_parent(path, err), err);
	/* A link will be set to what lies beside its target. */
	if (status == 0 && whole && (link || !directory))
		status = add_folder(models, nn_parent(whole, err), err);
	free(whole);
	return status;
}

void nn_models_free_folders(struct nn_models *models)
{
	for (size_t i = 0; i < models->n_folders; i++)
		nn_free(models->folders[i]);
	nn_free(models->folders);
}

const char *nn_models_folder(struct nn_models *models, size_t i)
{
	const char *folder;

	pthread_mutex_lock(&models->searching);
	folder = i < models->n_folders ? models->folders[i] : NULL;
	pthread_mutex_unlock(&models->searching);
	return folder;
}
