#!/usr/bin/env bats
# MNIST from its four original files: what has to be reached. NN_DATA/mnist holds them.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  for mnist in ${NN_DATA:+"$NN_DATA/mnist"} "$NN_SRC/../shared/data/mnist" "$NN_SRC/../../shared/data/mnist"; do
    [ -e "$mnist/train-images-idx3-ubyte.gz" ] && break
  done
  [ -e "$mnist/train-images-idx3-ubyte.gz" ] || skip "MNIST is not here: NN_DATA/mnist"
  files=("$mnist/train-images-idx3-ubyte.gz" "$mnist/train-labels-idx1-ubyte.gz")
  held=$mnist/t10k-images-idx3-ubyte.gz,$mnist/t10k-labels-idx1-ubyte.gz
}

@test "MNIST: 784-128-10 knows 97.2 % after 5 epochs" {
  nn-train -q -m 'flatten, dense 128, relu, dense 10' --epochs=5 --valid="$held" --log=log -o m.safetensors "${files[@]}"
  log_check log 'of("epoch")[-1]["accuracy"] >= 0.972'
}

@test "MNIST: LeNet knows 98.7 % after 3 epochs" {
  nn-train -q -m 'conv2d 6 5x5 pad=2, relu, maxpool2d 2, conv2d 16 5x5, relu, maxpool2d 2, flatten, dense 120, relu, dense 84, relu, dense ?' \
    --epochs=3 --valid="$held" --log=log -o m.safetensors "${files[@]}"
  log_check log 'of("epoch")[-1]["accuracy"] >= 0.987'
}

@test "MNIST: training takes no more memory than the data and 12 MB" {
  [ -z "${NN_TEST_DEVICE-}" ] || skip "memory of the device of the tests is the process's"
  nn-train -q -m 'flatten, dense 128, relu, dense 10' --epochs=1 --log=log -o m.safetensors "${files[@]}"
  log_check log 'of("end")[0]["peak_bytes"] <= 47040000 + 12e6'
}
