/* The inside of members: one struct, a list of names or a tar behind it. */
#ifndef NN_FILE_MEMBERS_MEMBERS_INSIDE_H
#define NN_FILE_MEMBERS_MEMBERS_INSIDE_H

#include "base/text.h"
#include "file/members/members.h"

struct nn_members {
	struct nn_input *input; /* borrowed */
	bool (*wanted)(const char *name);
	/* a folder */
	char **names;
	size_t n, at;
	/* a tar */
	struct nn_text name; /* of the member, where a header before its own says it */
	int64_t size;        /* likewise; -1: its own says it */
	uint64_t place;      /* bytes before the header, for errors */
};

int nn_members_list(struct nn_members *members, struct nn_error *err);
int nn_members_next_file(struct nn_members *members, struct nn_member *member,
			 struct nn_error *err);
int nn_members_next_tar(struct nn_members *members, struct nn_member *member, struct nn_error *err);

#endif
