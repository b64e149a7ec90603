/* The natural logarithm with the same bytes on every machine: libm's last digits differ. */
#ifndef NN_BASE_LOGARITHM_H
#define NN_BASE_LOGARITHM_H

/* Of a finite number above 0. */
double nn_logarithm(double x);

#endif
