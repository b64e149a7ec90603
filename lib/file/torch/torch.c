/*
 * PyTorch's files (torch.save since 1.6): PREFIX/data.pkl describes tensors as views of storages,
 * which are the members PREFIX/data/KEY, stored as they are.
 */
#include <stdlib.h>
#include <string.h>

#include "base/crc32.h"
#include "base/limit.h"
#include "base/memory.h"
#include "base/text.h"
#include "file/convert.h"
#include "file/torch/pickle.h"
#include "file/torch/torch-view.h"
#include "file/torch/torch.h"

/* Storages say the type of their tensors; NN_PICKLE_WORD rows of others stand for themselves. */
static const struct nn_pickle_name names[] = {
	{ "collections", "OrderedDict", NN_PICKLE_MAKES_DICT },
	{ "torch._utils", "_rebuild_tensor_v2", NN_PICKLE_MAKES_TENSOR },
	{ "torch._utils", "_rebuild_tensor_v3", NN_PICKLE_MAKES_TENSOR },
	{ "torch._utils", "_rebuild_parameter", NN_PICKLE_MAKES_SAME },
	{ "torch.storage", "UntypedStorage", NN_PICKLE_WORD },
	{ "torch", "FloatStorage", NN_PICKLE_WORD },
	{ "torch", "DoubleStorage", NN_PICKLE_WORD },
	{ "torch", "HalfStorage", NN_PICKLE_WORD },
	{ "torch", "BFloat16Storage", NN_PICKLE_WORD },
	{ "torch", "LongStorage", NN_PICKLE_WORD },
	{ "torch", "IntStorage", NN_PICKLE_WORD },
	{ "torch", "ShortStorage", NN_PICKLE_WORD },
	{ "torch", "CharStorage", NN_PICKLE_WORD },
	{ "torch", "ByteStorage", NN_PICKLE_WORD },
	{ "torch", "BoolStorage", NN_PICKLE_WORD },
	{ "torch", "uint16", NN_PICKLE_WORD },
	{ "torch", "uint32", NN_PICKLE_WORD },
	{ "torch", "uint64", NN_PICKLE_WORD },
	{ NULL, NULL, NN_PICKLE_WORD },
};
static const struct {
	const char *name;
	enum nn_dtype dtype;
} types[] = {
	{ "FloatStorage", NN_F32 },     { "DoubleStorage", NN_F64 }, { "HalfStorage", NN_F16 },
	{ "BFloat16Storage", NN_BF16 }, { "LongStorage", NN_I64 },   { "IntStorage", NN_I32 },
	{ "ShortStorage", NN_I16 },     { "CharStorage", NN_I8 },    { "ByteStorage", NN_U8 },
	{ "BoolStorage", NN_BOOL },     { "uint16", NN_U16 },        { "uint32", NN_U32 },
	{ "uint64", NN_U64 },
};

struct reader {
	const char *file;
	struct nn_zip_member *members; /* by name */
	bool *checked;                 /* [n_members] their checksums are right */
	size_t n_members;
	const char *prefix; /* of all members, "archive/" */
	size_t n_prefix;
	struct nn_pickle pickle;
	bool swap; /* the other order of bytes */
	size_t copied, most;
	const char *name; /* of the tensor that is read, quoted */
	struct nn_error *err;
};

static int fail(const struct reader *r, const char *what)
{
	return nn_fail(r->err, NN_EFORMAT, "%s: tensor '%s': %s", r->file, r->name, what);
}

/* ---- members ---- */

static int compare_names(const char *a, size_t n, const char *b, size_t m)
{
	int order = memcmp(a, b, n < m ? n : m);

	return order ? order : n < m ? -1 : n > m;
}

static int by_name(const void *pa, const void *pb)
{
	const struct nn_zip_member *a = pa, *b = pb;

	return compare_names(a->name, a->name_length, b->name, b->name_length);
}

static bool ends_with(const struct nn_zip_member *m, const char *suffix)
{
	size_t n = strlen(suffix);

	return m->name_length >= n && memcmp(m->name + m->name_length - n, suffix, n) == 0 &&
	       (m->name_length == n || m->name[m->name_length - n - 1] == '/');
}

size_t nn_torch_find(const struct nn_zip_member *members, size_t n)
{
	size_t i = 0;

	while (i < n && !ends_with(&members[i], "data.pkl"))
		i++;
	return i;
}

