/* Seconds, monotonic. */
#ifndef NN_BASE_CLOCK_H
#define NN_BASE_CLOCK_H

double nn_now_s(void);

/* Between two looks of a thread that spins. */
static inline void nn_pause(void)
{
#if defined __x86_64__ || defined __i386__
	__builtin_ia32_pause();
#endif
}

#endif
