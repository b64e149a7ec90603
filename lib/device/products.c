/* Products of a library: what asks for them, and the names of devices that have them. */
#include <stdio.h>
#include <string.h>

#include "device/products.h"

/* What stands behind a device's name: of the CPU, of modules. */
static const char *const behind[NN_N_PRODUCTS][2] = { [NN_PRODUCTS_OWN] = { "", "" },
						      [NN_PRODUCTS_ANY_ORDER] = { "+openblas",
										  "+cublas" },
						      [NN_PRODUCTS_TF32] = { "+tf32", "+tf32" } };

enum nn_products nn_products_asked(const struct nn_std_options *std)
{
	return std->precision == NN_PRECISION_TF32 ? NN_PRODUCTS_TF32
	       : std->reproducible                 ? NN_PRODUCTS_OWN
						   : NN_PRODUCTS_ANY_ORDER;
}

const char *nn_products_option(const struct nn_std_options *std)
{
	return std->precision == NN_PRECISION_TF32 ? "--precision=tf32" : "--reproducible=no";
}

const char *nn_products_library(const struct nn_std_options *std, bool is_cpu)
{
	return nn_products_asked(std) == NN_PRODUCTS_OWN ? NULL : is_cpu ? "openblas" : "cublas";
}

const char *nn_products_device(char buffer[NN_PRODUCTS_NAME], const char *name,
			       enum nn_products products)
{
	bool module = strncmp(name, "cpu", 3) != 0;

	snprintf(buffer, NN_PRODUCTS_NAME, "%s%s", name,
		 strchr(name, '+') ? "" : behind[products][module]);
	return buffer;
}

enum nn_products nn_products_named(const char *device)
{
	const char *suffix = device + strcspn(device, "+");
	int products = 0;

	while (products < NN_N_PRODUCTS && strcmp(suffix, behind[products][1]) != 0)
		products++;
	return (enum nn_products)products;
}
