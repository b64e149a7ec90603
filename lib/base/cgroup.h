/* The control group of this process: the limits that containers and service managers set. */
#ifndef NN_BASE_CGROUP_H
#define NN_BASE_CGROUP_H

#include <stddef.h>

/*
 * Bytes of memory the group and those above it leave, page cache that can be dropped not counted as
 * used; SIZE_MAX: no limit.
 */
size_t nn_cgroup_memory_left(void);

/* Processors its quota is worth, rounded up; 0: no quota. */
int nn_cgroup_processors(void);

#endif
