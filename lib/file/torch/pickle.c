/*
 * A closed pickle machine: a stack, a memo, and opcodes that make plain values. Nothing is looked
 * up outside of a list of names, and nothing is called.
 */
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "file/torch/pickle-machine.h"

/* BININT, BININT1, BININT2: 4 bytes signed, 1 and 2 without a sign. */
static int read_int(struct nn_pickle_machine *m, unsigned char op)
{
	int size = op == 'J' ? 4 : op == 'K' ? 1 : 2;
	uint64_t value;

	if (nn_pickle_number(m, size, &value) < 0)
		return -1;
	return nn_pickle_push_int(m, NN_PICKLE_INT, size == 4 ? (int32_t)value : (int64_t)value);
}

/* Little endian, two's complement, of up to 8 bytes. */
static int read_long(struct nn_pickle_machine *m, unsigned char op)
{
	uint64_t size, value = 0;

	(void)op;
	if (nn_pickle_number(m, 1, &size) < 0)
		return -1;
	if (size > 8)
		return nn_pickle_fail(m, "has an integer beyond 64 bits");
	if (nn_pickle_number(m, (int)size, &value) < 0)
		return -1;
	if (size > 0 && size < 8 && value >> (8 * size - 1))
		value |= ~UINT64_C(0) << 8 * size;
	return nn_pickle_push_int(m, NN_PICKLE_INT, (int64_t)value);
}

static int read_float(struct nn_pickle_machine *m, unsigned char op)
{
	struct nn_pickle_value v = { .kind = NN_PICKLE_FLOAT };
	uint64_t bits = 0;

	(void)op;
	if (m->end - m->at < 8)
		return nn_pickle_fail(m, "ends early");
	for (int i = 0; i < 8; i++)
		bits = bits << 8 | *m->at++;
	memcpy(&v.f, &bits, sizeof v.f);
	return nn_pickle_push(m, &v);
}

static int read_string(struct nn_pickle_machine *m, unsigned char op)
{
	uint64_t n;

	(void)op;
	if (nn_pickle_number(m, 4, &n) < 0)
		return -1;
	if (n > (size_t)(m->end - m->at))
		return nn_pickle_fail(m, "ends early");
	m->at += n;
	return nn_pickle_push(m, &(struct nn_pickle_value){ .kind = NN_PICKLE_STRING,
							    .n = (uint32_t)n,
							    .text = (const char *)m->at - n });
}

/* ---- names ---- */

/* A line up to its \n, which is passed. */
static int take_line(struct nn_pickle_machine *m, const char **line, size_t *n)
{
	const unsigned char *end = memchr(m->at, '\n', (size_t)(m->end - m->at));

	if (!end)
		return nn_pickle_fail(m, "ends early");
	*line = (const char *)m->at;
	*n = (size_t)(end - m->at);
	m->at = end + 1;
	return 0;
}

static bool same(const char *word, const char *bytes, size_t n)
{
	return strlen(word) == n && memcmp(word, bytes, n) == 0;
}

static int read_name(struct nn_pickle_machine *m, unsigned char op)
{
	const char *module = NULL, *name = NULL;
	size_t n_module = 0, n_name = 0;
	char a[NN_QUOTED], b[NN_QUOTED];

	(void)op;
	if (take_line(m, &module, &n_module) < 0 || take_line(m, &name, &n_name) < 0)
		return -1;
	for (int i = 0; m->names[i].name; i++)
		if (same(m->names[i].module, module, n_module) &&
		    same(m->names[i].name, name, n_name))
			return nn_pickle_push_int(m, NN_PICKLE_NAME, i);
	return nn_fail(m->err, NN_EFORMAT,
		       "asks for %s.%s, and only tensors are read: "
		       "torch.save(net.state_dict(), 'w.pt') writes those alone",
		       nn_quote(a, module, n_module), nn_quote(b, name, n_name));
}

/* NAME and a tuple of arguments become what the name's row says; nothing is called. */
static int reduce(struct nn_pickle_machine *m, unsigned char op)
{
	struct nn_pickle_value *args, *name;
	uint32_t tuple;

	(void)op;
	if (nn_pickle_need(m, 2) < 0)
		return -1;
	tuple = m->stack[m->n_stack - 1];
	args = nn_pickle_under(m, 0);
	name = nn_pickle_under(m, 1);
	if (name->kind != NN_PICKLE_NAME || args->kind != NN_PICKLE_LIST)
		return nn_pickle_fail(m, "calls what is no name");
	m->n_stack -= 2;
	switch (m->names[name->i].what) {
	case NN_PICKLE_MAKES_DICT:
		if (args->n > 0)
			return nn_pickle_fail(m, "makes a dict of a list");
		return nn_pickle_push(m, &(struct nn_pickle_value){ .kind = NN_PICKLE_DICT });
	case NN_PICKLE_MAKES_TENSOR: {
		struct nn_pickle_value tensor = *args;

		tensor.kind = NN_PICKLE_TENSOR;
		return nn_pickle_push(m, &tensor);
	}
	case NN_PICKLE_MAKES_SAME:
		if (args->n == 0)
			return nn_pickle_fail(m, "makes a parameter of nothing");
		return nn_pickle_push_old(m, m->p->items[m->p->values[tuple].first].value);
	case NN_PICKLE_WORD:
		break;
	}
	return nn_pickle_fail(m, "calls what is no function");
}

