/* An optimizer's step, element by element, in whatever kernel has their gradients. */
#ifndef NN_DEVICE_CUDA_STEP_H
#define NN_DEVICE_CUDA_STEP_H

#include "device/cpu/optimizer-step.h"
#include "device/cuda/phase.h"

/* In shared memory: an update whose numbers are ready. */
struct step {
	struct nn_ready_update ready;
	bool plain; /* adam, nothing clipped, no decay */
	bool hold;  /* nothing changes */
};

/* By one thread, in a phase before the first step; direction: of lamb, or NULL. */
NN_INLINE void step_ready(struct step *s, const struct nn_update *u, real *direction)
{
	nn_ready_numbers(&s->ready, u, direction);
	s->plain = u->kind == NN_OPTIMIZER_ADAM && s->ready.clip == 1 && s->ready.decay == 0;
	s->hold = u->now->hold != 0;
}

/* Element `at` of the update, by its gradient; where it is held nothing changes. */
NN_INLINE void step_at(const struct step *s, const struct nn_update *u, size_t at, const real *g)
{
	const struct nn_sink *sink = &s->ready.sink;
	if (s->hold)
		return;
	if (s->plain) {
		adam_plain(sink, at, g, 1);
		return;
	}
	switch (u->kind) {
#define lars sgd
#define NN_OPTIMIZER(ID, id, ...) \
	case NN_OPTIMIZER_##ID: \
		id(sink, at, g, 1); \
		break;
#include "device/optimizers.def"
#undef lars
	default:
		break;
	}
}

#endif
