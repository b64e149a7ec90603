/* The best instruction set this machine has, or the one NN_CPU names. */
#include <stdlib.h>
#include <string.h>
#include "base/cpu.h"
#include "device/cpu/blas.h"
#include "device/device.h"
#include "device/wings.h"

#define NN_TABLES(isa) \
	extern const struct nn_device nn_cpu_device_f32_##isa, nn_cpu_device_f64_##isa, \
		nn_cpu_device_blas_f32_##isa, nn_cpu_device_blas_f64_##isa, \
		nn_cpu_device_int8_f32_##isa;
/* Of another architecture. */
#define NN_ABSENT(isa) \
	{ \
		.name = #isa, .supported = has_none \
	}
#define NN_ROW(isa, supported) \
	{ \
#isa, { { &nn_cpu_device_f32_##isa, &nn_cpu_device_f64_##isa }, \
			  { &nn_cpu_device_blas_f32_##isa, &nn_cpu_device_blas_f64_##isa } }, \
			  &nn_cpu_device_int8_f32_##isa, \
			  supported \
	}

#if defined __x86_64__
static bool has_avx512(void)
{
	return NN_CPU_HAS(AVX512F) && NN_CPU_HAS(AVX512VL) && NN_CPU_HAS(AVX512DQ) &&
	       NN_CPU_HAS(AVX512BW) && NN_CPU_HAS(FMA);
}

/* Products of bytes; AVX-512 was made without them first. */
static bool has_vnni(void)
{
	return NN_CPU_HAS(AVX512_VNNI);
}

static bool has_avx2(void)
{
	return NN_CPU_HAS(AVX2) && NN_CPU_HAS(FMA);
}

NN_TABLES(avx512)
NN_TABLES(avx2)
#elif defined __aarch64__
NN_TABLES(neon)
#endif

static bool has_none(void)
{
	return false;
}

static bool has_all(void)
{
	return true;
}

NN_TABLES(generic)

static const struct isa {
	const char *name;
	const struct nn_device *tables[2][2]; /* ours, with OpenBLAS; f32, f64 */
	const struct nn_device *int8;
	bool (*supported)(void);
} isas[] = {
#if defined __x86_64__
	NN_ROW(avx512, has_avx512), /* avx2 is behind it: int8_of */
	NN_ROW(avx2, has_avx2),
	NN_ABSENT(neon),
#elif defined __aarch64__
	NN_ROW(neon, has_all),
	NN_ABSENT(avx512),
	NN_ABSENT(avx2),
#else
	NN_ABSENT(avx512),
	NN_ABSENT(avx2),
	NN_ABSENT(neon),
#endif
	NN_ROW(generic, has_all),
};

#define NN_N_ISAS (sizeof isas / sizeof isas[0])

/* With int8 weights: that of the instruction set, or AVX2's where AVX-512 has no products of bytes. */
static const struct nn_device *int8_of(const struct isa *isa)
{
#if defined __x86_64__
	if (isa == isas && !has_vnni())
		isa++;
#endif
	return isa->int8;
}

static const struct nn_device *open_table(enum nn_dtype dtype, bool with_blas, struct nn_error *err)
{
	const char *wanted = getenv("NN_CPU");
	int type = dtype == NN_F64;

	if (dtype != NN_F32 && dtype != NN_F64 && dtype != NN_I8) {
		nn_fail(err, NN_EUSAGE, "device cpu computes in f32, f64 or int8, not %s",
			nn_dtype_name(dtype));
		return NULL;
	}
	if (wanted && !*wanted)
		wanted = NULL;
	for (size_t i = 0; i < NN_N_ISAS; i++) {
		if (wanted && strcmp(wanted, isas[i].name) != 0)
			continue;
		if (isas[i].supported())
			return dtype == NN_I8 ? int8_of(&isas[i]) : isas[i].tables[with_blas][type];
		if (wanted) {
			nn_fail(err, NN_ENODEV, "NN_CPU=%s: this CPU has no %s", wanted, wanted);
			return NULL;
		}
	}
	nn_fail(err, NN_EUSAGE, "NN_CPU=%s: unknown, choose avx512, avx2, neon or generic", wanted);
	return NULL;
}

const struct nn_device *nn_cpu_open(enum nn_dtype dtype, struct nn_error *err)
{
	return open_table(dtype, false, err);
}

const struct nn_device *nn_cpu_open_blas(enum nn_dtype dtype, struct nn_error *err)
{
	return nn_cpu_blas_open(err) < 0 ? NULL : open_table(dtype, true, err);
}

size_t nn_cpu_kinds(enum nn_dtype dtype, const struct nn_device **kinds)
{
	size_t n = 0;

	for (size_t i = 0; i < NN_N_ISAS; i++)
		if (isas[i].supported())
			kinds[n++] = isas[i].tables[0][dtype == NN_F64];
	return n;
}
