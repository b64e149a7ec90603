/* To whom a training speaks: the program around it, the log, progress lines, the picture. */
#ifndef NN_TRAIN_TELL_TELLING_H
#define NN_TRAIN_TELL_TELLING_H

#include "train/train.h"

struct nn_curve;
struct nn_log;
struct nn_progress;
struct nn_tensorboard;

struct nn_telling {
	struct nn_train_host host;
	bool speaks; /* rank 0, for all; others are told nothing */
	struct nn_log *log;
	struct nn_progress *progress;
	struct nn_curve *curve;       /* NULL: no --plot */
	struct nn_tensorboard *board; /* NULL: no --tensorboard */
};

/* A warning or note, printf's way; a warning is in the log, too. */
void nn_tell_warning(const struct nn_telling *telling, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void nn_tell_note(const struct nn_telling *telling, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* The host is told of the state on disk, as soon as it is there: by the thread that wrote it. */
void nn_tell_saved(const struct nn_telling *telling, const char *path, uint64_t step);

#endif