/* The state of a dict that is more than one (state_dict's _metadata) is left out. */
static int build(struct nn_pickle_machine *m, unsigned char op)
{
	(void)op;
	if (nn_pickle_need(m, 2) < 0)
		return -1;
	if (nn_pickle_under(m, 1)->kind != NN_PICKLE_DICT)
		return nn_pickle_fail(m, "gives a state to what has none");
	m->n_stack--;
	return 0;
}

static int persistent(struct nn_pickle_machine *m, unsigned char op)
{
	struct nn_pickle_value storage;

	(void)op;
	if (nn_pickle_need(m, 1) < 0)
		return -1;
	storage = *nn_pickle_under(m, 0);
	if (storage.kind != NN_PICKLE_LIST)
		return nn_pickle_fail(m, "has a persistent id that is no tuple");
	storage.kind = NN_PICKLE_STORAGE;
	m->n_stack--;
	return nn_pickle_push(m, &storage);
}

/* ---- marks and memo ---- */

static int set_mark(struct nn_pickle_machine *m, unsigned char op)
{
	(void)op;
	if (nn_pickle_grow(m, &m->marks, m->n_marks, &m->marks_room, sizeof *m->marks) < 0)
		return -1;
	m->marks[m->n_marks++] = m->n_stack;
	return 0;
}

/* Pickle numbers memos one after the other. */
static int put_memo(struct nn_pickle_machine *m, unsigned char op)
{
	uint64_t i;

	if (nn_pickle_number(m, op == 'q' ? 1 : 4, &i) < 0 || nn_pickle_need(m, 1) < 0)
		return -1;
	if (i > m->n_memo)
		return nn_pickle_fail(m, "leaves out a memo");
	if (nn_pickle_grow(m, &m->memo, m->n_memo, &m->memo_room, sizeof *m->memo) < 0)
		return -1;
	m->memo[i] = m->stack[m->n_stack - 1];
	m->n_memo += i == m->n_memo;
	return 0;
}

static int get_memo(struct nn_pickle_machine *m, unsigned char op)
{
	uint64_t i;

	if (nn_pickle_number(m, op == 'h' ? 1 : 4, &i) < 0)
		return -1;
	return i < m->n_memo ? nn_pickle_push_old(m, m->memo[i])
			     : nn_pickle_fail(m, "asks for a memo that is not there");
}

/* ---- opcodes ---- */

static int push_word(struct nn_pickle_machine *m, unsigned char op)
{
	return op == 'N' ? nn_pickle_push_int(m, NN_PICKLE_NONE, 0)
			 : nn_pickle_push_int(m, NN_PICKLE_BOOL, op == 0x88);
}

static int push_empty(struct nn_pickle_machine *m, unsigned char op)
{
	return nn_pickle_push(m, &(struct nn_pickle_value){ .kind = op == '}' ? NN_PICKLE_DICT
									      : NN_PICKLE_LIST });
}

static int skip_version(struct nn_pickle_machine *m, unsigned char op)
{
	uint64_t ignored;

	(void)op;
	return nn_pickle_number(m, 1, &ignored);
}

/* TUPLE, APPENDS, SETITEMS: of what stands above the mark. */
static int take_marked(struct nn_pickle_machine *m, unsigned char op)
{
	uint32_t n;

	if (m->n_marks == 0)
		return nn_pickle_fail(m, "has no mark");
	n = nn_pickle_above(m);
	m->n_marks--;
	return op == 't'   ? nn_pickle_tuple(m, n)
	       : op == 'e' ? nn_pickle_put(m, n, NN_PICKLE_LIST)
			   : nn_pickle_put(m, n, NN_PICKLE_DICT);
}

static int tuple_of_some(struct nn_pickle_machine *m, unsigned char op)
{
	uint32_t n = (uint32_t)(op - 0x85 + 1);

	return nn_pickle_need(m, n) < 0 ? -1 : nn_pickle_tuple(m, n);
}

/* APPEND, SETITEM. */
static int put_one(struct nn_pickle_machine *m, unsigned char op)
{
	if (nn_pickle_need(m, op == 'a' ? 2 : 3) < 0)
		return -1;
	return op == 'a' ? nn_pickle_put(m, 1, NN_PICKLE_LIST)
			 : nn_pickle_put(m, 2, NN_PICKLE_DICT);
}

