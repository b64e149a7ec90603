/*
 * How kernels are written: functions of (arguments, place, shared memory, registers), between two
 * of which all threads of a block wait. A CUDA compiler makes of a kernel a __global__ function,
 * another one a loop over blocks in which each phase is a loop over threads: the host form, which
 * tests run in place of a device.
 *
 * The host form fills shared memory and registers with NaN before each block, and lets the threads
 * of a phase run forwards and backwards in turn: a barrier left out shows.
 */
#ifndef NN_DEVICE_CUDA_PHASE_H
#define NN_DEVICE_CUDA_PHASE_H

#include <stdlib.h>
#include <string.h>

#include "device/cuda/kernels.h"

#define NN_MAP_THREADS 256
#define NN_WIDE (16 / sizeof(real))

struct nn_spot {
	size_t block;
	unsigned thread;
};

/*
 * NN_MAP(name, args) { ... a->...[i] ... }: a thread for each i < args.n.
 * NN_SCRIPT(name, args, shared, registers, threads) { NN_PHASE(f); ... }: what lives longer than a
 * phase is in *s or *r; loops around phases are the same for all threads of a block.
 */
#ifdef __CUDACC__

#define NN_AHEAD _Pragma("unroll 8") /* of a loop whose loads may run ahead */
#define NN_ROLLED _Pragma("unroll 1") /* instructions that are not there yet are slow to come */

/*
 * The first thing that kernels say: this one's threads go on when the kernels before it are done,
 * and where it leaves room the next one may get its threads ready (NN_CUDA_FEW_BLOCKS, cuda.h).
 */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 900
#define NN_TAKE_TURN() \
	do { \
		if (gridDim.x <= NN_CUDA_FEW_BLOCKS) \
			asm volatile("griddepcontrol.launch_dependents;"); \
		asm volatile("griddepcontrol.wait;" : : : "memory"); \
	} while (0)
#else
#define NN_TAKE_TURN() (void)0
#endif

#define NN_RUN(name) NN_CAT(nn_run_##name, NN_SUFFIX_T)

