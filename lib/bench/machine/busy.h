/*
 * Is somebody else using the processors? The kernel knows how long threads that could run had to
 * wait.
 */
#ifndef NN_BENCH_MACHINE_BUSY_H
#define NN_BENCH_MACHINE_BUSY_H

struct nn_busy {
	double started_s, waited_s, stolen_s;
};

void nn_busy_start(struct nn_busy *busy);
/*
 * Seconds that threads of this process waited for a processor, and that the host took from this
 * machine, per second since; NAN: unknown.
 */
double nn_busy_share(const struct nn_busy *busy);

#endif
