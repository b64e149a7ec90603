/* Seconds, monotonic. */
#ifndef NN_BASE_CLOCK_H
#define NN_BASE_CLOCK_H

double nn_now_s(void);

#endif