/* PREFIX/folder/key. */
static struct nn_zip_member *find(const struct reader *r, const char *folder, const char *key,
				  size_t n_key)
{
	struct nn_text name = { 0 };
	struct nn_zip_member *found = NULL;

	nn_text_add_bytes(&name, r->prefix, r->n_prefix);
	nn_text_add(&name, folder);
	nn_text_add_bytes(&name, key, n_key);
	if (!name.failed && name.data)
		found = bsearch(
			&(struct nn_zip_member){ .name = name.data, .name_length = name.length },
			r->members, r->n_members, sizeof *r->members, by_name);
	nn_text_free(&name);
	return found;
}

static int check_member(const struct reader *r, const struct nn_zip_member *m)
{
	char quoted[NN_QUOTED];

	nn_quote(quoted, m->name, m->name_length);
	if (m->method != 0)
		return nn_fail(r->err, NN_EFORMAT,
			       "%s: member '%s' is compressed, expected it stored as torch.save "
			       "does",
			       r->file, quoted);
	if (r->checked[m - r->members])
		return 0;
	if (nn_crc32(0, m->data, m->size) != m->crc)
		return nn_fail(r->err, NN_EFORMAT,
			       "%s: member '%s' is damaged: its checksum is wrong", r->file,
			       quoted);
	r->checked[m - r->members] = true;
	return 0;
}

/* ---- what a tensor's arguments say ---- */

static const char *word_of(const struct nn_pickle_value *v)
{
	return v && v->kind == NN_PICKLE_NAME ? names[v->i].name : "";
}

static int take_type(const struct reader *r, const struct nn_pickle_value *args,
		     struct nn_torch_view *view)
{
	const struct nn_pickle_value *storage = nn_pickle_at(&r->pickle, args, 0);
	const char *word = word_of(nn_pickle_at(&r->pickle, storage, 1));

	if (strcmp(word, "UntypedStorage") == 0)
		word = word_of(nn_pickle_at(&r->pickle, args, 6));
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strcmp(types[i].name, word) == 0) {
			view->dtype = types[i].dtype;
			return 0;
		}
	return fail(r, "does not say its type");
}

static bool take_size(const struct nn_pickle_value *v, size_t *size)
{
	if (!v || v->kind != NN_PICKLE_INT || v->i < 0)
		return false;
	*size = (size_t)v->i;
	return true;
}

static int take_view(const struct reader *r, const struct nn_pickle_value *args,
		     struct nn_torch_view *view)
{
	const struct nn_pickle_value *sizes = nn_pickle_at(&r->pickle, args, 2);
	const struct nn_pickle_value *strides = nn_pickle_at(&r->pickle, args, 3);

	if (!take_size(nn_pickle_at(&r->pickle, args, 1), &view->offset) || !sizes || !strides ||
	    sizes->kind != NN_PICKLE_LIST || strides->kind != NN_PICKLE_LIST ||
	    sizes->n != strides->n)
		return fail(r, "its place in the storage is not three lists of numbers");
	if (sizes->n > NN_MAX_RANK)
		return fail(r, "has more than 8 dimensions (a fixed limit)");
	view->shape.rank = (int)sizes->n;
	for (uint32_t d = 0; d < sizes->n; d++)
		if (!take_size(nn_pickle_at(&r->pickle, sizes, d), &view->shape.dim[d]) ||
		    !take_size(nn_pickle_at(&r->pickle, strides, d), &view->stride[d]))
			return fail(r, "a size or stride is no whole number");
	return 0;
}

/* The member that holds its storage; the pickle's own count of elements must fit, too. */
static int take_storage(const struct reader *r, const struct nn_pickle_value *args,
			const struct nn_torch_view *view, const struct nn_zip_member **member)
{
	const struct nn_pickle_value *storage = nn_pickle_at(&r->pickle, args, 0);
	const struct nn_pickle_value *kind = nn_pickle_at(&r->pickle, storage, 0);
	const struct nn_pickle_value *key = nn_pickle_at(&r->pickle, storage, 2);
	size_t count, size = nn_dtype_size(view->dtype);
	char quoted[NN_QUOTED];

	if (!kind || kind->kind != NN_PICKLE_STRING || kind->n != 7 ||
	    memcmp(kind->text, "storage", 7) != 0 || !key || key->kind != NN_PICKLE_STRING ||
	    !take_size(nn_pickle_at(&r->pickle, storage, 4), &count))
		return fail(r, "its storage is not described as torch.save does");
	*member = find(r, "data/", key->text, key->n);
	if (!*member)
		return nn_fail(r->err, NN_EFORMAT,
			       "%s: tensor '%s': its storage data/%s is missing", r->file, r->name,
			       nn_quote(quoted, key->text, key->n));
	if (strcmp(word_of(nn_pickle_at(&r->pickle, storage, 1)), "UntypedStorage") == 0)
		size = 1; /* counts bytes */
	if (count > (*member)->size / size)
		return nn_fail(r->err, NN_EFORMAT,
			       "%s: tensor '%s': its storage promises %zu value%s, found %zu",
			       r->file, r->name, count, nn_s(count), (*member)->size / size);
	return 0;
}

