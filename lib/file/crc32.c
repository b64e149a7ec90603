/* CRC-32, eight bytes at a time: tables[k] is what a byte does that k others follow. */
#include <pthread.h>

#include "file/crc32.h"

static uint32_t tables[8][256];

static void fill(void)
{
	for (uint32_t b = 0; b < 256; b++) {
		uint32_t c = b;

		for (int i = 0; i < 8; i++)
			c = c >> 1 ^ (c & 1 ? 0xedb88320 : 0);
		tables[0][b] = c;
	}
	for (int k = 1; k < 8; k++)
		for (int b = 0; b < 256; b++)
			tables[k][b] = tables[k - 1][b] >> 8 ^ tables[0][tables[k - 1][b] & 255];
}

uint32_t nn_crc32(uint32_t crc, const void *bytes, size_t n)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	const unsigned char *b = bytes;
	uint32_t c = ~crc;

	pthread_once(&once, fill);
	for (; n >= 8; b += 8, n -= 8) {
		c ^= (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
		c = tables[7][c & 255] ^ tables[6][c >> 8 & 255] ^ tables[5][c >> 16 & 255] ^ tables[4][c >> 24] ^ tables[3][b[4]] ^
		    tables[2][b[5]] ^ tables[1][b[6]] ^ tables[0][b[7]];
	}
	for (; n; b++, n--)
		c = c >> 8 ^ tables[0][(c ^ *b) & 255];
	return ~c;
}
