#!/bin/bash
# tests/cli/same-bytes.sh with 200 drawn combinations, from a seed of its own.
exec bash "$NN_SRC/tests/cli/same-bytes.sh" 200 2
