/* How much there is of a dataset: rows in all, bytes in memory. */
#include <math.h>

#include "data/ahead/ahead.h"
#include "data/dataset.h"
#include "data/ring.h"

void nn_dataset_set_share(struct nn_dataset *ds, double rows, uint64_t total)
{
	if (ds->files.n == 1)
		ds->files.share = (struct nn_data_share){ rows, total };
}

double nn_dataset_total(const struct nn_dataset *ds, bool *about)
{
	*about = ds->files.sample && ds->files.share.rows != 1 && !ds->files.share.total;
	if (!ds->files.sample || ds->files.share.rows == 1)
		return (double)ds->rows;
	return ds->files.share.total ? (double)ds->files.share.total
				     : floor((double)ds->files.read_rows * ds->files.share.rows);
}

size_t nn_dataset_memory(const struct nn_dataset *ds)
{
	return ds->files.memory;
}

/* Windows of a text: its bytes are inputs and targets. */
static bool is_text(const struct nn_dataset *ds)
{
	return ds->source.ops && !nn_dataset_streams(ds) && !ds->sequences;
}

/* Inputs that are columns of one table lie in it once. */
static size_t input_bytes(const struct nn_dataset *ds, enum nn_dtype real)
{
	size_t bytes = ds->files.first ? ds->rows * nn_ring_row_bytes(ds) : 0;

	if (ds->sequences)
		return nn_sequences_bytes(ds);
	for (size_t i = 0; i < ds->schema->n_inputs; i++) {
		const struct nn_row_block *source = &ds->inputs[i].source;

		if (nn_dataset_input_streams(ds, i))
			continue; /* they stay in their files */
		if (i == 0 || source->data != ds->inputs[0].source.data)
			bytes += ds->rows * source->stride *
				 nn_dtype_size(source->dtype == ds->dtype ? real : source->dtype);
	}
	return bytes;
}

static size_t target_bytes(const struct nn_dataset *ds, enum nn_dtype real)
{
	size_t bytes = 0;

	for (size_t i = 0; i < ds->schema->n_targets && !is_text(ds); i++) {
		const struct nn_data_target *t = &ds->targets[i];

		if (t->file)
			continue;
		bytes += nn_dataset_target_values(ds, t) *
			 (t->classes ? sizeof(int32_t) : nn_dtype_size(real));
	}
	return bytes;
}

size_t nn_dataset_bytes(const struct nn_dataset *ds, size_t rows, size_t batch, enum nn_dtype real)
{
	double share = ds->rows ? (double)rows / (double)ds->rows : 0,
	       inputs = share * (double)input_bytes(ds, real),
	       targets = share * (double)target_bytes(ds, real);
	size_t memory = ds->files.memory;

	if (ds->rows == 0)
		return 0;
	if (nn_dataset_streams(ds))
		inputs += (double)nn_ahead_bytes(&ds->source, batch, memory);
	else if (memory && inputs > (double)memory)
		/* pictures are decoded into memory until they turn out to take more */
		inputs = ds->files.decoded
				 ? (double)memory
				 : (double)nn_ahead_row_bytes((size_t)(inputs / (double)rows), batch,
							      memory);
	/* of a sample the array of targets would take: it stays, too */
	if (memory && ds->files.sample && !ds->files.decoded && !ds->targets[0].from_table &&
	    targets > (double)memory)
		targets = 0;
	return (size_t)(inputs + targets);
}
