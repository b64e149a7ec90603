/* nn-predict: predict with a trained model. */
#include "config.h"
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return printf("nn-predict (nntools) %s\n", PACKAGE_VERSION) < 0;
	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return printf("Usage: nn-predict --help | --version\n") < 0;
	fputs("nn-predict: expected --help or --version\n", stderr);
	return 2;
}
