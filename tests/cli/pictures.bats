#!/usr/bin/env bats
# Pictures: folders of classes, pictures and masks, tars, CIFAR, and what is refused.
# shellcheck disable=SC2154,SC2164
bats_require_minimum_version 1.5.0

setup_file() {
  command -v python3 >/dev/null || return 0
  mkdir "$BATS_FILE_TMPDIR/p"
  cd "$BATS_FILE_TMPDIR/p"
  python3 "$NN_SRC/tests/cli/pictures.py"
  nn-train -q -m "$net" --epochs=15 --lr=0.01 -o model train 2>error || true
}

net='conv2d 8 3x3, relu, flatten, dense ?'

setup() {
  command -v python3 >/dev/null || skip "python3 is not installed"
  cd "$BATS_FILE_TMPDIR/p"
  export net
  if grep -q 'module nn-png.so is not installed' error 2>/dev/null; then
    [[ $BATS_TEST_DESCRIPTION == *without* ]] || skip "built without libpng"
  fi
}
export net

# says STATUS TEXT COMMAND...: the one line on stderr
says() {
  local status=$1 text=$2
  shift 2
  run "-$status" --separate-stderr "$@"
  [ "$stderr" = "$text" ] || { printf 'found:  %s\nwanted: %s\n' "$stderr" "$text"; return 1; }
}

@test "pictures: without a codec's module it is status 3 and one line" {
  mkdir -p moved/bin moved/lib
  cp "$NN_BUILD/cmd/nn-train" moved/bin
  cp -L "$NN_BUILD/lib/libnn.so.0" moved/lib
  [ ! -e /usr/local/lib/nntools/nn-png.so ] || skip "nn-png.so is installed"
  says 3 'nn-train: train/blue/00.png: module nn-png.so is not installed' \
    moved/bin/nn-train -q -m 'dense ?' -o no train
}

@test "pictures: a folder of class folders is learned and recognized; answers go with names" {
  run -0 nn-predict --score model test
  [[ $output == *$'accuracy 1\n'* ]]
  run -0 nn-predict --emit=class model test
  [ "${lines[0]}" = $'file\tclass' ]
  [ "${lines[1]}" = $'blue/00.png\tblue' ]
  [ "${lines[12]}" = $'red/03.png\tred' ]
  [ "${#lines[@]}" = 13 ]
  run -0 nn-predict --to=jsonl --emit=class model test/red
  [ "${lines[0]}" = '{"file":"00.png","class":"red"}' ]
  run -0 nn-predict --emit=class --to-header=no model test/green/01.png
  [ "$output" = $'test/green/01.png\tgreen' ]
  run -0 bash -c 'nn-predict --emit=class --to-header=no model - <test/green/01.png'
  [ "$output" = $'-\tgreen' ]
  nn-predict --info model | grep -q 'blue.*green.*red'
}

@test "pictures: a tar of class folders gives the model of the folders, from a file, a pipe, gzip" {
  nn-train -q -m "$net" --epochs=15 --lr=0.01 -o tarred folders.tar
  cmp model tarred
  cat folders.tar | nn-train -q -m "$net" --epochs=15 --lr=0.01 -o tarred -
  cmp model tarred
  gzip -c folders.tar >folders.tar.gz
  nn-train -q -m "$net" --epochs=15 --lr=0.01 --threads=3 -o tarred folders.tar.gz
  cmp model tarred
  nn-predict --emit=class model folders.tar | head -n 2 | grep -qx $'train/blue/00\tblue'
}

@test "pictures: shards: .cls and .json, several on a pipe, pax and GNU names, integers are class numbers" {
  nn-train -q -m "$net" --epochs=10 --lr=0.01 -o shard shard.tar
  cat a.tar b.tar | nn-train -q -m "$net" --epochs=10 --lr=0.01 -o joined -
  cmp shard joined
  run -0 nn-predict --score shard shard.tar
  [[ $output == *$'accuracy 1\n'*$'support.2 12\n'* ]]
  nn-predict --emit=class --to=npy shard shard.tar | tail -c 288 | od -An -td8 -v | tr -s ' ' '\n' | sed -n 2,5p | paste -sd, | grep -qx 0,1,2,0
  for form in pax gnu; do
    nn-train -q -m "$net" --epochs=1 -o "$form" "$form.tar"
    nn-predict --info "$form" | grep -q 'c0.*c1.*c2'
  done
  cmp pax gnu
}

