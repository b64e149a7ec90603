/* What has to be the same when a training is resumed or replayed. */
#ifndef NN_TRAIN_STATE_FACTS_H
#define NN_TRAIN_STATE_FACTS_H

#include "base/option.h"
#include "base/text.h"
#include "file/json/json.h"

struct nn_state_facts {
	const char *model;        /* canonical text */
	const char *data, *valid; /* hashes of training and held-out data (NULL: none) */
	const char *options;      /* JSON object: name to text */
	const char *start;        /* hash of the weights of -m FILE, NULL: none; of a record */
	const struct nn_opt_list *list; /* which of them were given */
	bool finished;                  /* nothing is left to do; of a state that is written */
};

/* The same as a file says that it was made with. */
struct nn_facts_made {
	const char *path, *model, *data, *valid;
	const struct nn_json *options;
};

/*
 * NN_EUSAGE naming both values of an option (or -m), one that was given where there is a choice,
 * NN_EFAIL for other data. Options that may_differ names are not compared.
 */
int nn_facts_compare(const struct nn_facts_made *made, const struct nn_state_facts *now,
		     bool (*may_differ)(const char *name), struct nn_error *err);

/* The facts as one JSON object on a line, for --record. */
void nn_facts_add_json(struct nn_text *text, const struct nn_state_facts *facts);
/*
 * Compare with such an object of the file `path`, as nn_facts_compare. by_length: rates follow the
 * planned steps.
 */
int nn_facts_compare_record(const char *path, const char *text, const struct nn_state_facts *now,
			    bool by_length, struct nn_error *err);

#endif
