# The pages of the manual, those of the model language and of its layers above all.
bats_require_minimum_version 1.5.0

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

@test "man: no page has a table wider than 80 columns or words that run together" {
	man -l "$(page nn-model.5)" >/dev/null 2>&1 || skip "man is not installed"
	for page in nn-train.1 nn-predict.1 nn-bench.1 nn-allreduce.1 nn-serve.1 nn.3 nn-model.5 nn-data.5 nn-layers.7 nntools.7; do
		[ -e "$(page $page)" ] || continue # a tool that is not built here
		MANWIDTH=80 run -0 --separate-stderr man -l "$(page $page)"
		[ -z "$stderr" ] || { echo "$page: $stderr"; false; }
		! grep -nE '^\.(RB|BR|RI|IR|BI|IB) [^"]*[)a-z], [a-z]|^\.(IR|BR)( [^" ]+)* , ' "$(page $page)" || { echo "$page"; false; }
		# words outside of quotes are arguments, which stand without blanks between them
		! sed -E 's/"[^"]*"//g' "$(page $page)" | grep -nE '^\.(RB|BR|RI|IR|BI|IB) (.* )?(\\f[RP])?(and|or|of|in|see|is)( |\\f|$)' ||
			{ echo "$page"; false; }
	done
}