/* As Python's pickletools names them; those without a function are refused by name. */
static const struct opcode {
	unsigned char op;
	const char *name;
	int (*run)(struct nn_pickle_machine *m, unsigned char op);
} opcodes[] = {
	{ 0x80, "PROTO", skip_version },
	{ 'q', "BINPUT", put_memo },
	{ 'r', "LONG_BINPUT", put_memo },
	{ 'h', "BINGET", get_memo },
	{ 'j', "LONG_BINGET", get_memo },
	{ '(', "MARK", set_mark },
	{ 'X', "BINUNICODE", read_string },
	{ 'K', "BININT1", read_int },
	{ 'M', "BININT2", read_int },
	{ 'J', "BININT", read_int },
	{ 0x8a, "LONG1", read_long },
	{ 'G', "BINFLOAT", read_float },
	{ 'N', "NONE", push_word },
	{ 0x88, "NEWTRUE", push_word },
	{ 0x89, "NEWFALSE", push_word },
	{ ')', "EMPTY_TUPLE", push_empty },
	{ ']', "EMPTY_LIST", push_empty },
	{ '}', "EMPTY_DICT", push_empty },
	{ 't', "TUPLE", take_marked },
	{ 0x85, "TUPLE1", tuple_of_some },
	{ 0x86, "TUPLE2", tuple_of_some },
	{ 0x87, "TUPLE3", tuple_of_some },
	{ 'a', "APPEND", put_one },
	{ 'e', "APPENDS", take_marked },
	{ 's', "SETITEM", put_one },
	{ 'u', "SETITEMS", take_marked },
	{ 'c', "GLOBAL", read_name },
	{ 'R', "REDUCE", reduce },
	{ 'b', "BUILD", build },
	{ 'Q', "BINPERSID", persistent },
	{ 'i', "INST", NULL },
	{ 'o', "OBJ", NULL },
	{ 0x81, "NEWOBJ", NULL },
	{ 0x92, "NEWOBJ_EX", NULL },
	{ 0x93, "STACK_GLOBAL", NULL },
	{ 0x82, "EXT1", NULL },
	{ 0x95, "FRAME", NULL },
	{ 'P', "PERSID", NULL },
	{ 'C', "SHORT_BINBYTES", NULL },
	{ 'U', "SHORT_BINSTRING", NULL },
	{ '0', "POP", NULL },
	{ '2', "DUP", NULL },
};

static int refuse(const struct nn_pickle_machine *m, unsigned char op, const char *name)
{
	return nn_fail(m->err, NN_EFORMAT,
		       "the pickle's opcode 0x%02x (%s) at byte %zu is not one of a state_dict", op,
		       name, (size_t)(m->at - 1 - m->bytes));
}

/* One opcode. 1: more follow, 0: the end, -1. */
static int step(struct nn_pickle_machine *m)
{
	unsigned char op;

	if (m->at == m->end)
		return nn_pickle_fail(m, "ends early");
	op = *m->at++;
	if (op == '.')
		return nn_pickle_need(m, 1);
	for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++)
		if (opcodes[i].op == op)
			return !opcodes[i].run             ? refuse(m, op, opcodes[i].name)
			       : opcodes[i].run(m, op) < 0 ? -1
							   : 1;
	return refuse(m, op, "unknown");
}

int nn_pickle_read(struct nn_pickle *pickle, const void *bytes, size_t n,
		   const struct nn_pickle_name *names, struct nn_error *err)
{
	struct nn_pickle_machine m = { .p = pickle,
				       .names = names,
				       .bytes = bytes,
				       .at = bytes,
				       .end = (const unsigned char *)bytes + n,
				       .err = err };
	int status;

	*pickle = (struct nn_pickle){ 0 };
	do
		status = step(&m);
	while (status > 0);
	if (status == 0 && m.at != m.end)
		status = nn_pickle_fail(&m, "is followed by other bytes");
	if (status == 0)
		pickle->top = m.stack[m.n_stack - 1];
	nn_free(m.stack);
	nn_free(m.marks);
	nn_free(m.memo);
	if (status < 0)
		nn_pickle_free(pickle);
	return status;
}

void nn_pickle_free(struct nn_pickle *pickle)
{
	nn_free(pickle->values);
	nn_free(pickle->items);
	*pickle = (struct nn_pickle){ 0 };
}

const struct nn_pickle_value *nn_pickle_at(const struct nn_pickle *pickle,
					   const struct nn_pickle_value *list, uint32_t i)
{
	uint32_t at = i < list->n ? list->first : 0;

	while (at && i-- > 0)
		at = pickle->items[at].next;
	return at ? &pickle->values[pickle->items[at].value] : NULL;
}
