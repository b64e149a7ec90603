# share: example data and models
digitsdir = $(pkgdatadir)/data
dist_digits_DATA = share/data/digits.csv.gz share/data/README
EXTRA_DIST += share/demo.sh

examplesdir = $(pkgdatadir)/examples
dist_examples_DATA = share/examples/cifar-cnn.nn share/examples/digits.nn share/examples/lenet.nn \
	share/examples/mlp.nn share/examples/resnet8.nn share/examples/predict.c
