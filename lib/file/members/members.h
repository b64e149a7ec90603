/* Files one after another: those of a folder and its folders by their names, or the members of a
 * tar. */
#ifndef NN_FILE_MEMBERS_MEMBERS_H
#define NN_FILE_MEMBERS_MEMBERS_H

#include <sys/stat.h>

#include "file/input.h"

struct nn_members;

struct nn_member {
	const char *name;      /* below the folder, or as the tar has it; until the next call */
	struct nn_block bytes; /* the caller's, grown where it has to be */
	size_t n;
	/* of a tar where they lie, as its reader counts; of a folder nn_member_changed */
	uint64_t at;
};

/* When a file was changed, as one number. */
static inline uint64_t nn_member_changed(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec;
}

/*
 * Of an input that is a folder, or one that begins as a tar does; both stay the caller's. Files
 * whose names `wanted` refuses, and hidden ones, are left out unread. Names are never opened as
 * files, and one with `..` in it is an error; so is a link that is wanted: in a folder it has to
 * lead to a regular file, of a tar it cannot be read.
 */
int nn_members_open(struct nn_members **members, struct nn_input *input,
		    bool (*wanted)(const char *name), struct nn_error *err);
void nn_members_close(struct nn_members *members); /* NULL allowed */
/* 1, 0 at the end, -1. An error names the tar or folder and the member. */
int nn_members_next(struct nn_members *members, struct nn_member *member, struct nn_error *err);
/* How many a folder has; SIZE_MAX: a tar does not tell. */
size_t nn_members_count(const struct nn_members *members);
/* visit(arg, path) for each of a folder, unread, until it returns another value than 0. */
int nn_members_each_path(const struct nn_members *members,
			 int (*visit)(void *arg, const char *path), void *arg);

#endif
