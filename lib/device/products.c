/* Products of a library: what asks for them, and the names of devices that have them. */
#include <stdio.h>
#include <string.h>

#include "device/products.h"

/* What stands behind a device's name, of the CPU, of modules; the option that asks for it. */
static const struct {
	const char *cpu, *module, *option;
} products[NN_N_PRODUCTS] = {
	[NN_PRODUCTS_OWN] = { "", "", NULL },
	[NN_PRODUCTS_ANY_ORDER] = { "+openblas", "+cublas", "--reproducible=no" },
	[NN_PRODUCTS_TF32] = { "+tf32", "+tf32", "--precision=tf32" },
	[NN_PRODUCTS_BF16] = { "", "+bf16", "--precision=bf16" },
	[NN_PRODUCTS_F16] = { "", "+f16", "--precision=f16" },
};

enum nn_products nn_products_asked(const struct nn_std_options *std)
{
	bool module = strncmp(std->device, "cuda", 4) == 0;

	if (std->precision == NN_PRECISION_TF32)
		return NN_PRODUCTS_TF32;
	if (module && (int)std->precision == NN_BF16) /* on the CPU a type of files */
		return NN_PRODUCTS_BF16;
	if (module && (int)std->precision == NN_F16)
		return NN_PRODUCTS_F16;
	return std->reproducible ? NN_PRODUCTS_OWN : NN_PRODUCTS_ANY_ORDER;
}

int nn_products_check(const struct nn_std_options *std, struct nn_error *err)
{
	return nn_products_rounded(nn_products_asked(std)) ? 0 : nn_std_check_computed(std, err);
}

const char *nn_products_option(const struct nn_std_options *std)
{
	return products[nn_products_asked(std)].option;
}

const char *nn_products_library(const char *device)
{
	if (!strchr(device, '+'))
		return NULL;
	return strncmp(device, "cpu", 3) == 0 ? "openblas" : "cublas";
}

const char *nn_products_rounded(enum nn_products which)
{
	return which >= NN_PRODUCTS_TF32 && which < NN_N_PRODUCTS ? products[which].module + 1
								  : NULL;
}

const char *nn_products_device(char buffer[NN_PRODUCTS_NAME], const char *name,
			       enum nn_products which)
{
	bool module = strncmp(name, "cpu", 3) != 0;

	snprintf(buffer, NN_PRODUCTS_NAME, "%s%s", name,
		 strchr(name, '+') ? ""
		 : module	    ? products[which].module
				    : products[which].cpu);
	return buffer;
}

enum nn_products nn_products_named(const char *device)
{
	const char *suffix = device + strcspn(device, "+");
	int which = 0;

	while (which < NN_N_PRODUCTS && strcmp(suffix, products[which].module) != 0)
		which++;
	return (enum nn_products)which;
}
