#!/usr/bin/env bats
# The networks of share/examples: the command of each one's first lines does what it says, on a few rows.

setup() {
	cd "$BATS_TEST_TMPDIR"
	example=$NN_SRC/share/examples
}

# array FILE SHAPE EXPRESSION: a .npy of f32 or, where the name begins with y, of u8; i is the number of the value
array() {
	"${NN_PYTHON:-python3}" - "$@" <<-'EOF'
		import struct, sys
		path, shape, rule = sys.argv[1], eval(sys.argv[2]), compile(sys.argv[3], "rule", "eval")
		n = 1
		for d in shape:
		    n *= d
		kind = "|u1" if path.startswith("y") else "<f4"
		head = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
		head += " " * (-(len(head) + 11) % 64) + "\n"
		values = [eval(rule, {"i": i}) for i in range(n)]
		with open(path, "wb") as f:
		    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
		    f.write(bytes(values) if kind == "|u1" else struct.pack(f"<{n}f", *values))
	EOF
}

# run_header NET [OPTION]...: the first training of its first lines, or the one of number `training`
run_header() {
	local command
	command=$(sed -n 's/^#  *\(nn-train .*\)$/\1/p' "$example/$1.nn" | sed -n "${training-1}p")
	[[ $command == "nn-train -m $1."* ]]
	cp "$example/$1.nn" .
	# shellcheck disable=SC2086
	$command -q "${@:2}"
}

metric() { # NAME: of the last evaluation in the log
	sed -n "s/.*\"$1\":\\([-0-9.e]*\\).*/\\1/p" log | tail -n 1
}

@test "share/examples/unet.nn: a class for each pixel" {
	array x.npy '(8, 3, 96, 96)' '(i * i // 97 % 7) / 6'
	array y.npy '(8, 96, 96)' 'i // 13 % 3'
	run_header unet --batch=4 --epochs=1
	nn-predict --emit=class --to=npy -o classes.npy unet.safetensors x.npy
	[ "$(stat -c %s classes.npy)" -gt $((8 * 96 * 96)) ]
}

@test "share/examples/unet.nn: learns what a pixel's neighbours say" {
	sed 's/96x96/16x16/; s/\<16 /8 /; s/\<\(32\|64\|128\) /12 /' "$example/unet.nn" >small.nn
	array x.npy '(24, 3, 16, 16)' '(i * 7919 // 64 % 5 > 2) * 1.0'
	array y.npy '(24, 16, 16)' '(i // 256 * 768 + i % 256) * 7919 // 64 % 5 > 2'
	nn-train -q -m small.nn --epochs=30 --batch=8 --lr=0.01 --valid=x.npy,y.npy --log=log x.npy y.npy -o m.safetensors
	awk -v accuracy="$(metric accuracy)" 'BEGIN { exit !(accuracy > 0.9) }'
}

# pictures FOLDER N CHANNELS EXPRESSION: PNG of 240 x 180; i is the number of the byte, n of the picture
pictures() {
	mkdir "$1"
	"${NN_PYTHON:-python3}" - "$@" <<-'EOF'
		import struct, sys, zlib
		folder, n, channels, rule = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), compile(sys.argv[4], "rule", "eval")
		def chunk(kind, data):
		    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
		for k in range(n):
		    row = bytes([eval(rule, {"i": i, "n": k}) for i in range(240 * channels)])
		    head = struct.pack(">IIBBBBB", 240, 180, 8, 2 if channels == 3 else 0, 0, 0, 0)
		    with open(f"{folder}/{k}.png", "wb") as f:
		        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress((b"\0" + row) * 180)) + chunk(b"IEND", b""))
	EOF
}

@test "share/examples/camvid.nn: pictures in one folder, masks in another, masks written" {
	[ -e "$NN_BUILD/lib/nn-png.so" ] || [ -e "$NN_BUILD/lib/.libs/nn-png.so" ] || skip "libpng was not there"
	pictures train 4 3 'i * 5 % 256'
	pictures trainannot 4 1 'i // 20'
	run_header camvid --epochs=1
	training=2 run_header camvid --epochs=1
	nn-predict --to=png -o masks finer.safetensors train
	[ "$(find masks -name '*.png' | wc -l)" = 4 ]
	nn-predict --score=masks finer.safetensors train | grep -qx 'accuracy 1'
}

@test "share/examples/fcn.nn: a class for each pixel" {
	array x.npy '(4, 3, 64, 64)' '(i * i // 97 % 7) / 6'
	array y.npy '(4, 64, 64)' 'i // 13 % 3'
	run_header fcn --batch=4 --epochs=1
}

@test "share/examples/encoder.nn: the last step of a row says what its first one was" {
	awk 'BEGIN {
		for (i = 0; i < 400; i++) {
			printf "{\"x\":["
			for (k = 0; k <= i * 7 % 12; k++) printf "%s[%.3f,%.3f]", k ? "," : "", sin(i * 3.7 + k * k), k / 12
			printf "],\"y\":\"%s\"}\n", (sin(i * 3.7) > 0 ? "up" : "down")
		}
	}' >rows.jsonl
	run_header encoder --log=log
	awk -v accuracy="$(metric accuracy)" 'BEGIN { exit !(accuracy > 0.8) }'
	[ "$(nn-predict encoder.safetensors rows.jsonl | wc -l)" = 400 ]
}

@test "share/examples/vgg.nn and inception.nn: pictures of 3x32x32" {
	array x.npy '(24, 3, 32, 32)' '(i * i // 97 % 7) / 6'
	array y.npy '(24,)' 'i % 10'
	for net in vgg inception; do
		run_header $net --batch=12 --epochs=2 --log=log
		nn-predict --emit=class --to=csv --to-header=no $net.safetensors x.npy >classes
		[ "$(wc -l <classes)" = 24 ]
	done
}

@test "share/examples/autoencoder.nn: gives pictures back" {
	array x.npy '(64, 1, 28, 28)' '(i // 784 % 4 * 7 <= i % 28 < i // 784 % 4 * 7 + 7) * 1.0'
	array flat.npy '(64, 784)' '(i // 784 % 4 * 7 <= i % 28 < i // 784 % 4 * 7 + 7) * 1.0'
	run_header autoencoder --epochs=25 --batch=16 --lr=0.003 --log=log
	nn-predict --emit=probs --to=csv --to-header=no autoencoder.safetensors x.npy | head -n 1 >first
	awk -F, '{ for (i = 1; i <= 784; i++) wrong += ($i > 0.5) != ((i - 1) % 28 < 7); exit !(NF == 784 && wrong < 40) }' first
}

@test "share/examples/two-outputs.nn: a class and a number" {
	awk 'BEGIN { srand(3); print "a,b,c,kind,price"
		for (i = 0; i < 200; i++) { a = rand(); b = rand(); c = rand()
			printf "%.4f,%.4f,%.4f,%s,%.4f\n", a, b, c, (a > b ? "more" : "less"), 10 + a - 2 * c } }' >table.csv
	run_header two-outputs --epochs=60
	cut -d, -f1-3 table.csv >more.csv
	nn-predict --output-name=price --to-header=no two.safetensors more.csv >prices
	paste -d, prices <(tail -n +2 table.csv) | awk -F, '{ e += ($1 - $6) ^ 2 } END { exit !(e / NR < 0.05) }'
}
