/* Inside of augmentation: its rules, what is drawn for a sample, and what pixels become by it. */
#ifndef NN_DATA_AUGMENT_INSIDE_H
#define NN_DATA_AUGMENT_INSIDE_H

#include "data/augment/augment.h"

/* In the order of the list of names in augment.c. */
struct nn_augment_rules {
	double flip, crop, rotate, scale, brightness, contrast, noise, cutout, mixup;
};

/* A picture; channels 0: it is none. */
struct nn_augment_picture {
	size_t channels, height, width;
	bool classes; /* of a mask: an int32 for each pixel */
	bool planes;  /* channels lie one behind another, also where inputs have them last */
};

struct nn_augment {
	struct nn_augment_rules rules;
	const char *list;
	enum nn_dtype dtype;
	uint64_t seed;
	struct nn_augment_picture *inputs, *targets; /* [n_inputs], [n_targets] */
	struct nn_augment_target *outputs;           /* [n_targets] */
	const struct nn_augment_picture *size;       /* of the first picture: shifts are in its pixels */
};

/* What a sample was given. */
struct nn_drawn {
	uint64_t index; /* of Philox */
	bool flip;
	int shift_x, shift_y;
	bool turns;         /* by an angle, or to another size: */
	double cos, sin;    /* both over the factor */
	double brightness, contrast;
	double cut_x, cut_y; /* middle of the square, 0 to 1 */
	double share;        /* of itself in a mixture; 1: all */
	double partner;      /* 0 to 1: which row of the batch it is mixed with */
};
/* rules: of all or, of a target, but those of places. */
struct nn_drawn nn_augment_draw(const struct nn_augment *augment, uint64_t epoch, uint64_t row);

/* exp(log(u) / a), u and a above 0, the same on every machine. */
double nn_augment_root(double u, double a);

/*
 * pixels.c: a picture of values of the dtype, or of classes, into its place in another one. What comes from outside
 * is 0, or NN_CLASS_IGNORED.
 */
bool nn_augment_moves(const struct nn_drawn *drawn);
void nn_augment_move(const struct nn_augment_picture *picture, const struct nn_augment_picture *input,
		     enum nn_dtype dtype, bool channels_last, const struct nn_drawn *drawn,
		     const void *from, void *to);
/* Values of a row where they lie. */
void nn_augment_colours(const struct nn_augment *augment, const struct nn_augment_picture *picture,
			bool channels_last, const struct nn_drawn *drawn, void *values);
/* values = share * values + (1 - share) * others, n of the dtype. */
void nn_augment_mix(enum nn_dtype dtype, size_t n, double share, const void *others, void *values);

#endif
