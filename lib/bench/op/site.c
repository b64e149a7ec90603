/* Sites that operands of nn-bench describe. */
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "bench/op/site.h"
#include "op/notation.h"

enum nn_op_id nn_op_site_op(const char *operand)
{
	return nn_op_named(operand, strcspn(operand, ":"));
}

/* The op's first site that is timed, with attributes and shapes of its own. */
static void take_usual(struct nn_op_operand *o, enum nn_op_id op)
{
	const struct nn_op_site *usual = nn_op_sites;

	while (usual->op != op || usual->name)
		usual++;
	o->site = *usual;
	if (usual->attrs)
		memcpy(&o->attrs, usual->attrs, nn_ops[op]->attrs_size);
	o->site.attrs = &o->attrs;
	o->site.in = o->in;
}

int nn_op_operand_parse(struct nn_op_operand *o, const char *operand, struct nn_error *err)
{
	enum nn_op_id op = nn_op_site_op(operand);
	const char *shape = operand + strcspn(operand, ":") + 1;
	char quoted[NN_QUOTED];
	struct nn_error below;
	struct nn_shape out;

	take_usual(o, op);
	nn_quote(quoted, operand, strlen(operand));
	if (!nn_op_read(op, shape, &o->site.rows, &o->in[0], &o->attrs))
		return nn_fail(err, NN_EUSAGE, "%s: expected %s:%s", quoted, nn_ops[op]->name,
			       nn_op_form(op));
	o->in[1] = o->in[0];
	if (nn_ops[op]->infer(&o->attrs, o->in, o->site.n_in, &out, &below) < 0)
		return nn_fail(err, NN_EUSAGE, "%s: %s", quoted, below.text);
	return 0;
}
