/* Files that come with the package: models in examples/, tables in data/. */
#ifndef NN_BASE_INSTALLED_H
#define NN_BASE_INSTALLED_H

/*
 * The example of that name where there is no such file here: "lenet.nn" is then
 * PREFIX/share/nntools/examples/lenet.nn, which lasts as long as the process. NULL: the name means
 * itself, or memory is out.
 */
const char *nn_installed_example(const char *name);

#endif
