/* Decoding on the pool, a picture a piece. */
#include <pthread.h>

#include "data/picture/array.h"
#include "data/picture/decode.h"

int nn_picture_learn(struct nn_picture_rows *rows, struct nn_codecs *codecs,
		     const struct nn_picture_file *file, struct nn_error *err)
{
	const struct nn_codec *codec;

	if (rows->arrays) {
		rows->known = nn_sample_array_learn(rows, file, err) == 0;
		return rows->known ? 0 : -1;
	}
	codec = nn_codec_of(codecs, file, err);
	if (!codec || codec->header(file, &rows->shape, err) < 0)
		return -1;
	rows->known = true;
	rows->size = rows->shape.channels * rows->shape.height * rows->shape.width;
	return 0;
}

/* What went wrong where: of several pictures in the first one, whoever comes first. */
struct decoding {
	pthread_mutex_t lock;
	size_t failed; /* SIZE_MAX: none */
	struct nn_error error;
	const struct nn_picture_rows *rows;
	struct nn_codecs *codecs;
	const struct nn_picture_job *jobs;
};

int nn_picture_decode_one(const struct nn_picture_rows *rows, struct nn_codecs *codecs,
			  const struct nn_picture_job *job, struct nn_error *err)
{
	const struct nn_codec *codec;

	if (rows->arrays)
		return nn_sample_array_read(rows, &job->file, job->to, err);
	codec = nn_codec_of(codecs, &job->file, err);
	return codec ? codec->decode(&job->file, &rows->shape, job->to, err) : -1;
}

static void decode_one(void *arg, size_t i, int thread)
{
	struct decoding *d = arg;
	struct nn_error error;

	(void)thread;
	if (nn_picture_decode_one(d->rows, d->codecs, &d->jobs[i], &error) == 0)
		return;
	pthread_mutex_lock(&d->lock);
	if (i < d->failed) {
		d->failed = i;
		d->error = error;
	}
	pthread_mutex_unlock(&d->lock);
}

/* Modules are opened here, so that threads only find them. */
static int open_codecs(struct nn_codecs *codecs, const struct nn_picture_job *jobs, size_t n,
		       struct nn_error *err)
{
	for (size_t i = 0; i < n && !(codecs->png && codecs->jpeg); i++)
		if (!nn_codec_of(codecs, &jobs[i].file, err))
			return -1;
	return 0;
}

int nn_picture_decode(const struct nn_picture_rows *rows, struct nn_codecs *codecs,
		      const struct nn_picture_job *jobs, size_t n, struct nn_pool *pool,
		      struct nn_error *err)
{
	struct decoding d = { PTHREAD_MUTEX_INITIALIZER, SIZE_MAX, { 0 }, rows, codecs, jobs };

	if (!rows->arrays && open_codecs(codecs, jobs, n, err) < 0)
		return -1;
	nn_pool_run(pool, n, decode_one, &d);
	if (d.failed == SIZE_MAX)
		return 0;
	if (err)
		*err = d.error;
	return -1;
}
