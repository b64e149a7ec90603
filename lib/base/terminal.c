/* How wide a terminal is: what the user says, else what the terminal says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/number.h"
#include "base/terminal.h"

int nn_terminal_columns(int fd)
{
	const char *text = getenv("COLUMNS");
	struct winsize size;
	uint64_t n;

	if (text && nn_parse_u64(text, strlen(text), &n) && n > 0 && n < 1000)
		return (int)n;
	return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

bool nn_terminal_redraws(int fd)
{
	const char *term = getenv("TERM");

	return fd >= 0 && isatty(fd) && term && *term && strcmp(term, "dumb") != 0;
}

const char *nn_grouped(char text[NN_GROUPED], uint64_t value)
{
	char digits[NN_GROUPED];
	int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)value), at = 0;

	for (int i = 0; i < n; i++) {
		if (i > 0 && (n - i) % 3 == 0)
			text[at++] = ',';
		text[at++] = digits[i];
	}
	text[at] = '\0';
	return text;
}

int nn_columns_width(const int *width, size_t n)
{
	int sum = -2;

	for (size_t i = 0; i < n; i++)
		sum += width[i] > 0 ? width[i] + 2 : 0;
	return sum;
}

void nn_columns_drop(int *width, const int *drop, size_t n, int most)
{
	while (nn_columns_width(width, n) > most) {
		size_t first = 0;

		for (size_t i = 1; i < n; i++)
			if (width[i] * drop[i] > 0 && (width[first] == 0 || drop[i] > drop[first]))
				first = i;
		if (width[first] * drop[first] == 0)
			return;
		width[first] = 0;
	}
}
