/*
 * Records of CSV and TSV (RFC 4180): lines, quotes and fields, before anybody asks what they mean.
 */
#ifndef NN_DATA_CSV_H
#define NN_DATA_CSV_H

#include <stdbool.h>
#include <stdint.h>
#include "file/input.h"

struct nn_field {
	const char *text; /* unquoted, not terminated */
	size_t length;
};

struct nn_csv {
	struct nn_input *input;  /* borrowed */
	char separator;          /* as given, else told from the first record; 0 before it */
	bool told;               /* the first record was read */
	bool unusual;            /* the one given is not what the first record tells */
	uint64_t line;           /* physical line of the record that comes next, from 1 */
	uint64_t blank, n_blank; /* blank lines that wait to become an error: the first, how many */
	bool started;
	bool comments; /* of LIBSVM: lines that begin with # are passed over, as blank ones are */
	const char
		*clean; /* bytes before it have nothing that nn_csv_scan finds; NULL: not known */
	struct nn_block tail;     /* a last line without a newline */
	struct nn_block unquoted; /* fields that had doubled quotes */
	size_t n_unquoted;
	struct nn_block fields;
};

/*
 * One record: text[length] is not a digit and NN_LINE_PAD bytes from there may be read; valid until
 * the next call.
 */
struct nn_record {
	const char *text;
	size_t length;
	uint64_t line; /* where it begins */
	bool quoted;   /* has quotes: fields come from nn_csv_split only */
};

void nn_csv_init(struct nn_csv *csv, struct nn_input *input);
void nn_csv_fini(struct nn_csv *csv);
int nn_csv_too_long(const struct nn_csv *csv, struct nn_error *err); /* the line that comes next */
/*
 * The next record. 1: it is there; 0: end; -1: reading cannot go on; 2: this record is bad (a blank
 * line before others, a lone CR, a NUL, not UTF-8): *err says why and the one after it can be had.
 */
int nn_csv_next(struct nn_csv *csv, struct nn_record *record, struct nn_error *err);
/* Copy the text of a record to where it stays until the file's last record is read. */
int nn_csv_keep(struct nn_csv *csv, struct nn_record *record, struct nn_error *err);
/* Can nn_csv_next answer without waiting for the other end of a pipe? -1: error. */
int nn_csv_ready(struct nn_csv *csv, struct nn_error *err);
/*
 * All fields of a record, with blanks around them or without; valid until the next call. Errors are
 * those of this record alone.
 */
int nn_csv_split(struct nn_csv *csv, const struct nn_record *record, bool blanks,
		 const struct nn_field **fields, size_t *n, struct nn_error *err);
/*
 * One field after the other: begin, then the field at byte *at (0 at first) of the record, its
 * column from 0, without blanks around it unless they were quoted; *at is left at its separator or
 * at the record's end. Fields are valid until the next begin, or until the next record.
 */
int nn_csv_begin(struct nn_csv *csv, const struct nn_record *record, struct nn_error *err);
int nn_csv_field(struct nn_csv *csv, const struct nn_record *record, size_t column, size_t *at,
		 struct nn_field *field, struct nn_error *err);
/* NN_EFORMAT: field `column` of record, from 0, has `length` bytes, more than its limit. */
int nn_csv_field_too_long(const struct nn_csv *csv, const struct nn_record *record, size_t column,
			  size_t length, struct nn_error *err);
/* "FILE:LINE" of a record that spans lines: where field i begins. */
uint64_t nn_csv_field_line(const struct nn_csv *csv, const struct nn_record *record, size_t field);

#endif
