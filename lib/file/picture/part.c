/* Interleaved channels to planes: a loop for the vectorizer, for it took most of the time of a
 * JPEG. */
#include <string.h>

#include "base/wide.h"
#include "file/picture/picture.h"

typedef unsigned char bytes __attribute__((vector_size(16)));

/* Of 16 pixels in three vectors the bytes of one channel: first those of two vectors, then all. */
#define R_OF(a, b, c) \
	__builtin_shufflevector(__builtin_shufflevector(a, b, 0, 3, 6, 9, 12, 15, 18, 21, 24, 27, \
							30, 0, 0, 0, 0, 0), \
				c, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 17, 20, 23, 26, 29)
#define G_OF(a, b, c) \
	__builtin_shufflevector(__builtin_shufflevector(a, b, 1, 4, 7, 10, 13, 16, 19, 22, 25, 28, \
							31, 0, 0, 0, 0, 0), \
				c, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 18, 21, 24, 27, 30)
#define B_OF(a, b, c) \
	__builtin_shufflevector(__builtin_shufflevector(a, b, 2, 5, 8, 11, 14, 17, 20, 23, 26, 29, \
							0, 0, 0, 0, 0, 0), \
				c, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 19, 22, 25, 28, 31)

NN_WIDE(void, part3,
	(const unsigned char *restrict pixels, size_t n, unsigned char *restrict r,
	 unsigned char *restrict g, unsigned char *restrict b),
	(pixels, n, r, g, b))
{
	size_t i = 0;

	for (; i + 16 <= n; i += 16) {
		bytes v[3], to;

		memcpy(v, pixels + 3 * i, sizeof v);
		to = R_OF(v[0], v[1], v[2]);
		memcpy(r + i, &to, sizeof to);
		to = G_OF(v[0], v[1], v[2]);
		memcpy(g + i, &to, sizeof to);
		to = B_OF(v[0], v[1], v[2]);
		memcpy(b + i, &to, sizeof to);
	}
	for (; i < n; i++) {
		r[i] = pixels[3 * i];
		g[i] = pixels[3 * i + 1];
		b[i] = pixels[3 * i + 2];
	}
}

void nn_picture_part(const unsigned char *pixels, size_t n, size_t channels, unsigned char *planes,
		     size_t plane)
{
	if (channels == 1) {
		memcpy(planes, pixels, n);
		return;
	}
	if (channels == 3) {
		part3(pixels, n, planes, planes + plane, planes + 2 * plane);
		return;
	}
	for (size_t c = 0; c < channels; c++)
		for (size_t i = 0; i < n; i++)
			planes[c * plane + i] = pixels[i * channels + c];
}
