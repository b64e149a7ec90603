/* Sites of ops: the ones that are measured unasked, and those that operands describe. */
#include <string.h>

#include "base/number.h"
#include "bench/op-site.h"

#define V(n) \
	{ \
		1, \
		{ \
			n \
		} \
	}
#define I(c, h, w) \
	{ \
		3, \
		{ \
			c, h, w \
		} \
	}
#define WINDOW(k, s, p) \
	{ \
		{ k, k }, { s, s }, \
		{ \
			p, p \
		} \
	}
#define DENSE(rows_, n_in_, n_out) \
	{ \
		.op = NN_OP_dense, .attrs.dense = { .out = n_out, .bias = true }, \
		.in = { V(n_in_) }, .n_in = 1, .rows = rows_, .want_dx = true \
	}
#define CONV(rows_, c, h, w, o, k, s, p) \
	{ \
		.op = NN_OP_conv2d, .in = { I(c, h, w) }, .n_in = 1, .rows = rows_, \
		.want_dx = true, .attrs.conv2d = { \
			.out = o, \
			.kernel = { k, k }, \
			.stride = { s, s }, \
			.pad = { p, p }, \
			.dilation = { 1, 1 }, \
			.groups = 1, \
			.bias = true \
		} \
	}
#define ONE(id, field, rows_, shape, ...) \
	{ \
		.op = NN_OP_##id, .attrs.field = { __VA_ARGS__ }, .in = { shape }, .n_in = 1, \
		.rows = rows_, .want_dx = true \
	}
#define TWO(id, rows_, shape) \
	{ \
		.op = NN_OP_##id, .in = { shape, shape }, .n_in = 2, .rows = rows_, \
		.want_dx = true \
	}
#define ARG(...) __VA_ARGS__

const struct nn_bench_site nn_bench_sites[] = {
	DENSE(1, 784, 128),
	DENSE(128, 784, 128),
	DENSE(1024, 784, 128),
	DENSE(128, 128, 10),
	DENSE(256, 2048, 2048),
	CONV(64, 1, 28, 28, 32, 3, 1, 0),
	CONV(64, 32, 13, 13, 64, 3, 1, 0),
	CONV(64, 64, 8, 8, 128, 3, 1, 1),
	CONV(32, 16, 32, 32, 32, 3, 2, 1),
	ONE(maxpool2d, pool2d, 32, ARG(I(32, 26, 26)), WINDOW(2, 2, 0)),
	ONE(avgpool2d, pool2d, 32, ARG(I(32, 26, 26)), WINDOW(2, 2, 0)),
	ONE(global_avgpool, pool2d, 128, ARG(I(64, 8, 8)), WINDOW(1, 1, 0)),
	ONE(batchnorm, batchnorm, 128, ARG(I(16, 32, 32)), 32, 1e-5, 0.1,
	    { NN_ACT_NONE, 0, false }),
	ONE(batchnorm, batchnorm, 128, ARG(V(512)), 32, 1e-5, 0.1, { NN_ACT_NONE, 0, false }),
	ONE(layernorm, layernorm, 128, ARG(V(512)), 1e-5),
	ONE(dropout, dropout, 128, ARG(V(512)), 0.5, 2),
	{ .op = NN_OP_embedding,
	  .attrs.embedding = { 100000, 16, NN_NO_ROW, false, true },
	  .in = { V(20) },
	  .n_in = 1,
	  .rows = 256 },
	ONE(activation, activation, 128, ARG(V(512)), NN_ACT_RELU, 0),
	ONE(activation, activation, 128, ARG(V(512)), NN_ACT_GELU, 0),
	ONE(activation, activation, 128, ARG(V(512)), NN_ACT_SIGMOID, 0),
	ONE(activation, activation, 128, ARG(V(512)), NN_ACT_TANH, 0),
	ONE(softmax, softmax, 4096, ARG(V(10)), false),
	ONE(softmax, softmax, 128, ARG(V(1000)), false),
	TWO(add, 32, ARG(V(16384))),
	TWO(mul, 32, ARG(V(16384))),
	TWO(concat, 32, ARG(V(16384))),
	ONE(reshape, reshape, 64, ARG(I(32, 32, 32)), V(32768)),
	ONE(permute, permute, 64, ARG(I(32, 32, 32)), 32, 1024, true),
};
const size_t nn_bench_n_sites = sizeof nn_bench_sites / sizeof *nn_bench_sites;

