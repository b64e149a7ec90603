#!/usr/bin/env bats
# .npz: named arrays in zip files, as weights, as data and for nn-allreduce; and zip files that are none.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0
load ranks.bash

# py CODE: Python with npy(), npz() of arrays, and z(BYTES of a.npz) to change
py() {
  python3 - <<PYTHON
import struct, zipfile
def npy(kind, pack, shape, values):
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }" % (kind, "".join("%d," % d for d in shape))
    head += " " * (63 - (len(head) + 10) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack("<%d%s" % (len(values), pack), *values)
def npz(name, members, method=zipfile.ZIP_STORED, zip64=False):
    with zipfile.ZipFile(name, "w", method) as z:
        for n, data in members:
            with z.open(n + ".npy", "w", force_zip64=zip64) as f:
                f.write(data)
W = npy("<f4", "f", [2, 3], [1, 2, 3, -1, 0.5, 0.25]); K = npy("<f4", "f", [3, 2], [1, -1, 2, 0.5, 3, 0.25])
b = npy("<f4", "f", [2], [10, 20])
x = npy("<f4", "f", [12, 3], [i / 4 for i in range(36)]); y = npy("<i8", "q", [12], [i % 3 for i in range(12)])
$1
PYTHON
}

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return
  py '
npz("a.npz", [("w", W), ("b", b)])
npz("deflated.npz", [("w", W), ("b", b)], zipfile.ZIP_DEFLATED)
npz("zip64.npz", [("w", W), ("b", b)], zipfile.ZIP_DEFLATED, True)
npz("other.npz", [("b", npy("<f4", "f", [2], [30, 0])), ("w", npy("<f4", "f", [2, 3], [3, 2, 1, 1, 1.5, 0.75]))])
npz("mean.npz", [("b", npy("<f4", "f", [2], [20, 10])), ("w", npy("<f4", "f", [2, 3], [2, 2, 2, 0, 1, 0.5]))])
npz("weights.npz", [("0.weight", W), ("0.bias", b)])
npz("kernels.npz", [("0.kernel", K), ("0.bias", b)], zipfile.ZIP_DEFLATED)
npz("xy.npz", [("y", y), ("x", x), ("z", b)])
npz("one.npz", [("data", x)])
open("x.npy", "wb").write(x); open("y.npy", "wb").write(y)
'
}

setup() {
  cd "$BATS_FILE_TMPDIR" || return
}

# refused MESSAGE FILE: nn-allreduce says it, status 1
refused() {
  run -1 --separate-stderr nn-allreduce "$2" a.npz -o out.npz
  [ "$stderr" = "nn-allreduce: $1" ] || { echo "$stderr"; return 1; }
  [ ! -e out.npz ]
}

@test "npz: nn-allreduce reduces by name; stored, deflated and zip64 are the same arrays; a zip program reads the result" {
  nn-allreduce a.npz other.npz -o out.npz
  for f in deflated zip64; do
    nn-allreduce $f.npz other.npz | cmp - out.npz
    nn-allreduce - other.npz <$f.npz | cmp - out.npz
  done
  py '
with zipfile.ZipFile("out.npz") as z:
    assert z.testzip() is None and z.namelist() == ["b.npy", "w.npy"], z.namelist()
    for n in z.namelist():
        data, want = z.read(n), zipfile.ZipFile("mean.npz").read(n)
        assert data[-24:] == want[-24:] or data[-8:] == want[-8:] and n == "b.npy"
    assert all(i.date_time == (1980, 1, 1, 0, 0, 0) and i.compress_type == 0 for i in z.infolist())
'
  nn-allreduce a.npz other.npz -o again.npz
  cmp out.npz again.npz
  rm out.npz again.npz
}

@test "npz: what disagrees is named" {
  py 'npz("names.npz", [("w", W), ("c", b)]); npz("shape.npz", [("w", K), ("b", b)])'
  refused 'a.npz: tensor "b" is not in names.npz' names.npz
  run -1 --separate-stderr nn-allreduce a.npz shape.npz
  [ "$stderr" = 'nn-allreduce: shape.npz: tensor "w": found shape 3x2, expected 2x3 as in a.npz' ]
  refused 'a.npz: is .npz, x.npy is .npy' x.npy
}

@test "npz: ranks reduce by name, too" {
  lacking=$(lacking_ranks | head -n 1)
  [ -z "$lacking" ] || skip "$lacking"
  allow_ranks
  cp a.npz r0.npz
  cp other.npz r1.npz
  nn-allreduce a.npz other.npz -o files.npz
  nn-allreduce --ranks=2 'r%r.npz' -o ranks.npz
  cmp files.npz ranks.npz
  cp x.npy r1.npz
  run -1 --separate-stderr nn-allreduce --ranks=2 'r%r.npz' -o ranks.npz
  [ "$stderr" = "nn-allreduce: r1.npz: is .npy, r0.npz is .npz" ]
  cmp files.npz ranks.npz
}

@test "npz: weights of nn-predict -m TEXT, by weight and by kernel" {
  printf 'a,b,c\n1,0,0\n1,2,4\n' >rows.csv
  run -0 --separate-stderr nn-predict -m 'input 3, dense 2' weights.npz rows.csv
  [ "$output" = "$(nn-predict -m 'input 3, dense 2' kernels.npz rows.csv)" ]
  [ "$(tail -n 1 <<<"$output")" = "27,21" ] || [ "$(tail -n 1 <<<"$output")" = "27,21.0" ]
}

