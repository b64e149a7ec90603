/* Members of either kind behind one door. */
#include "base/memory.h"
#include "file/members/members-inside.h"

int nn_members_open(struct nn_members **members, struct nn_input *input,
		    bool (*wanted)(const char *name), struct nn_error *err)
{
	struct nn_members *m = nn_alloc(1, sizeof *m, err);

	if (!m)
		return -1;
	m->input = input;
	m->wanted = wanted;
	m->size = -1;
	if (nn_input_is_folder(input) && nn_members_list(m, err) < 0) {
		nn_members_close(m);
		return -1;
	}
	*members = m;
	return 0;
}

void nn_members_close(struct nn_members *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		nn_free(m->names[i]);
	nn_free(m->names);
	nn_text_free(&m->name);
	nn_free(m);
}

int nn_members_next(struct nn_members *m, struct nn_member *member, struct nn_error *err)
{
	return (nn_input_is_folder(m->input) ? nn_members_next_file
					     : nn_members_next_tar)(m, member, err);
}

size_t nn_members_count(const struct nn_members *m)
{
	return nn_input_is_folder(m->input) ? m->n : SIZE_MAX;
}
