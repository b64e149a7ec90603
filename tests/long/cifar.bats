#!/usr/bin/env bats
# ResNet-8 learns CIFAR-10 from .npy arrays. NN_DATA/cifar10 holds train.tar.xz and test.tar.xz with a JPEG a picture.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup() {
  . "$NN_SRC/tests/cli/train-data.sh"
  cd "$BATS_TEST_TMPDIR" || return
  for cifar in ${NN_DATA:+"$NN_DATA/cifar10"} "$NN_SRC/../shared/data/cifar10" "$NN_SRC/../../shared/data/cifar10"; do
    [ -e "$cifar/train.tar.xz" ] && break
  done
  [ -e "$cifar/train.tar.xz" ] || skip "CIFAR-10 is not here: NN_DATA/cifar10"
  for python in ${NN_PYTHON:+"$NN_PYTHON"} python3 ''; do
    [ -n "$python" ] || skip "Pillow and NumPy are not installed"
    "$python" -c 'import numpy, PIL' 2>/dev/null && break
  done
}

# arrays NAME: NAME.tar.xz as NAME-x.npy, f32 [N,3,32,32] in 0..1, and NAME-y.npy, the number of the class folder
arrays() {
  "$python" - "$cifar/$1.tar.xz" "$1" <<'PYTHON'
import sys, tarfile
import numpy as np
from PIL import Image
pictures = []
with tarfile.open(sys.argv[1], "r|xz") as tar:
    for member in tar:
        if member.isfile() and member.name.endswith(".jpg"):
            image = Image.open(tar.extractfile(member)).convert("RGB")
            pictures.append((member.name.split("/")[-2], np.asarray(image).transpose(2, 0, 1)))
names = sorted({name for name, _ in pictures})
np.save(sys.argv[2] + "-x.npy", np.stack([image for _, image in pictures]).astype(np.float32) / 255)
np.save(sys.argv[2] + "-y.npy", np.array([names.index(name) for name, _ in pictures]))
PYTHON
}

@test "CIFAR-10: ResNet-8 knows 60 % of the test pictures after 5 epochs" {
  arrays train
  arrays test
  nn-train -q -m "$NN_SRC/share/examples/resnet8.nn" --epochs=5 --valid=test-x.npy,test-y.npy --log=log -o m.safetensors \
    train-x.npy train-y.npy
  log_check log 'of("epoch")[-1]["accuracy"] >= 0.6'
  nn-predict --score=test-y.npy m.safetensors test-x.npy >score
  grep -qx 'samples 10000' score
  log_check log "str(of('epoch')[-1]['accuracy']) == '$(sed -n 's/^accuracy //p' score)'"
}
