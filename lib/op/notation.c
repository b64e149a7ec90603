/* Reading and writing ops at their sites: what all ops share, and the parts that rows are made of.
 */
#include <string.h>

#include "base/number.h"
#include "op/notation.h"

enum nn_op_id nn_op_named(const char *name, size_t n)
{
	for (int op = 0; op < NN_N_OPS; op++)
		if (strlen(nn_ops[op]->name) == n && memcmp(nn_ops[op]->name, name, n) == 0)
			return (enum nn_op_id)op;
	return NN_N_OPS;
}

const char *nn_op_form(enum nn_op_id op)
{
	return nn_ops[op]->form ? nn_ops[op]->form : "ROWSxN or NxCxHxW";
}

/* Numbers of 1 to 2^31 with x between, and the comma behind them: how many. */
static int read_sizes(struct nn_op_reader *r, size_t sizes[NN_MAX_RANK])
{
	int n = 0;

	do {
		size_t digits;
		uint64_t value;

		r->at += n > 0;
		digits = strspn(r->at, "0123456789");
		if (n == NN_MAX_RANK || !nn_parse_u64(r->at, digits, &value) || value < 1 ||
		    value > (uint64_t)1 << 31) {
			r->wrong = true;
			return 0;
		}
		sizes[n++] = (size_t)value;
		r->at += digits;
	} while (*r->at == 'x');
	r->wrong |= *r->at != ',' && *r->at != '\0';
	r->at += *r->at == ',';
	return n;
}

size_t nn_op_read_size(struct nn_op_reader *r)
{
	size_t sizes[NN_MAX_RANK];

	r->wrong |= read_sizes(r, sizes) != 1;
	return r->wrong ? 1 : sizes[0];
}

void nn_op_read_pair(struct nn_op_reader *r, size_t pair[2])
{
	size_t sizes[NN_MAX_RANK];

	r->wrong |= read_sizes(r, sizes) != 2;
	for (int i = 0; i < 2 && !r->wrong; i++)
		pair[i] = sizes[i];
}

bool nn_op_read_key(struct nn_op_reader *r, const char *key, bool zero, size_t value[2])
{
	size_t n = strlen(key);

	if (strncmp(r->at, key, n) != 0)
		return false;
	r->at += n;
	if (zero && *r->at == '0' && (r->at[1] == ',' || r->at[1] == '\0')) {
		value[0] = value[1] = 0;
		r->at += 1 + (r->at[1] == ',');
	} else {
		value[0] = value[1] = nn_op_read_size(r);
	}
	return true;
}

bool nn_op_read(enum nn_op_id op, const char *text, size_t *rows, struct nn_shape *in, void *attrs)
{
	struct nn_op_reader r = { text, false };
	size_t sizes[NN_MAX_RANK], bytes;
	int n = read_sizes(&r, sizes);

	if (r.wrong || n < 2)
		return false;
	*rows = sizes[0];
	in->rank = n - 1;
	memcpy(in->dim, sizes + 1, sizeof(size_t) * (size_t)in->rank);
	if (nn_ops[op]->read)
		nn_ops[op]->read(&r, in, attrs);
	return !r.wrong && *r.at == '\0' && nn_shape_check(in, sizeof(double), &bytes);
}

void nn_op_write_window(struct nn_text *text, const size_t kernel[2], const size_t stride[2],
			const size_t pad[2], size_t usual)
{
	nn_text_addf(text, ",%zux%zu", kernel[0], kernel[1]);
	if (stride[0] != usual)
		nn_text_addf(text, ",stride=%zu", stride[0]);
	if (pad[0] != 0)
		nn_text_addf(text, ",pad=%zu", pad[0]);
}

void nn_op_write(enum nn_op_id op, const void *attrs, const struct nn_shape *in, size_t rows,
		 struct nn_text *text)
{
	const struct nn_epilogue *epilogue = nn_op_epilogue(op, (void *)attrs);
	char shape[NN_SHAPE_TEXT];

	nn_text_addf(text, "%zux%s", rows, nn_shape_text(shape, in));
	if (nn_ops[op]->write)
		nn_ops[op]->write(attrs, text);
	if (epilogue && epilogue->residual)
		nn_text_add(text, ",add");
	if (epilogue && epilogue->activation != NN_ACT_NONE)
		nn_text_addf(text, ",%s", nn_activation_name(epilogue->activation));
	if (nn_op_is_pooled(op, attrs)) {
		const size_t *kernel = nn_op_pooling(op, (void *)attrs)->window.kernel;

		nn_text_addf(text, ",maxpool%zux%zu", kernel[0], kernel[1]);
	}
}
