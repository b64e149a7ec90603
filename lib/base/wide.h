/*
 * Loops for the widest vectors there are: compiled twice, chosen when the library is loaded. For
 * loops whose bytes do not depend on it.
 */
#ifndef NN_BASE_WIDE_H
#define NN_BASE_WIDE_H

/* A sanitizer is not ready yet when the choice is made. */
#if defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define NN_WIDE
#endif
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__ || !defined __x86_64__ || \
	!defined __linux__
#undef NN_WIDE
#define NN_WIDE
#endif

/*
 * Before a static function (the choice must not be exported): it is compiled for AVX2 and for what
 * every CPU has.
 */
#ifndef NN_WIDE
#define NN_WIDE __attribute__((target_clones("avx2", "default")))
#endif

/*
 * Before a for: arrays of it are one or do not overlap, so that no turn needs what one before has
 * stored.
 */
#ifdef __clang__
#define NN_NO_CARRY _Pragma("clang loop vectorize(assume_safety)")
#else
#define NN_NO_CARRY _Pragma("GCC ivdep")
#endif

#endif
