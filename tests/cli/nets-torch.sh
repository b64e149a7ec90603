#!/bin/bash
# Runs nets-torch.py under a Python that has PyTorch: $PYTHON (configure's choice), else python3; skips where there is none.
# A folder of that name has no origin; to import PyTorch takes as long as some of the claims.
for python in ${PYTHON:+"$PYTHON"} python3; do
  if "$python" -c 'from importlib.util import find_spec; assert find_spec("torch").origin and find_spec("numpy").origin' 2>/dev/null; then
    exec "$python" "$NN_SRC/tests/cli/nets-torch.py"
  fi
done
echo "1..0 # skip PyTorch is not installed"
