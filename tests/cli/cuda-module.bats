#!/usr/bin/env bats
# nn-cuda.so itself, loaded without a driver or a GPU.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  printf 'a,kind\n1,x\n2,y\n' >some.csv
}

@test "cuda: the module without a GPU is status 3 and one line that says what is missing" {
  module=$NN_BUILD/lib/.libs
  [ -e "$module/nn-cuda.so" ] || skip "built without CUDA"
  [ ! -e /dev/nvidiactl ] || skip "a GPU is here"
  export NN_MODULE_PATH=$module
  run -3 --separate-stderr nn-train -q -m 'dense ?' --target=kind --device=cuda -o m.st some.csv
  [ -z "$output" ]
  [ ${#stderr_lines[@]} = 1 ]
  [[ $stderr == "nn-train: device cuda: "*CUDA* ]]
  [ ! -e m.st ]
  run -3 --separate-stderr nn-train -q -m 'dense ?' --target=kind --device=cuda:3 -o m.st some.csv
  [[ $stderr == "nn-train: device cuda:3: "*CUDA* ]]
}

@test "cuda: nothing but libc and libnn has to be there to load the module" {
  module=$NN_BUILD/lib/.libs/nn-cuda.so
  [ -e "$module" ] || skip "built without CUDA"
  readelf -d "$module" >dynamic
  [ "$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' dynamic | grep -vE '^(libnn|libc|libm|libpthread|libdl|librt|ld-linux[^ ]*|libasan|libubsan)\.so\.[0-9]+$')" = "" ]
}
