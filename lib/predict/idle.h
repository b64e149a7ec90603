/* Sessions of a model that wait for the next caller of nn_model_predict. */
#ifndef NN_PREDICT_IDLE_H
#define NN_PREDICT_IDLE_H

#include "nn.h"

struct nn_idle;

struct nn_idle *nn_idle_new(struct nn_error *err);
void nn_idle_free(struct nn_idle *idle); /* and the sessions in it */

/* A session that waits, or NULL. */
struct nn_session *nn_idle_take(struct nn_idle *idle);
/*
 * Keep a session, or close it: no more wait than the machine has processors. They are kept for
 * callers at the same time, and more of these make nothing faster.
 */
void nn_idle_give(struct nn_idle *idle, struct nn_session *session);

#endif
