/* The state of a training as one file, complete by itself: NAME.state.safetensors. */
#ifndef NN_TRAIN_STATE_STATE_H
#define NN_TRAIN_STATE_STATE_H

#include "file/safetensors.h"
#include "model/model.h"
#include "op/program.h"
#include "train/state/counters.h"
#include "train/state/facts.h"

#define NN_STATE_SETS 4 /* parameters, two slots, best parameters */

/*
 * Sets of canonical tensors, one per parameter of the program; NULL: not kept. Slots have no values
 * for buffers.
 */
struct nn_state_tensors {
	const struct nn_program *program;
	enum nn_dtype dtype;
	void **set[NN_STATE_SETS]; /* of nn_params_new */
	/* --stateful: [rows][values] that rows of the next batch go on with; NULL: they do not */
	void *carried;
	struct nn_shape carried_shape;
};
enum { NN_SET_MODEL, NN_SET_SLOT0, NN_SET_SLOT1, NN_SET_BEST };

/* Write it safely, readable by whom the model beside it is (NULL: none); *bytes: the size of the
 * file, also where it failed. */
int nn_state_write(const char *path, const char *model, const struct nn_state_tensors *tensors,
		   const struct nn_state_facts *facts, const struct nn_counters *counters,
		   uint64_t *bytes, struct nn_error *err);

/* Had the training that wrote this state come to its end? -1: it is no state, or damaged. */
int nn_state_finished(const char *path, bool *finished, struct nn_error *err);

struct nn_state;

/* Read and verify: format, marks, checksum. */
int nn_state_read(struct nn_state **state, const char *path, struct nn_error *err);
void nn_state_free(struct nn_state *state);
/*
 * Compare with the run that wants to go on, as nn_facts_compare. *other_build is set when another
 * build of this program wrote it. Then fill the sets that are not NULL and the counters.
 */
int nn_state_compare(const struct nn_state *state, const struct nn_state_facts *facts,
		     bool *other_build, struct nn_error *err);
/* The number that an option had when it was written; 0: none. Once it was compared. */
uint64_t nn_state_count(const struct nn_state *state, const char *option);
int nn_state_load(const struct nn_state *state, const struct nn_state_tensors *tensors,
		  struct nn_counters *counters, struct nn_error *err);

#endif
