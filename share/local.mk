# share: example data and models
digitsdir = $(pkgdatadir)/data
dist_digits_DATA = share/data/digits.csv.gz share/data/README
EXTRA_DIST += share/demo.sh
