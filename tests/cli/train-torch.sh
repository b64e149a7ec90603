#!/bin/bash
# Runs train-torch.py under a Python that has PyTorch: $PYTHON (configure's choice), else python3; skips where there is none.
for python in ${PYTHON:+"$PYTHON"} python3; do
  if "$python" -c 'import torch, numpy' 2>/dev/null; then
    exec "$python" "$NN_SRC/tests/cli/train-torch.py"
  fi
done
echo "1..0 # skip PyTorch is not installed"
