/* How wide a terminal is: what the user says, else what the terminal says. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

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