/* How SHAPE is written for an op. */
static const char *form_of(enum nn_op_id op)
{
	switch (op) {
	case NN_OP_dense:
		return "ROWSxINxOUT";
	case NN_OP_conv2d:
		return "NxCxHxW,OUT,KxK[,stride=S][,pad=P][,groups=G]";
	case NN_OP_maxpool2d:
	case NN_OP_avgpool2d:
		return "NxCxHxW,KxK[,stride=S][,pad=P]";
	case NN_OP_embedding:
		return "ROWSxN,ROWS-OF-THE-TABLExSIZE";
	case NN_OP_global_avgpool:
	case NN_OP_permute:
		return "NxCxHxW";
	case NN_OP_activation:
		return "ROWSxN,NAME, NAME being an activation";
	default:
		return "ROWSxN or NxCxHxW";
	}
}

/* ---- reading ---- */

enum nn_op_id nn_bench_op(const char *operand)
{
	size_t n = strcspn(operand, ":");

	for (int op = 0; op < NN_N_OPS; op++)
		if (strlen(nn_ops[op]->name) == n && memcmp(nn_ops[op]->name, operand, n) == 0)
			return (enum nn_op_id)op;
	return NN_N_OPS;
}

struct reader {
	const char *at;
	bool wrong;
};

/* Numbers of 1 to 2^31 with x between; how many. */
static int read_sizes(struct reader *r, size_t sizes[NN_MAX_RANK])
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

static size_t read_size(struct reader *r)
{
	size_t sizes[NN_MAX_RANK];

	r->wrong |= read_sizes(r, sizes) != 1;
	return r->wrong ? 1 : sizes[0];
}

static void read_kernel(struct reader *r, size_t kernel[2])
{
	size_t sizes[NN_MAX_RANK];

	r->wrong |= read_sizes(r, sizes) != 2;
	for (int i = 0; i < 2 && !r->wrong; i++)
		kernel[i] = sizes[i];
}

/* KEY=N, pad=0 too. */
static bool read_key(struct reader *r, const char *key, size_t value[2])
{
	size_t n = strlen(key);

	if (strncmp(r->at, key, n) != 0)
		return false;
	r->at += n;
	if (strcmp(key, "pad=") == 0 && *r->at == '0' && (r->at[1] == ',' || r->at[1] == '\0')) {
		value[0] = value[1] = 0;
		r->at += 1 + (r->at[1] == ',');
	} else {
		value[0] = value[1] = read_size(r);
	}
	return true;
}

static void read_conv(struct reader *r, struct nn_conv2d *c)
{
	size_t groups[2] = { 1, 1 };

	*c = (struct nn_conv2d){
		.stride = { 1, 1 }, .dilation = { 1, 1 }, .groups = 1, .bias = true
	};
	c->out = read_size(r);
	read_kernel(r, c->kernel);
	while (*r->at && !r->wrong)
		if (!read_key(r, "stride=", c->stride) && !read_key(r, "pad=", c->pad) &&
		    !read_key(r, "groups=", groups))
			r->wrong = true;
	c->groups = groups[0];
}

static void read_window(struct reader *r, struct nn_window *w)
{
	read_kernel(r, w->kernel);
	memcpy(w->stride, w->kernel, sizeof w->stride);
	w->pad[0] = w->pad[1] = 0;
	while (*r->at && !r->wrong)
		if (!read_key(r, "stride=", w->stride) && !read_key(r, "pad=", w->pad))
			r->wrong = true;
}

static void read_activation(struct reader *r, struct nn_activation_attrs *a)
{
	for (enum nn_activation i = 1; i < NN_N_ACTIVATIONS; i++)
		if (strcmp(r->at, nn_activation_name(i)) == 0) {
			*a = (struct nn_activation_attrs){ i, nn_activation_slope(i) };
			r->at += strlen(r->at);
			return;
		}
	r->wrong = true;
}

static void read_table(struct reader *r, struct nn_embedding *e)
{
	size_t sizes[NN_MAX_RANK];

	r->wrong |= read_sizes(r, sizes) != 2;
	if (!r->wrong) {
		e->rows = sizes[0];
		e->size = sizes[1];
	}
}

static void read_rest(struct reader *r, struct nn_bench_site *s)
{
	const struct nn_shape *in = &s->in[0];

	switch (s->op) {
	case NN_OP_conv2d:
		read_conv(r, &s->attrs.conv2d);
		break;
	case NN_OP_maxpool2d:
	case NN_OP_avgpool2d:
		read_window(r, &s->attrs.pool2d.window);
		break;
	case NN_OP_embedding:
		read_table(r, &s->attrs.embedding);
		break;
	case NN_OP_activation:
		read_activation(r, &s->attrs.activation);
		break;
	case NN_OP_reshape:
		s->attrs.reshape.shape = nn_shape1(nn_shape_count(in));
		break;
	case NN_OP_permute:
		r->wrong |= in->rank != 3;
		s->attrs.permute = (struct nn_permute){ in->dim[0], in->dim[1] * in->dim[2], true };
		break;
	default:
		break;
	}
	r->wrong |= *r->at != '\0';
}