/* ---- values ---- */

static int take_values(struct reader *r, const struct nn_torch_view *view,
		       const struct nn_zip_member *m, struct nn_st_tensor *tensor,
		       struct nn_block *block)
{
	size_t size = nn_dtype_size(view->dtype), bytes, room = m->size / size;
	char said[NN_LIMIT_TEXT];
	const unsigned char *at;

	if (!nn_shape_check(&view->shape, size, &bytes) || !nn_torch_inside(view, room))
		return fail(r, "lies outside its storage");
	at = m->data + view->offset * size;
	tensor->dtype = view->dtype;
	tensor->shape = view->shape;
	tensor->data = at;
	if (bytes == 0 || (nn_torch_contiguous(view) && (uintptr_t)at % size == 0 && !r->swap))
		return 0;
	if (bytes > r->most - r->copied)
		return nn_fail(r->err, NN_EFORMAT,
			       "%s: tensor '%s': the views of the file hold more than %s", r->file,
			       r->name, nn_limit_said(NN_LIMIT_VIEWS, 0, said));
	r->copied += bytes;
	if (nn_block_reserve(block, bytes, r->err) < 0)
		return nn_fail_at(r->err, "%s", r->file);
	nn_torch_copy(block->data, m->data, view, size);
	if (r->swap)
		nn_swap_bytes(block->data, nn_shape_count(&view->shape), size);
	tensor->data = block->data;
	return 0;
}

/* ---- the dict ---- */

static int take_name(const struct reader *r, const struct nn_pickle_value *key, char **name)
{
	if (key->kind != NN_PICKLE_STRING || memchr(key->text, 0, key->n) ||
	    nn_utf8_prefix(key->text, key->n) < key->n)
		return nn_fail(r->err, NN_EFORMAT, "%s: a name in its dict is no text", r->file);
	*name = nn_strndup(key->text, key->n, r->err);
	return *name ? 0 : -1;
}

static int read_tensor(struct reader *r, const struct nn_pickle_value *args,
		       struct nn_st_tensor *tensor, struct nn_block *block)
{
	const struct nn_pickle_value *storage = nn_pickle_at(&r->pickle, args, 0);
	const struct nn_zip_member *member = NULL;
	struct nn_torch_view view = { 0 };

	if (!storage || storage->kind != NN_PICKLE_STORAGE)
		return fail(r, "has no storage");
	if (take_type(r, args, &view) < 0 || take_view(r, args, &view) < 0 ||
	    take_storage(r, args, &view, &member) < 0 || check_member(r, member) < 0)
		return -1;
	return take_values(r, &view, member, tensor, block);
}

/* A dict in the dict: a checkpoint, with the state_dict as one of its members. */
static int fail_nested(const struct reader *r, const struct nn_pickle_item *item)
{
	const struct nn_pickle_value *key = &r->pickle.values[item->key];
	char quoted[NN_QUOTED];

	if (key->kind != NN_PICKLE_STRING)
		return nn_fail(r->err, NN_EFORMAT, "%s: a name in its dict is no text", r->file);
	nn_quote(quoted, key->text, key->n);
	return nn_fail(r->err, NN_EFORMAT,
		       "%s: is a checkpoint, with a dict '%s' in it, not a state_dict; save the "
		       "weights alone: torch.save(torch.load('%s')['%s'], 'w.pt')",
		       r->file, quoted, r->file, quoted);
}

