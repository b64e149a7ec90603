/* Inside the matching of tensors with parameters: by name, by shape. */
#ifndef NN_MODEL_MATCH_H
#define NN_MODEL_MATCH_H

#include "model/match/weight-name.h"

struct nn_match {
	struct nn_weight_names names;
	enum nn_weights_layout layout; /* as it was asked for; AUTO: as names and shapes say */
	struct nn_match_pair {
		const struct nn_weight_name *name; /* NULL: none */
		enum nn_weights_layout layout;
	} * pairs;        /* [n_params] */
	const char *hint; /* what follows where a tensor is missing or of another shape; NULL */
	const struct nn_weight_name *either[2]; /* of equal shape, and nothing to tell them apart */
};

/* match-names.c. How tensor `name` is laid out: an option rules, then the name, then PyTorch's. */
enum nn_weights_layout nn_match_layout(const struct nn_match *match,
				       const struct nn_weight_name *name);
/* Can a tensor of that shape be parameter p? */
bool nn_match_fits(const struct nn_program *program, int p, const struct nn_shape *shape,
		   enum nn_weights_layout layout);
/* The tensor that is named as parameter p, NULL: none. "weight" alone: of the only layer with any.
 */
const struct nn_weight_name *nn_match_name(const struct nn_match *match,
					   const struct nn_program *program, int p);
/* The tensor LINE.word, or word alone. */
struct nn_net_entry;
const struct nn_weight_name *nn_match_line(const struct nn_match *match,
					   const struct nn_net_entry *line, const char *word);
/* Take off what all names share until one is a line's: "module.", "model.net." */
void nn_match_strip(struct nn_match *match, const struct nn_net *net);
/*
 * match-names.c: all pairs by name, each of the right shape? 0 or 1. What is wrong with the names
 * is said by the second: one is missing, or its shape is wrong, or the net has none such.
 */
int nn_match_names(struct nn_match *match, const struct nn_program *program);
/* The ways in which tensors fit, or fit not, where names do not say. */
int nn_match_forms_fail(const struct nn_match *match, const struct nn_program *program, int ways,
			const char *place, struct nn_error *err);
int nn_match_names_fail(const struct nn_match *match, const struct nn_program *program,
			const char *place, struct nn_error *err);

/*
 * take.c: parameters by their pairs into st, which is empty, turned where they have to be; a pair
 * without a name is left out.
 */
int nn_match_take(struct nn_st *st, const struct nn_match *match, const struct nn_program *program,
		  const char *place, struct nn_error *err);

/*
 * match-shape.c: pairs by shape alone. How many ways there are: 0, 1, or 2 for more (match->either
 * then says why, or is NULL where both layouts fit); -1 on errors.
 */
int nn_match_shapes(struct nn_match *match, const struct nn_program *program, struct nn_error *err);

#endif