@test "pictures: masks beside pictures: palettes and few grey levels are classes, stems match" {
  segment='conv2d 8 3x3 pad=1, relu, conv2d ? 1x1'
  nn-train -q -m "$segment" --epochs=60 --lr=0.03 -o masks.st images masks
  run -0 nn-predict --score=masks masks.st images
  [[ $output == *$'accuracy 1\n'* ]]
  [[ $output == *iou.2\ 1* ]]
  nn-train -q -m "$segment" --epochs=60 --lr=0.03 -o tarred.st masked.tar
  cmp masks.st tarred.st
  cp -r masks fewer
  rm fewer/4.png
  says 1 'nn-train: fewer: has nothing for 4 of images' nn-train -q -m "$segment" -o no images fewer
  cp masks/1.png fewer/4.png
  cp masks/1.png fewer/40.png
  says 1 'nn-train: fewer/40.png: has no picture in images' nn-train -q -m "$segment" -o no images fewer
  rm fewer/40.png fewer/9.png
  says 1 'nn-train: fewer: has nothing for 9 of images' nn-train -q -m "$segment" -o no images fewer
  says 1 'nn-train: fewer: has nothing for 9 of images' nn-train -q -m "$segment" -o no --valid=images,fewer images masks
}

@test "pictures: a plan reads as many masks as pictures, and says how many there are" {
  run -0 --separate-stderr nn-train -m 'conv2d 2 3x3 pad=1, relu, conv2d ? 1x1' --explain large large-masks
  [[ $output == *'samples: 300, '* ]]
}

@test "pictures: an autoencoder learns pictures as numbers" {
  nn-train -q -m 'flatten, dense 4, relu, dense 192' --loss=mse --steps=2 -o auto images images
  nn-predict --to=npy auto images | head -c 128 | grep -q "'shape': (10, 192)"
}

@test "pictures: JPEG" {
  nn-train -q -m 'dense ?' --steps=1 -o j jpeg 2>error.jpeg || grep -q 'nn-jpeg.so is not installed' error.jpeg
  [ ! -s error.jpeg ] || skip "built without libjpeg"
  run -0 nn-predict --emit=class j jpeg
  [[ ${lines[2]} == $'red/a.jpg\t'* ]]
  says 1 'nn-train: bad-cmyk/red/b.jpg: is CMYK (channels: 4), expected grey or RGB' nn-train -q -m 'dense ?' -o no bad-cmyk
  says 1 'nn-train: bad-greyjpeg/red/b.jpg: is grey (channels: 1), expected RGB (3)' nn-train -q -m 'dense ?' -o no bad-greyjpeg
  run -1 --separate-stderr nn-train -q -m 'dense ?' -o no bad-cutjpeg
  [[ $stderr == 'nn-train: bad-cutjpeg/red/b.jpg: the JPEG data are damaged ('*')' ]]
}

@test "pictures: CIFAR, binary, of 10 and of 100 classes" {
  for cifar in 'c10.bin 10' 'c100.bin 10'; do
    read -r file classes <<<"$cifar"
    nn-train -q -m 'flatten, dense ?' --steps=1 -o c "$file"
    nn-predict --emit=class c "$file" >out
    [ "$(wc -l <out)" = 21 ]
    nn-predict --info c | grep -q '3,32,32\|3x32x32'
    cat "$file" | nn-train -q -m 'flatten, dense ?' --steps=1 -o d -
    cmp c d
    [ "$(nn-predict --to-header=yes c "$file" | head -n 1 | tr , '\n' | wc -l)" = "$classes" ]
  done
  head -c 5000 c10.bin >half.bin
  run -1 nn-train -q -m 'flatten, dense ?' --steps=1 -o c half.bin
}