int nn_bench_site_parse(struct nn_bench_site *s, const char *operand, struct nn_error *err)
{
	enum nn_op_id op = nn_bench_op(operand);
	struct reader r = { operand + strcspn(operand, ":") + 1, false };
	size_t sizes[NN_MAX_RANK], bytes;
	char quoted[NN_QUOTED];
	struct nn_error below;
	struct nn_shape out;
	int n = read_sizes(&r, sizes), last = op == NN_OP_dense;

	for (size_t i = 0; i < nn_bench_n_sites; i++)
		if (nn_bench_sites[i].op == op) {
			*s = nn_bench_sites[i];
			break;
		}
	r.wrong |= n < 2 + last;
	if (!r.wrong) {
		s->rows = sizes[0];
		s->in[0].rank = n - 1 - last;
		memcpy(s->in[0].dim, sizes + 1, sizeof(size_t) * (size_t)s->in[0].rank);
		s->in[1] = s->in[0];
		if (op == NN_OP_dense)
			s->attrs.dense.out = sizes[n - 1];
		r.wrong |= !nn_shape_check(&s->in[0], sizeof(double), &bytes);
	}
	if (!r.wrong)
		read_rest(&r, s);
	nn_quote(quoted, operand, strlen(operand));
	if (r.wrong)
		return nn_fail(err, NN_EUSAGE, "%s: expected %s:%s", quoted, nn_ops[op]->name,
			       form_of(op));
	if (nn_ops[op]->infer(&s->attrs, s->in, s->n_in, &out, &below) < 0)
		return nn_fail(err, NN_EUSAGE, "%s: %s", quoted, below.text);
	return 0;
}

/* ---- printing ---- */

static void add_window(const size_t kernel[2], const size_t stride[2], const size_t pad[2],
		       struct nn_text *text)
{
	nn_text_addf(text, ",%zux%zu", kernel[0], kernel[1]);
	if (stride[0] != 1)
		nn_text_addf(text, ",stride=%zu", stride[0]);
	if (pad[0] != 0)
		nn_text_addf(text, ",pad=%zu", pad[0]);
}

static void add_epilogue(const struct nn_epilogue *e, struct nn_text *text)
{
	if (e->residual)
		nn_text_add(text, ",add");
	if (e->activation != NN_ACT_NONE)
		nn_text_addf(text, ",%s", nn_activation_name(e->activation));
}

static void add_conv(const struct nn_conv2d *c, struct nn_text *text)
{
	nn_text_addf(text, ",%zu", c->out);
	add_window(c->kernel, c->stride, c->pad, text);
	if (c->groups > 1)
		nn_text_addf(text, ",groups=%zu", c->groups);
	add_epilogue(&c->epilogue, text);
	if (c->pooling.on)
		nn_text_addf(text, ",maxpool%zux%zu", c->pooling.window.kernel[0],
			     c->pooling.window.kernel[1]);
}

void nn_bench_site_text(enum nn_op_id op, const void *attrs, const struct nn_shape *in, size_t rows,
			struct nn_text *text)
{
	const struct nn_window *w = op == NN_OP_maxpool2d || op == NN_OP_avgpool2d ? attrs : NULL;
	char shape[NN_SHAPE_TEXT];

	nn_text_addf(text, "%zux%s", rows, nn_shape_text(shape, in));
	if (op == NN_OP_dense) {
		nn_text_addf(text, "x%zu", ((const struct nn_dense *)attrs)->out);
		add_epilogue(&((const struct nn_dense *)attrs)->epilogue, text);
	} else if (op == NN_OP_conv2d) {
		add_conv(attrs, text);
	} else if (w) {
		nn_text_addf(text, ",%zux%zu", w->kernel[0], w->kernel[1]);
		if (w->stride[0] != w->kernel[0])
			nn_text_addf(text, ",stride=%zu", w->stride[0]);
		if (w->pad[0] != 0)
			nn_text_addf(text, ",pad=%zu", w->pad[0]);
	} else if (op == NN_OP_embedding) {
		const struct nn_embedding *e = attrs;

		nn_text_addf(text, ",%zux%zu", e->rows, e->size);
	} else if (op == NN_OP_activation) {
		nn_text_addf(text, ",%s",
			     nn_activation_name(((const struct nn_activation_attrs *)attrs)->kind));
	} else if (op == NN_OP_batchnorm) {
		add_epilogue(&((const struct nn_batchnorm *)attrs)->epilogue, text);
	}
}
