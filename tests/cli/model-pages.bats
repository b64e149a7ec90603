# The pages of the model language and of its layers.

layers() {
	sed "/activations\.def/r $NN_SRC/lib/op/activations.def" "$NN_SRC/lib/model/layers.def" |
		sed -n 's/^NN_LAYER(\(.*\))$/\1/p; s/^NN_ACTIVATION([A-Z_]*, \([a-z_]*\),.*/\1/p' | tr _ -
}

page() {
	if [ -e "$NN_BUILD/man/$1" ]; then echo "$NN_BUILD/man/$1"; else echo "$NN_SRC/man/$1"; fi
}

@test "man: nn-layers(7) has every layer of the table, in its order" {
	diff <(layers) <(sed -n '/^\.SH LAYERS/,/^\.SH INITIAL/s/^\.SS //p' "$(page nn-layers.7)" | sed 's/\\-/-/g')
}

@test "man: nn-model(5) and nn-layers(7) are well-formed" {
	command -v mandoc >/dev/null || skip "mandoc is not installed"
	for page in "$(page nn-model.5)" "$(page nn-layers.7)"; do
		run mandoc -T lint -W warning "$page"
		[ -z "$(grep -v 'missing date' <<<"$output")" ]
	done
}
