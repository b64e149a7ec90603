/* Seconds, monotonic, and as text. */
#ifndef NN_BASE_CLOCK_H
#define NN_BASE_CLOCK_H

double nn_now_s(void);

#define NN_DURATION 32
/* "1.24 ms", "3.33 h"; returns the text. */
const char *nn_duration(char text[NN_DURATION], double seconds);

/* Between two looks of a thread that spins. */
static inline void nn_pause(void)
{
#if defined __x86_64__ || defined __i386__
	__builtin_ia32_pause();
#elif defined __aarch64__
	__asm__ volatile("isb"); /* yield is no pause on most cores */
#endif
}

#endif