#define NN_MAP(name, args_t) \
	NN_INLINE void name##_at(const args_t *a, size_t i); \
	extern "C" __global__ void __launch_bounds__(NN_MAP_THREADS) \
		NN_RUN(name)(const __grid_constant__ args_t args) \
	{ \
		size_t i = (size_t)blockIdx.x * NN_MAP_THREADS + threadIdx.x; \
		NN_TAKE_TURN(); \
		if (i < args.n) \
			name##_at(&args, i); \
	} \
	extern "C" const struct nn_cuda_kernel NN_SIMT( \
		name) = { #name, (void (*)(void))NN_RUN(name), NN_MAP_THREADS, sizeof(args_t) }; \
	NN_INLINE void name##_at(const args_t *a, size_t i)

#define NN_SCRIPT(name, args_t, shared_t, reg_t, n_threads) \
	NN_INLINE void name##_script(const args_t *a, struct nn_spot p, shared_t *s, reg_t *r); \
	extern "C" __global__ void __launch_bounds__(n_threads) \
		NN_RUN(name)(const __grid_constant__ args_t args) \
	{ \
		__shared__ __align__(16) shared_t shared; \
		reg_t reg; \
		struct nn_spot p = { blockIdx.x, threadIdx.x }; \
		NN_TAKE_TURN(); \
		name##_script(&args, p, &shared, &reg); \
	} \
	extern "C" const struct nn_cuda_kernel NN_SIMT( \
		name) = { #name, (void (*)(void))NN_RUN(name), n_threads, sizeof(args_t) }; \
	NN_INLINE void name##_script(const args_t *a, struct nn_spot p, shared_t *s, reg_t *r)

#define NN_PHASE(f, ...) \
	do { \
		f(a, p, s, r, ##__VA_ARGS__); \
		__syncthreads(); \
	} while (0)

/*
 * NN_COPY(to, from): a number into shared memory; the thread does other things meanwhile, where the
 * device can. NN_COPY_WIDE: NN_WIDE numbers, 16 bytes, aligned to as many; NN_COPY_WIDE_IF: if
 * `there`, without a branch. NN_ASKED() ends a group of them; after the phase in which NN_COPIED(n)
 * was said all are there but those of the n groups that were ended last, and after NN_COPIED(0)
 * all.
 */
#if defined __CUDA_ARCH__ && __CUDA_ARCH__ >= 800
#define NN_COPY(to, from) \
	asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" \
		     : \
		     : "r"((unsigned)__cvta_generic_to_shared(to)), \
		       "l"(__cvta_generic_to_global(from)), "n"(sizeof(real)))
#define NN_COPY_WIDE(to, from) \
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" \
		     : \
		     : "r"((unsigned)__cvta_generic_to_shared(to)), \
		       "l"(__cvta_generic_to_global(from)))
#define NN_COPY_WIDE_IF(there, to, from) \
	asm volatile("{ .reg .pred p; setp.ne.b32 p, %2, 0;" \
		     " @p cp.async.cg.shared.global [%0], [%1], 16; }" \
		     : \
		     : "r"((unsigned)__cvta_generic_to_shared(to)), \
		       "l"(__cvta_generic_to_global(from)), "r"((unsigned)(there)))
#define NN_ASKED() asm volatile("cp.async.commit_group;" : : : "memory")
#define NN_COPIED(n) \
	do { \
		if ((n) == 0) \
			asm volatile("cp.async.wait_all;" : : : "memory"); \
		else \
			asm volatile("cp.async.wait_group %0;" : : "n"(n) : "memory"); \
	} while (0)
#else
#define NN_COPY(to, from) (*(to) = *(from))
#define NN_COPY_WIDE(to, from) (*(float4 *)(to) = *(const float4 *)(from))
#define NN_COPY_WIDE_IF(there, to, from) \
	do { \
		if (there) \
			NN_COPY_WIDE(to, from); \
	} while (0)
#define NN_ASKED() (void)0
#define NN_COPIED(n) (void)(n)
#endif

#else

#define NN_AHEAD
#define NN_ROLLED
#undef NN_UNROLL /* nothing is gained by it here, and it takes the compiler most of its time */
#define NN_UNROLL

/* What a thread of the kernel has asked for: nothing is there before NN_COPIED. */
#define NN_COPIES 256
struct nn_asked {
	unsigned n, groups; /* groups: ended */
	struct {
		real *to;
		const real *from;
		unsigned n, group;
	} at[NN_COPIES];
};
static _Thread_local struct nn_asked *nn_copies; /* of the thread whose turn it is */

static inline void nn_copy(real *to, const real *from, unsigned n)
{
	struct nn_asked *c = nn_copies;

	if (c->n == NN_COPIES || ((uintptr_t)to | (uintptr_t)from) % (n * sizeof *to))
		abort(); /* nobody waits for them; a device would trap */
	memset(to, 0xff, n * sizeof *to);
	c->at[c->n].to = to;
	c->at[c->n].from = from;
	c->at[c->n].n = n;
	c->at[c->n++].group = c->groups;
}

static inline void nn_copied(unsigned but)
{
	struct nn_asked *c = nn_copies;
	unsigned done = 0;

	for (; done < c->n && (but == 0 || c->at[done].group + but < c->groups); done++)
		memcpy(c->at[done].to, c->at[done].from, c->at[done].n * sizeof(real));
	c->n -= done;
	memmove(c->at, c->at + done, c->n * sizeof c->at[0]);
}
#define NN_COPY(to, from) nn_copy(to, from, 1)
#define NN_COPY_WIDE(to, from) nn_copy(to, from, NN_WIDE)
#define NN_COPY_WIDE_IF(there, to, from) \
	do { \
		if (there) \
			nn_copy(to, from, NN_WIDE); \
	} while (0)
#define NN_ASKED() (void)nn_copies->groups++
#define NN_COPIED(n) nn_copied(n)

extern _Thread_local bool nn_cuda_backwards; /* threads of a phase */

#define NN_MAP(name, args_t) \
	NN_INLINE void name##_at(const args_t *a, size_t i); \
	static void nn_run_##name(const void *args, size_t blocks) \
	{ \
		const args_t *a = (const args_t *)args; \
		(void)blocks; \
		for (size_t t = 0; t < a->n; t++) \
			name##_at(a, nn_cuda_backwards ? a->n - 1 - t : t); \
	} \
	const struct nn_cuda_kernel NN_SIMT(name) = { #name, (void (*)(void))nn_run_##name, \
						      NN_MAP_THREADS, sizeof(args_t) }; \
	NN_INLINE void name##_at(const args_t *a, size_t i)

#define NN_SCRIPT(name, args_t, shared_t, reg_t, n_threads) \
	static void name##_script(const args_t *a, struct nn_spot p, shared_t *s, reg_t *regs, \
				  unsigned threads_, struct nn_asked *copies_); \
	static void nn_run_##name(const void *args, size_t blocks) \
	{ \
		shared_t *s = (shared_t *)aligned_alloc(64, (sizeof *s + 63) / 64 * 64); \
		reg_t *regs = (reg_t *)malloc((n_threads) * sizeof *regs); \
		struct nn_asked *copies = \
			(struct nn_asked *)malloc((n_threads) * sizeof *copies); \
		if (!s || !regs || !copies) \
			abort(); \
		for (unsigned t = 0; t < (n_threads); t++) \
			copies[t].n = copies[t].groups = 0; \
		for (size_t b = 0; b < blocks; b++) { \
			struct nn_spot p = { b, 0 }; \
			memset(s, 0xff, sizeof *s); \
			memset(regs, 0xff, (n_threads) * sizeof *regs); \
			name##_script((const args_t *)args, p, s, regs, n_threads, copies); \
		} \
		for (unsigned t = 0; t < (n_threads); t++) \
			if (copies[t].n) \
				abort(); /* nobody waits for them */ \
		free(copies); \
		free(s); \
		free(regs); \
	} \
	const struct nn_cuda_kernel NN_SIMT(name) = { #name, (void (*)(void))nn_run_##name, \
						      n_threads, sizeof(args_t) }; \
	static void name##_script(const args_t *a, struct nn_spot p, shared_t *s, reg_t *regs, \
				  unsigned threads_, struct nn_asked *copies_)

#define NN_PHASE(f, ...) \
	for (unsigned t_ = 0; t_ < threads_; t_++) { \
		p.thread = nn_cuda_backwards ? threads_ - 1 - t_ : t_; \
		nn_copies = &copies_[p.thread]; \
		f(a, p, s, &regs[p.thread], ##__VA_ARGS__); \
	}

#endif

/* Bound i of rows cut into leaves or groups. */
NN_INLINE size_t nn_bound_at(const struct nn_bounds *b, size_t i)
{
	return (b->more ? b->more : b->at)[i] * b->unit;
}

/* The piece that holds row r. */
NN_INLINE size_t nn_bound_find(const struct nn_bounds *b, size_t r)
{
	size_t low = 0, high = b->n;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		if (nn_bound_at(b, middle) <= r)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* A number into a gradient, or added to it. */
NN_INLINE void nn_put(real *to, real value, bool add)
{
	*to = add ? *to + value : value;
}

#endif
