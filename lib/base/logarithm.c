/*
 * The natural logarithm by its series: log(2^k m) = k log 2 + 2 artanh(s), s = (m - 1) / (m + 1),
 * sqrt(1/2) <= m < sqrt(2), so that s^2 < 0.0295 and the terms left out are below 2^-58.
 */
#include <math.h>

#include "base/logarithm.h"

double nn_logarithm(double x)
{
	int k;
	double m = frexp(x, &k), s, square, sum = 0;

	if (m < 0.70710678118654752) {
		m *= 2;
		k--;
	}
	s = (m - 1) / (m + 1);
	square = s * s;
	for (int i = 21; i > 0; i -= 2)
		sum = sum * square + 1.0 / i;
	return k * 0.69314718055994531 + 2 * s * sum;
}
