#!/bin/bash
# 7 ranks in memory that all see, 2 and 3 over TCP.
set -u
. "$NN_SRC/tests/mpi/ranks.bash"
runs 7:vader 2:tcp 3:tcp
