#!/usr/bin/env bats
# The shipped digits from end to end: what the README promises.
bats_require_minimum_version 1.5.0

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  zcat "$NN_SRC/share/data/digits.csv.gz" >digits.csv
  sed -n '1p; 2,1401p' digits.csv >train.csv
  sed -n '1p; 1402,$p' digits.csv >held.csv
  nn-train -q -m 'dense 64, relu, dense ?' --target=digit --loss=cross-entropy --epochs=20 \
    --valid=held.csv --log=log.jsonl -o model.safetensors train.csv
}

setup() {
  cd "$BATS_FILE_TMPDIR" || return
}

@test "digits: a net of one hidden layer reaches 96 % on a held-out fifth" {
  nn-train -q -m 'dense 64, relu, dense ?' --target=digit --loss=cross-entropy --epochs=20 \
    --valid=0.2 --log=fifth.jsonl -o fifth.safetensors digits.csv
  accuracy=$(grep '"event":"epoch"' fifth.jsonl | tail -n 1 | sed -E 's/.*"accuracy":([0-9.]+).*/\1/')
  awk -v a="$accuracy" 'BEGIN { exit !(a >= 0.96) }'
}

@test "digits: nn-predict --score prints the digits that nn-train logged for the held-out rows" {
  logged=$(grep '"event":"epoch"' log.jsonl | tail -n 1)
  nn-predict --score model.safetensors held.csv >score
  [ "$(sed -n 's/^accuracy //p' score)" = "$(sed -E 's/.*"accuracy":([^,}]+).*/\1/' <<<"$logged")" ]
  [ "$(sed -n 's/^loss //p' score)" = "$(sed -E 's/.*"valid_loss":([^,}]+).*/\1/' <<<"$logged")" ]
}

@test "digits: the demo runs in a build tree, and all its models for 1 to 4 threads are the README's" {
  cd "$NN_BUILD"
  sh "$NN_SRC/share/demo.sh" >"$BATS_TEST_TMPDIR/out"
  [ "$(grep -cE '^[0-9a-f]{64}' "$BATS_TEST_TMPDIR/out")" -eq 4 ]
  [ "$(grep -oE '^[0-9a-f]{64}' "$BATS_TEST_TMPDIR/out" | sort -u)" = "$(grep -oE '^[0-9a-f]{64}' "$NN_SRC/README.md" | sort -u)" ]
}
