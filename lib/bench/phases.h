/* The phases of a prediction, from the start of a process to its last byte. */
#ifndef NN_BENCH_PHASES_H
#define NN_BENCH_PHASES_H

#include "bench/bench.h"
#include "bench/model.h"

enum nn_phase {
	NN_PHASE_EXEC,
	NN_PHASE_LIBRARIES,
	NN_PHASE_DEVICE,
	NN_PHASE_LOAD,
	NN_PHASE_INPUT,
	NN_PHASE_COPY_IN,
	NN_PHASE_FIRST,
	NN_PHASE_COMPUTE,
	NN_PHASE_COPY_OUT,
	NN_PHASE_OUTPUT,
	NN_N_PHASES
};

struct nn_phases {
	size_t rows;             /* given: of the one batch that is predicted */
	const char *device_name; /* given */
	/* seconds; NAN: the device has no such phase, or it could not be measured */
	double s[NN_N_PHASES];
	bool copies; /* the device has memory of its own */
	bool absent; /* the device is not here: its phases are NAN; why */
	char why_absent[512];
	double there_s;   /* of compute, by the device's own clock; NAN: it has none */
	double instead_s; /* a call on the CPU where the device is not here */
	/* of nn-predict as a process; NAN: there is none beside us, or it cannot read such rows */
	double whole_s;
};

/*
 * exec and libraries are those of nn-predict, started `runs` times; the rest is done in this
 * process in nn-predict's order, the model read from its file and the rows from a .npy, each time
 * anew. first is what the first call takes more than a later one.
 */
int nn_phases_measure(struct nn_bench *bench, const struct nn_bench_model *subject, int runs,
		      struct nn_phases *phases, struct nn_error *err);

#endif