/* The dict whose tensors are most likely the weights, 0: none is nested. */
static uint32_t find_nested(const struct nn_pickle *p, const struct nn_pickle_value *top)
{
	uint32_t found = 0;

	for (uint32_t i = top->first; i; i = p->items[i].next) {
		const struct nn_pickle_value *value = &p->values[p->items[i].value];
		bool tensors = value->kind == NN_PICKLE_DICT && value->n > 0 &&
			       p->values[p->items[value->first].value].kind == NN_PICKLE_TENSOR;

		if (tensors || (value->kind == NN_PICKLE_DICT && !found))
			found = i;
		if (tensors)
			break;
	}
	return found;
}

static int read_dict(struct reader *r, struct nn_st *st)
{
	const struct nn_pickle *p = &r->pickle;
	const struct nn_pickle_value *top = &p->values[p->top];
	char quoted[NN_QUOTED];
	uint32_t nested;
	const char *twice;

	if (top->kind != NN_PICKLE_DICT)
		return nn_fail(r->err, NN_EFORMAT,
			       "%s: holds no state_dict; torch.save(net.state_dict(), 'w.pt') "
			       "writes one",
			       r->file);
	if ((nested = find_nested(p, top)) != 0)
		return fail_nested(r, &p->items[nested]);
	if (nn_st_reserve(st, top->n, r->err) < 0)
		return -1;
	for (uint32_t i = top->first; i && st->n_tensors < top->n; i = p->items[i].next) {
		const struct nn_pickle_value *value = &p->values[p->items[i].value];
		size_t k = st->n_tensors++;

		if (take_name(r, &p->values[p->items[i].key], &st->names[k]) < 0)
			return -1;
		st->tensors[k].name = st->names[k];
		r->name = nn_quote(quoted, st->names[k], strlen(st->names[k]));
		if (value->kind != NN_PICKLE_TENSOR)
			return fail(r, "is no tensor; a state_dict has nothing else");
		if (read_tensor(r, value, &st->tensors[k], &st->arrays[k]) < 0)
			return -1;
	}
	twice = nn_st_sort(st->tensors, st->n_tensors);
	return twice ? nn_fail(r->err, NN_EFORMAT, "%s: tensor '%s' is there twice", r->file,
			       nn_quote(quoted, twice, strlen(twice)))
		     : 0;
}

static int take_order(struct reader *r)
{
	const struct nn_zip_member *m = find(r, "byteorder", "", 0);
	bool big = m && m->size == 3 && memcmp(m->data, "big", 3) == 0;

	if (!m || (m->size == 6 && memcmp(m->data, "little", 6) == 0) || big) {
		r->swap = big;
		return 0;
	}
	return nn_fail(r->err, NN_EFORMAT, "%s: its byteorder is neither little nor big", r->file);
}

int nn_torch_read(struct nn_st *st, const struct nn_zip_member *members, size_t n, const char *file,
		  struct nn_error *err)
{
	const struct nn_zip_member *data = &members[nn_torch_find(members, n)];
	struct reader r = { .file = file,
			    .n_members = n,
			    .prefix = data->name,
			    .n_prefix = data->name_length - strlen("data.pkl"),
			    .members = nn_alloc(n, sizeof *r.members, err),
			    .checked = nn_alloc(n, sizeof *r.checked, err),
			    .err = err };
	char said[NN_LIMIT_TEXT];
	int status = -1;

	if (!r.members || !r.checked)
		goto out;
	for (size_t i = 0; i < n; i++)
		r.most += members[i].size;
	if (!nn_mul(r.most, nn_limit(NN_LIMIT_VIEWS), &r.most))
		r.most = SIZE_MAX;
	memcpy(r.members, members, n * sizeof *members);
	qsort(r.members, n, sizeof *r.members, by_name);
	data = find(&r, "data.pkl", "", 0);
	if (data->size > nn_limit(NN_LIMIT_PICKLE))
		nn_fail(err, NN_EFORMAT, "%s: its data.pkl has %zu bytes, expected at most %s",
			file, data->size, nn_limit_said(NN_LIMIT_PICKLE, data->size, said));
	else if (check_member(&r, data) == 0 && take_order(&r) == 0) {
		if (nn_pickle_read(&r.pickle, data->data, data->size, names, err) < 0)
			nn_fail_at(err, "%s", file);
		else
			status = read_dict(&r, st);
	}
	nn_pickle_free(&r.pickle);
out:
	nn_free(r.members);
	nn_free(r.checked);
	return status;
}
