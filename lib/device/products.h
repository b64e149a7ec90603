/*
 * Whose products a device computes with: its own, which have the same bytes wherever they are
 * computed, or those of a library, which are a kind of device's.
 */
#ifndef NN_DEVICE_PRODUCTS_H
#define NN_DEVICE_PRODUCTS_H

#include "base/option.h"

struct nn_device;
struct nn_device_module;

enum nn_products {
	NN_PRODUCTS_OWN,
	NN_PRODUCTS_ANY_ORDER, /* --reproducible=no: sums in the library's order */
	/* --precision: factors rounded to 10 bits of mantissa, to bf16, to f16, too; of modules alone */
	NN_PRODUCTS_TF32,
	NN_PRODUCTS_BF16,
	NN_PRODUCTS_F16,
	NN_N_PRODUCTS
};

enum nn_products nn_products_asked(const struct nn_std_options *std);
/* NN_EUSAGE where --precision is neither computed in nor what factors are rounded to. */
int nn_products_check(const struct nn_std_options *std, struct nn_error *err);
/* The option that asked for others than its own, as it is typed. */
const char *nn_products_option(const struct nn_std_options *std);
/* Whose they are, of a device by its name, for logs: "openblas", "cublas"; NULL: its own. */
const char *nn_products_library(const char *device);
/* What --precision=tf32, bf16 and f16 call them; NULL: factors are not rounded. */
const char *nn_products_rounded(enum nn_products products);

/*
 * The name by which nn_device_open knows the device `name` (cpu, cuda, cuda:N) with such products:
 * cpu+openblas, cuda:1+cublas, cuda+tf32, cuda+f16. cpu+tf32 is a device that no machine has.
 */
#define NN_PRODUCTS_NAME 40
const char *nn_products_device(char buffer[NN_PRODUCTS_NAME], const char *name,
			       enum nn_products products);
/* Of such a name of a module's device; NN_N_PRODUCTS: there are none called so. */
enum nn_products nn_products_named(const char *device);

/* What a device's module offers; open NULL: its own products alone. */
struct nn_products_module {
	const struct nn_device_module *own;
	const struct nn_device *(*open)(int number, enum nn_products products, enum nn_dtype dtype,
					struct nn_error *err);
};

#endif