@test "pictures: what cannot be used is refused by name, in one line" {
  train() { nn-train -q -m 'dense ?' -o no "$@"; }
  export -f train
  says 1 'nn-train: bad-cut/red/b.png: the PNG data end early' train bad-cut
  run -1 --separate-stderr train bad-broken
  [[ $stderr == 'nn-train: bad-broken/red/b.png: the PNG data are damaged ('*')' && ${#stderr_lines[@]} = 1 ]]
  says 1 'nn-train: bad-empty/red/b.png: is empty, expected a PNG or JPEG picture' train bad-empty
  says 1 'nn-train: bad-text/red/b.png: looks like a text file, expected a PNG or JPEG picture' train bad-text
  says 1 'nn-train: bad-deep/red/b.png: has 16 bits a channel, expected 8' train bad-deep
  says 1 'nn-train: bad-alpha/red/b.png: is RGB with alpha (channels: 4), expected RGB (3)' train bad-alpha
  says 1 'nn-train: bad-grey/red/b.png: is grey (channels: 1), expected RGB (3)' train bad-grey
  says 1 'nn-train: bad-other/red/b.png: is 9x9 pixels, expected 8x8; pictures are not scaled' train bad-other
  says 1 'nn-train: bad-wide/red/b.png: is 30000 pixels wide and 30000 high, expected at most 16384 pixels (--limit=side=30000)' train bad-wide
  says 1 'nn-train: bad-wide/red/b.png: is 30000 pixels wide and 30000 high, expected at most 268435456 pixels in all (--limit=pixels=900000000)' \
    train --limit=side=30000 bad-wide
  run -1 --separate-stderr train --limit=member=1 bad-grey
  [[ $stderr == 'nn-train: bad-grey/red/a.png: has '*' bytes, expected at most 1 byte (--limit=member=1M)' ]]
  run -1 --separate-stderr train bad-flat
  [[ $stderr == 'nn-train: bad-flat/red/b.png: '* && ${#stderr_lines[@]} = 1 ]]
  says 1 'nn-train: lonely/0.png: has no label: it lies in no folder of a class, and no targets are given' train lonely
  says 1 'nn-train: one: has pictures and no columns, so --target=x is not in it; folders are classes, masks a folder of their own' \
    train --target=x one
  mkdir -p none
  says 1 'nn-train: none: has no file that is named .png, .jpg or .jpeg' train none
  says 1 'nn-train: one: samples are 3x1x1 (3 values), the input line says 4 (4)' nn-train -q -m 'input 4, dense ?' -o no one
  train --steps=1 one
  train --steps=1 palette
  says 1 'nn-predict: one/blue/a.png: is 1x1 pixels, expected 8x8; pictures are not scaled' nn-predict model one
  ln -sf nowhere one/red/link.png
  says 1 'nn-train: one/red/link.png: cannot open: No such file or directory' train one
  ln -sf /dev/zero one/red/link.png
  train --steps=1 one
}

@test "pictures: a class that is not UTF-8, of a folder or a .cls, is refused by its bytes before anything is trained" {
  mkdir -p latin/$'gr\xfcn'
  cp train/green/00.png latin/$'gr\xfcn'
  says 1 'nn-train: latin/gr\xFCn/00.png: label "gr\xFCn": byte 0xfc is not UTF-8' nn-train -q -m 'dense ?' -o latin.st latin
  tar cf latin.tar latin
  says 1 'nn-train: latin.tar: sample latin/gr\xFCn/00: label "gr\xFCn": byte 0xfc is not UTF-8' nn-train -q -m 'dense ?' -o latin.st latin.tar
  mkdir told
  cp train/green/00.png told/0.png
  printf 'blau\xff\n' >told/0.cls
  tar cf told.tar told
  says 1 'nn-train: told.tar: sample told/0: label "blau\xFF": byte 0xff is not UTF-8' nn-train -q -m 'dense ?' -o latin.st told.tar
  [ ! -e latin.st ]
  mv latin/gr* latin/grün
  nn-train -q -m 'dense 1' --steps=1 -o umlaut latin
  nn-predict --info umlaut | grep -q grün
}

@test "pictures: tars that are cut, damaged or sly" {
  train() { nn-train -q -m 'dense ?' -o no "$@"; }
  says 1 'nn-train: links.tar: member red/b.png is a link, expected a file' train links.tar
  says 1 'nn-train: dots.tar: member ../red/b.png has .. in its name' train dots.tar
  says 1 'nn-train: alone.tar: sample red/b: has no picture (.jpg, .jpeg or .png) and no array (.npy)' train alone.tar
  says 1 'nn-train: noend.tar: the tar ends early, without the zeros at its end' train noend.tar
  for cut in half headless huge; do
    run -1 --separate-stderr train "$cut.tar"
    [[ $stderr == "nn-train: $cut.tar: "* && ${#stderr_lines[@]} = 1 ]]
    run -1 --separate-stderr bash -c "cat $cut.tar | nn-train -q -m 'dense ?' -o no -"
    [[ $stderr == "nn-train: -: "* && ${#stderr_lines[@]} = 1 ]]
  done
  { head -c 600 folders.tar; printf x; tail -c +602 folders.tar; } >other.tar
  run -1 --separate-stderr train other.tar
  [[ $stderr == "nn-train: "* && ${#stderr_lines[@]} = 1 ]]
  { head -c 20 folders.tar; printf x; tail -c +22 folders.tar; } >sum.tar
  says 1 'nn-train: sum.tar: the tar is damaged: no header at byte 0' train sum.tar
}

@test "pictures: a bad one may be left out or marked" {
  run -0 --separate-stderr nn-predict --on-error=skip --emit=class model bad-deep
  [ "$output" = $'file\tclass\nred/a.png\tred' ]
  run -0 --separate-stderr nn-predict --on-error=mark --emit=class model bad-deep
  [ "${lines[2]}" = $'red/b.png\t' ]
}

@test "pictures: held-out rows, folds, ranks and --explain read folders too" {
  nn-train -q -m "$net" --epochs=1 --valid=test -o held train
  nn-train -q -m "$net" --epochs=1 --valid=0.25 -o held train
  run -0 nn-train -q -m "$net" --explain=json train
  [[ $output == *'"parameters"'* ]]
  . "$NN_SRC/tests/cli/ranks.bash"
  if [ -z "$(lacking_ranks)" ]; then
    allow_ranks
    nn-train -q -m "$net" --epochs=2 -o single train
    nn-train -q -m "$net" --epochs=2 --ranks=2 -o two train
    cmp single two
  fi
}

@test "pictures: arrays of a tar, .npy members, are rows as those of one array are, and .txt is the class" {
  array='flatten, dense 8, relu, dense ?'
  for rows in bytes floats; do
    nn-train -q -m "$array" --epochs=8 --lr=0.05 -o whole.st "$rows.npy" classes.npy
    nn-predict --to=npy whole.st "$rows.npy" >wanted
    for tar in "$rows.tar" "$rows-cls.tar"; do
      nn-train -q -m "$array" --epochs=8 --lr=0.05 -o tarred.st "$tar"
      nn-predict --to=npy tarred.st "$rows.npy" | cmp - wanted
      nn-predict --to=npy tarred.st "$tar" | cmp - wanted
      nn-predict --to=npy whole.st - <"$tar" | cmp - wanted
      nn-predict --score tarred.st "$tar" | cmp - <(nn-predict --score=classes.npy whole.st "$rows.npy")
    done
    nn-predict --info tarred.st | grep -q 2x3x4
    # they may stay in the tar, and are decoded ahead of the steps by any number of threads
    for memory in 1 1K; do
      nn-train -q -m "$array" --epochs=8 --lr=0.05 --threads=3 --input-memory="$memory" -o streamed.st "$rows.tar"
      cmp tarred.st streamed.st
      gzip -c "$rows.tar" | nn-train -q -m "$array" --epochs=8 --lr=0.05 --input-memory="$memory" -o streamed.st -
      cmp tarred.st streamed.st
    done
    run -0 nn-train -q -m "$array" --explain=json "$rows.tar"
    [[ $output == *'"parameters"'* ]]
  done
}

@test "pictures: .npy members may be categories, in memory or not, and targets of their own" {
  embedded='embedding 3, flatten, dense ?'
  nn-train -q -m "$embedded" --epochs=2 -o whole.st tokens.npy classes.npy
  nn-train -q -m "$embedded" --epochs=2 -o tarred.st tokens.tar
  nn-predict --to=npy whole.st tokens.npy >wanted
  nn-predict --to=npy tarred.st tokens.tar | cmp - wanted
  nn-train -q -m "$embedded" --epochs=2 --input-memory=1 -o streamed.st tokens.tar
  cmp tarred.st streamed.st
  says 1 'nn-train: tokens.tar: row 3, column 4: found 6, expected the number of a category, from 0 to 5' \
    nn-train -q -m 'embedding 3 rows=6, flatten, dense ?' --input-memory=1 -o no tokens.tar
  nn-train -q -m 'embedding 3, dense ?' --epochs=2 -o whole.st tokens.npy token-masks.npy
  nn-train -q -m 'embedding 3, dense ?' --epochs=2 -o tarred.st tokens.tar token-masks.tar
  nn-predict --to=npy whole.st tokens.npy >wanted
  nn-predict --to=npy tarred.st tokens.tar | cmp - wanted
  nn-predict --score=token-masks.tar tarred.st tokens.tar | cmp - <(nn-predict --score=token-masks.npy whole.st tokens.npy)
  # pictures, too: their bytes are the numbers
  nn-train -q -m "$embedded" --steps=2 -o whole.st test
  nn-train -q -m "$embedded" --steps=2 --input-memory=1 -o streamed.st test
  cmp whole.st streamed.st
  nn-train -q -m "$embedded" --steps=2 -o narrow.st one
  says 1 'nn-predict: loud/red/a.png: row 1, column 2: found 9, expected the number of a category, from 0 to 3' \
    nn-predict narrow.st loud
}

@test "pictures: of bytes in .npy members the scale is that of pictures, numbers are taken as they are" {
  nn-train -q -m 'flatten, dense ?' --steps=1 -o scaled.st bytes.tar
  nn-predict --info scaled.st | grep -q 0.00392
  nn-train -q -m 'flatten, dense ?' --steps=1 -o plain.st floats.tar
  run ! grep -q 0.00392 <(nn-predict --info plain.st)
  nn-predict --to=npy scaled.st floats.npy >wanted
  nn-predict --to=npy scaled.st floats.tar | cmp - wanted
  nn-train -q -m 'dense ?' --normalize=standard --steps=1 -o standard.st words.tar
  nn-train -q -m 'dense ?' --normalize=standard --input-memory=1 --steps=1 -o streamed.st words.tar
  cmp standard.st streamed.st
}

@test "pictures: .txt is a label where it is asked for one, and an .npy beside a picture is left out" {
  nn-train -q -m 'dense ?' --steps=1 -o words.st words.tar
  nn-predict --emit=class words.st words.tar | sed -n 1p | grep -qx $'file\tclass'
  nn-predict --info words.st | grep -q 'c0.*c1'
  nn-train -q -m 'flatten, dense ?' --steps=1 -o beside.st beside.tar
  nn-predict --info beside.st | grep -q 'u.*v'
  nn-predict --info beside.st | grep -q 3x8x8
  [ "$(nn-predict --emit=class --to-header=no beside.st beside.tar | cut -f1 | paste -sd,)" = a/1,a/2 ]
  nn-predict words.st longlabel.tar >/dev/null
  nn-predict words.st nolabel.tar >/dev/null
  says 1 'nn-train: nolabel.tar: sample 1: its .txt has no label, expected the name or number of a class' \
    nn-train -q -m 'dense ?' -o no nolabel.tar
  says 1 'nn-train: longlabel.tar: sample 1: its .txt has a label of over 256 bytes (a fixed limit), expected the name or number of a class' \
    nn-train -q -m 'dense ?' -o no longlabel.tar
}

@test "pictures: .npy members that are bad are refused by sample, in training, streamed, and in prediction" {
  nn-train -q -m 'dense ?' --steps=1 -o few.st few.tar
  while IFS='|' read -r name text; do
    for option in --steps=9 '--steps=9 --input-memory=1'; do
      # shellcheck disable=SC2086
      says 1 "nn-train: $name.tar: sample 2: $text" nn-train -q -m 'dense ?' -o no $option "$name.tar"
    done
    says 1 "nn-predict: $name.tar: sample 2: $text" nn-predict few.st "$name.tar"
  done <<'END'
array-cut|ends early: the .npy header promises 16 bytes of data, found 14
array-long|other bytes follow the array
array-shape|is 5 of f32, expected 4 of f32 as the first sample
array-type|is 4 of f64, expected 4 of f32 as the first sample
array-nan|row 1, column 3: found nan, expected a finite number
array-lying|ends early: the .npy header promises 4611686018427387904 bytes of data, found 0
array-none|the array has no values
array-deep|found 8 dimensions, expected at most 7 in a sample (a fixed limit)
array-text|expected an .npy array, found other bytes
array-empty|its .npy is empty
END
  run -1 --separate-stderr nn-train -q -m 'dense ?' -o no array-objects.tar
  [[ $stderr == 'nn-train: array-objects.tar: sample 2: holds Python objects, '* && ${#stderr_lines[@]} = 1 ]]
  says 1 'nn-train: array-picture.tar: sample 2: is a picture, expected an array (.npy) as the first sample' \
    nn-train -q -m 'dense ?' -o no array-picture.tar
  says 1 'nn-train: picture-array.tar: sample 2: is an array (.npy), expected a picture as the first sample' \
    nn-train -q -m 'dense ?' -o no picture-array.tar
  says 1 'nn-train: first.tar: sample 1: ends early: the .npy header promises 4611686018427387904 bytes of data, found 0' \
    nn-train -q -m 'dense ?' -o no first.tar
  run -0 --separate-stderr nn-predict --on-error=skip --emit=class --to-header=no few.st array-nan.tar
  [ "${#lines[@]}" = 1 ]
  says 1 'nn-predict: bytes.tar: sample 0000: is 2x3x4 (24 values), the model wants 4' nn-predict few.st bytes.tar
}

@test "pictures: hidden files of a tar are left out, as those of a folder are" {
  nn-train -q -m "$net" --epochs=15 --lr=0.01 -o unseen hidden.tar
  cmp model unseen
}
