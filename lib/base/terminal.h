/* How wide a terminal is. */
#ifndef NN_BASE_TERMINAL_H
#define NN_BASE_TERMINAL_H

/* Characters of a line of the terminal that fd is: COLUMNS, else what the terminal says, else 80. */
int nn_terminal_columns(int fd);

#endif
