#!/bin/bash
# Runs weights-keras.py under a Python that has Keras: $PYTHON (configure's choice), else python3; skips where there is none.
export TF_CPP_MIN_LOG_LEVEL=3
for python in ${PYTHON:+"$PYTHON"} python3; do
  if "$python" -c 'import keras, numpy' 2>/dev/null; then
    exec "$python" "$NN_SRC/tests/cli/weights-keras.py" 2>/dev/null
  fi
done
echo "1..0 # skip Keras is not installed"
