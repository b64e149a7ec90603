#!/bin/bash
# 1 to 5 ranks in memory that all see.
set -u
. "$NN_SRC/tests/mpi/ranks.bash"
runs 1:vader 2:vader 3:vader 4:vader 5:vader