@test "npz: data of nn-train and nn-predict: x and y, or the only one" {
  train() { nn-train -q -m 'dense 4, relu, dense ?' --steps=5 "$@"; }
  train x.npy y.npy -o npy.st
  train xy.npz -o npz.st
  cmp npy.st npz.st
  train one.npz y.npy -o one.st
  cmp npy.st one.st
  gzip -c xy.npz | train - -o piped.st
  cmp npy.st piped.st
  nn-predict npy.st x.npy >want
  nn-predict npy.st xy.npz | cmp - want
  [ "$(nn-predict --score npy.st xy.npz)" = "$(nn-predict --score=y.npy npy.st x.npy)" ]
  run -0 --separate-stderr nn-train --explain -m 'dense 4, relu, dense ?' xy.npz
  py 'npz("ab.npz", [("a", x), ("b", y)])'
  run -1 --separate-stderr train ab.npz -o no.st
  [[ "$stderr" == "nn-train: ab.npz: "*a*b* ]]
}

@test "npz: zip files that are no .npz are refused by what is wrong" {
  py '
with zipfile.ZipFile("model.zip", "w") as z: z.writestr("archive/data.pkl", b"x")
with zipfile.ZipFile("twice.zip", "w") as z:
    import warnings; warnings.simplefilter("ignore")
    z.writestr("w.npy", W); z.writestr("w.npy", W)
with zipfile.ZipFile("bzip.zip", "w", zipfile.ZIP_BZIP2) as z: z.writestr("w.npy", W)
with zipfile.ZipFile("short.zip", "w") as z: z.writestr("w.npy", W[:-1])
with zipfile.ZipFile("hollow.zip", "w") as z: z.writestr("w.npy", b"")
with zipfile.ZipFile("nul.zip", "w") as z: z.writestr("w.npy", W)
def change(name, edit, source="a.npz"):
    data = bytearray(open(source, "rb").read()); edit(data); open(name, "wb").write(data)
central = lambda d: d.index(b"PK\1\2")
def put(d, at, code, value): d[at:at + struct.calcsize(code)] = struct.pack("<" + code, value)
change("crc.zip", lambda d: put(d, d.index(b"PK\1\2") - 1, "B", 77))
change("secret.zip", lambda d: put(d, central(d) + 8, "H", 1))
change("cut.zip", lambda d: d.__delitem__(slice(len(d) - 30, None)))
change("long.zip", lambda d: (put(d, central(d) + 20, "I", 1 << 30), put(d, central(d) + 24, "I", 1 << 30)))
change("bomb.zip", lambda d: put(d, central(d) + 24, "I", 0xfffffff0), "deflated.npz")
change("less.zip", lambda d: put(d, central(d) + 24, "I", 10), "deflated.npz")
change("rename.zip", lambda d: put(d, d.index(b"w.npy"), "B", 118))
def overlap(d):                # w lies where it lay, b begins inside of it, under a name of its own
    inside = bytearray(b"PK\3\4" + bytes(22) + struct.pack("<HH", 5, 0) + b"b.npy")
    at = d.index(b"w.npy") + 5 + 60
    d[at:at + len(inside)] = inside
    put(d, d.rindex(b"PK\1\2") + 42, "I", at)
    put(d, d.rindex(b"PK\1\2") + 20, "I", 220); put(d, d.rindex(b"PK\1\2") + 24, "I", 220)
    w = zipfile.crc32(bytes(d[d.index(b"w.npy") + 5:d.index(b"w.npy") + 5 + 152]))
    put(d, central(d) + 16, "I", w)
change("overlap.zip", overlap)
'
  refused "model.zip: member 'archive/data.pkl' is not an .npy array: the file is not an .npz" model.zip
  refused "twice.zip: member 'w.npy' is there twice" twice.zip
  refused "bzip.zip: member 'w.npy' is compressed by method 12, expected stored or deflated" bzip.zip
  refused "short.zip: w.npy: the array ends early: expected 24 bytes, found 23" short.zip
  refused "hollow.zip: w.npy: is empty, expected an .npy array" hollow.zip
  refused "crc.zip: b.npy: is damaged: its checksum is wrong" crc.zip
  refused "secret.zip: member 'w.npy' is encrypted" secret.zip
  refused "cut.zip: the zip data end early: their directory is missing" cut.zip
  refused "long.zip: member 'w.npy' of 1073741824 bytes ends early" long.zip
  refused "bomb.zip: w.npy: promises 4294967280 bytes in $(py 'print(zipfile.ZipFile("deflated.npz").getinfo("w.npy").compress_size)'), more than deflate can" bomb.zip
  refused "less.zip: w.npy: its deflated data are damaged" less.zip
  refused "rename.zip: member 'w.npy' has another name before its data" rename.zip
  refused "overlap.zip: member 'b.npy' overlaps another one" overlap.zip
}

@test "npz: a member longer than its header says is refused by the header, before it is inflated" {
  py '
head = W[:128].replace(b"(2,3,)", b"(8,)  ")
npz("long.npz", [("x", head + bytes(20000000)), ("y", y)], zipfile.ZIP_DEFLATED)
data = bytearray(open("long.npz", "rb").read())
at = data.rindex(b"PK\x01\x02", 0, data.rindex(b"PK\x01\x02"))
data[at + 16] ^= 255  # so that a reader that went to the end would find the checksum wrong
open("long.npz", "wb").write(data)'
  run -1 --separate-stderr nn-train -q -m 'dense ?' long.npz -o no.st
  [ "$stderr" = "nn-train: long.npz: x.npy: holds 20000000 bytes of data, its .npy header promises 32" ]
}
