/* Why tensors and parameters cannot be paired by shape. */
#include <string.h>

#include "model/match/match.h"

static int fail_forms(const struct nn_match *m, const struct nn_program *program, const char *place,
		      struct nn_error *err)
{
	struct nn_text found = { 0 }, wanted = { 0 };
	char shape[NN_SHAPE_TEXT];

	nn_weight_names_list(&m->names, &found);
	for (int p = 0; p < program->n_params && p < 8; p++)
		nn_text_addf(&wanted, "%s%s %s", p ? ", " : "", program->params[p].name,
			     nn_shape_text(shape, &program->params[p].desc.shape));
	if (program->n_params > 8)
		nn_text_addf(&wanted, " and %d more", program->n_params - 8);
	nn_fail(err, NN_EFORMAT, "%s: its tensors do not fit the net: found %s; expected %s", place,
		found.data ? found.data : "", wanted.data ? wanted.data : "no tensors");
	nn_text_free(&found);
	nn_text_free(&wanted);
	return -1;
}

static int fail_ways(const struct nn_match *m, const char *place, struct nn_error *err)
{
	char a[NN_QUOTED], b[NN_QUOTED], shape[NN_SHAPE_TEXT];
	const char *first, *second;

	if (!m->either[0])
		return nn_fail(err, NN_EFORMAT,
			       "%s: its tensors fit as [out,in] and as [in,out]; --layout=torch or "
			       "--layout=keras says which they are",
			       place);
	first = m->either[0]->tensor->name;
	second = m->either[1]->tensor->name;
	return nn_fail(err, NN_EFORMAT,
		       "%s: tensors '%s' and '%s' are both %s, and either may come first; name the "
		       "lines of the net as the tensors, or number the tensors",
		       place, nn_quote(a, first, strlen(first)),
		       nn_quote(b, second, strlen(second)),
		       nn_shape_text(shape, &m->either[0]->tensor->shape));
}

int nn_match_forms_fail(const struct nn_match *m, const struct nn_program *program, int ways,
			const char *place, struct nn_error *err)
{
	return ways == 0 ? fail_forms(m, program, place, err) : fail_ways(m, place, err);
}
