/*
 * Option tables: what a command line, a file and the environment may say, and the sentence for each
 * mistake.
 */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/option.h"
#include "base/text.h"
#include "tap.h"

struct values {
	const char *name, *kind, *explain;
	uint64_t epochs, memory;
	double lr, limit;
	int loss;
	bool nesterov, shuffle;
};

#define AT(member) offsetof(struct values, member)

static const char *const losses[] = { "cross-entropy", "mse", "huber", NULL };

static int check_kind(const char *value, struct nn_error *err)
{
	char quoted[NN_QUOTED];

	if (strcmp(value, "a") == 0 || strcmp(value, "b") == 0)
		return 0;
	return nn_fail(err, NN_EUSAGE, "--kind=%s: expected a or b",
		       nn_quote(quoted, value, strlen(value)));
}

static const struct nn_opt rows[] = {
	{ .name = "name",
	  .letter = 'm',
	  .type = NN_OPT_STRING,
	  .offset = AT(name),
	  .arg = "TEXT",
	  .help = "a name" },
	{ .name = "kind",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(kind),
	  .arg = "a|b",
	  .fallback = "a",
	  .check = check_kind,
	  .help = "a kind" },
	{ .name = "explain",
	  .type = NN_OPT_STRING,
	  .offset = AT(explain),
	  .arg = "json",
	  .optional_arg = true,
	  .help = "explain" },
	{ .name = "epochs",
	  .letter = 'e',
	  .type = NN_OPT_COUNT,
	  .offset = AT(epochs),
	  .arg = "N",
	  .fallback = "10",
	  .min = 1,
	  .max = 1000,
	  .help = "passes" },
	{ .name = "memory",
	  .type = NN_OPT_SIZE,
	  .offset = AT(memory),
	  .arg = "SIZE",
	  .help = "bytes" },
	{ .name = "lr",
	  .type = NN_OPT_REAL,
	  .offset = AT(lr),
	  .arg = "X",
	  .fallback = "0.001",
	  .max = 10,
	  .help = "learning rate" },
	{ .name = "time-limit",
	  .type = NN_OPT_SECONDS,
	  .offset = AT(limit),
	  .arg = "SECONDS",
	  .help = "time" },
	{ .name = "loss",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(loss),
	  .arg = "LOSS",
	  .fallback = "mse",
	  .choices = losses,
	  .help = "loss; it's [one] of several: a choice" },
	{ .name = "nesterov",
	  .letter = 'n',
	  .type = NN_OPT_FLAG,
	  .offset = AT(nesterov),
	  .help = "look ahead" },
	{ .name = "shuffle",
	  .type = NN_OPT_YESNO,
	  .offset = AT(shuffle),
	  .arg = "yes|no",
	  .fallback = "yes",
	  .help = "draw" },
	{ .name = NULL },
};

static struct values v;
static struct nn_std_options std;
static uint64_t given[2];
static const struct nn_opt_table tables[] = {
	{ "Own", rows, &v, &given[0] },
	{ "Standard", nn_std_opts, &std, &given[1] },
	{ NULL, NULL, NULL, NULL },
};
static const struct nn_opt_list list = {
	.tool = "nn-test",
	.usage = "nn-test [OPTION]... FILE",
	.brief = "Test options.",
	.tables = tables,
};

/*
 * Strings of files belong to the process, which frees none of them: here they stay in sight of leak
 * checkers.
 */
static const char *volatile kept[1000];
static size_t n_kept;

static void keep(const char *string)
{
	if (string && n_kept < sizeof kept / sizeof *kept)
		kept[n_kept++] = string;
}

#define MOST 12
static char *words[MOST + 2];
static int n_operands;
static struct nn_error err;

/* Parse a line of words that a blank separates; ~ stands for a blank inside a word. */
static int parse(const char *line)
{
	static char copy[1000];
	int argc = 1;
	bool done;

	keep(v.name);
	keep(v.kind);
	keep(v.explain);
	keep(std.device);
	snprintf(copy, sizeof copy, "%s", line);
	memset(&v, 0, sizeof v);
	memset(&std, 0, sizeof std);
	memset(&err, 0, sizeof err);
	words[0] = copy + sizeof copy - 1;
	for (char *word = strtok(copy, " "); word && argc < MOST; word = strtok(NULL, " ")) {
		for (char *s = word; *s; s++)
			if (*s == '~')
				*s = ' ';
		words[argc++] = word;
	}
	words[argc] = NULL;
	return nn_opt_parse(&list, argc, words, &n_operands, &done, &err);
}

static void fails(const char *line, enum nn_code code, const char *want)
{
	int status = parse(line);

	if (!ok(status == -1 && err.code == code && strcmp(err.text, want) == 0, "option: %s",
		want))
		note("%d, code %d: %s", status, (int)err.code, err.text);
}

static void takes(const char *line, bool (*holds)(void), const char *claim)
{
	int status = parse(line);

	if (!ok(status == 0 && holds(), "option: %s", claim))
		note("%d: %s", status, err.text);
}

static bool defaults(void)
{
	return !v.name && strcmp(v.kind, "a") == 0 && v.epochs == 10 && v.lr == 0.001 &&
	       v.loss == 1 && !v.nesterov && v.shuffle && std.seed == 1 && std.threads == 0 &&
	       strcmp(std.device, "cpu") == 0 && std.reproducible && n_operands == 0 &&
	       !nn_opt_given(&list, "lr");
}

static bool all_kinds(void)
{
	return strcmp(v.name, "x y") == 0 && v.epochs == 3 && v.memory == 2048 && v.lr == 0.5 &&
	       v.limit == 90 && v.loss == 2 && v.nesterov && !v.shuffle &&
	       nn_opt_given(&list, "lr") && !nn_opt_given(&list, "kind");
}

static bool last_wins(void)
{
	return v.epochs == 7 && v.shuffle && v.lr == 2;
}

static bool operands(void)
{
	return n_operands == 4 && strcmp(words[1], "a") == 0 && strcmp(words[2], "-") == 0 &&
	       strcmp(words[3], "--lr") == 0 && strcmp(words[4], "-q") == 0 && std.quiet &&
	       v.epochs == 5;
}

static bool clustered(void)
{
	return v.nesterov && std.quiet && v.epochs == 4 && std.verbose == 2 &&
	       strcmp(v.name, "-e") == 0;
}

static bool abbreviated(void)
{
	return v.epochs == 2 && v.limit == 1.5 && v.nesterov;
}

static bool bare(void)
{
	return !v.explain && nn_opt_given(&list, "explain");
}

static bool with_value(void)
{
	return v.explain && strcmp(v.explain, "json") == 0 && n_operands == 1;
}

static void command_lines(void)
{
	takes("", defaults, "defaults are those of the table");
	takes("-m x~y --epochs 3 --memory=2K --lr=.5 --time-limit=1.5m --loss=huber -n "
	      "--shuffle=no",
	      all_kinds, "values of all types");
	takes("--epochs=3 --shuffle=no --lr=1 --lr=2 -e 5 --shuffle=yes -e7", last_wins,
	      "the last of several counts");
	takes("a -q - -e5 -- --lr -q", operands,
	      "options follow operands, - is one, -- ends options");
	takes("-nqe4 -vv -m -e", clustered,
	      "short options stand together, the last with its value");
	takes("--ep=2 --time=1.5 --nes", abbreviated, "unambiguous abbreviations");
	takes("--explain=json x", with_value, "an optional value stands behind =");
	takes("--explain=json --explain", bare, "and an option without one takes it back");
	takes("--explain x", bare, "an optional value is no operand");
	fails("--epohcs=3", NN_EUSAGE, "--epohcs: unknown option; did you mean --epochs?");
	fails("--frobnicate", NN_EUSAGE, "--frobnicate: unknown option");
	fails("--no-shuffle", NN_EUSAGE, "--no-shuffle: unknown option; did you mean --shuffle?");
	fails("-x", NN_EUSAGE, "-x: unknown option");
	fails("-\x01", NN_EUSAGE, "-\\x01: unknown option");
	fails("--l=1", NN_EUSAGE, "--l: could be --lr, --loss, --log, --limit");
	fails("--epochs", NN_EUSAGE, "--epochs: expected a value, --epochs=N");
	fails("-e", NN_EUSAGE, "-e: expected a value, -e N");
	fails("--nesterov=yes", NN_EUSAGE, "--nesterov: takes no value");
	fails("--epochs=0", NN_EUSAGE, "--epochs=0: expected a whole number from 1 to 1000");
	fails("--epochs=1001", NN_EUSAGE, "--epochs=1001: expected a whole number from 1 to 1000");
	fails("--epochs=1e2", NN_EUSAGE, "--epochs=1e2: expected a whole number from 1 to 1000");
	fails("--epochs=", NN_EUSAGE, "--epochs=: expected a whole number from 1 to 1000");
	fails("--epochs=99999999999999999999", NN_EUSAGE,
	      "--epochs=99999999999999999999: expected a whole number from 1 to 1000");
	fails("--seed=-1", NN_EUSAGE, "--seed=-1: expected a whole number of at least 0");
	fails("--lr=nan", NN_EUSAGE, "--lr=nan: expected a number from 0 to 10");
	fails("--lr=inf", NN_EUSAGE, "--lr=inf: expected a number from 0 to 10");
	fails("--lr=0,5", NN_EUSAGE, "--lr=0,5: expected a number from 0 to 10");
	fails("--lr=11", NN_EUSAGE, "--lr=11: expected a number from 0 to 10");
	fails("--memory=3X", NN_EUSAGE,
	      "--memory=3X: expected a number of bytes (K, M, G and T are taken) of at least 0");
	fails("--time-limit=-1", NN_EUSAGE,
	      "--time-limit=-1: expected a time in seconds (s, m and h are taken) of at least 0");
	fails("--loss=hubert", NN_EUSAGE,
	      "--loss=hubert: expected one of cross-entropy, mse, huber; did you mean huber?");
	fails("--loss=l3", NN_EUSAGE, "--loss=l3: expected one of cross-entropy, mse, huber");
	fails("--shuffle=maybe", NN_EUSAGE, "--shuffle=maybe: expected yes or no");
	fails("--kind=c\n", NN_EUSAGE, "--kind=c\\n: expected a or b");
	fails("--device=gpu", NN_EUSAGE, "--device=gpu: expected cpu, cuda, cuda:N or auto");
	fails("--device=cuda:", NN_EUSAGE, "--device=cuda:: expected cpu, cuda, cuda:N or auto");
	fails("--device=cpu,tpu", NN_EUSAGE,
	      "--device=cpu,tpu: expected cpu, cuda, cuda:N or auto");
	fails("--lr=12345678901234567890123456789012345678901", NN_EUSAGE,
	      "--lr=1234567890123456789012345678901234567890...: expected a number from 0 to 10");
}

static bool from_environment(void)
{
	return std.threads == 3 && nn_opt_given(&list, "threads");
}

static bool from_line(void)
{
	return std.threads == 2;
}

static void environment(void)
{
	setenv("NN_THREADS", "3", 1);
	takes("", from_environment, "NN_THREADS");
	takes("--threads=2", from_line, "the command line is before the environment");
	setenv("NN_THREADS", "x", 1);
	fails("", NN_EUSAGE, "NN_THREADS=x: expected a whole number from 1 to 1024");
	setenv("NN_THREADS", "", 1);
	takes("", defaults, "an empty variable is none");
	unsetenv("NN_THREADS");
	setenv("NN_DEVICE", "gpu", 1);
	fails("", NN_EUSAGE, "NN_DEVICE=gpu: expected cpu, cuda, cuda:N or auto");
	unsetenv("NN_DEVICE");
}

static bool from_file(void)
{
	return strcmp(v.name, "dense 3, relu") == 0 && v.epochs == 9 && v.lr == 0.25 &&
	       v.nesterov && std.quiet && !v.shuffle && nn_opt_given(&list, "name");
}

static bool line_before_file(void)
{
	return strcmp(v.name, "dense 3, relu") == 0 && v.epochs == 2 && v.lr == 0.25;
}

static void file(const char *content)
{
	FILE *f = fopen("c.conf", "wb");

	if (!f || fputs(content, f) < 0 || fclose(f) != 0)
		note("cannot write c.conf");
}

/* A file of one bad line as its third. */
static void nonfinite_line(const char *line, const char *want)
{
	char content[300];

	snprintf(content, sizeof content, "# a\n\n%s\n", line);
	file(content);
	fails("--config=c.conf", NN_EUSAGE, want);
}

static void files(void)
{
	file("\xef\xbb\xbfname = dense 3, relu\r\n# a comment\n\n  epochs=8\nepochs = "
	     "9\nlr\t=\t0.25\nnesterov = yes\nquiet = yes\nshuffle = no");
	takes("--config=c.conf", from_file, "a file says what the command line could");
	takes("--epochs=2 --config=c.conf", line_before_file,
	      "the command line wins wherever it stands");
	file("name = x\nname = y\nexplain =\n");
	takes("--config=c.conf", bare,
	      "an option without its value is written with nothing behind =");
	nonfinite_line("epohcs = 3", "c.conf:3: --epohcs: unknown option; did you mean --epochs?");
	nonfinite_line("epo = 3", "c.conf:3: epo: write the option out: epochs");
	nonfinite_line("epochs 3", "c.conf:3: expected `option = value`, got epochs 3");
	nonfinite_line("epochs = 0",
		       "c.conf:3: epochs = 0: expected a whole number from 1 to 1000");
	nonfinite_line("nesterov = 1", "c.conf:3: nesterov = 1: expected yes or no");
	nonfinite_line("kind = c", "c.conf:3: kind = c: expected a or b");
	nonfinite_line("config = d.conf", "c.conf:3: --config cannot stand in a file");
	nonfinite_line("[section]", "c.conf:3: expected `option = value`, got [section]");
	nonfinite_line("= 3", "c.conf:3: --: unknown option");
	fails("--config=missing.conf", NN_EUSAGE,
	      "--config=missing.conf: No such file or directory");
	fails("--config=.", NN_EUSAGE, "--config=.: is a directory, expected a file");
	file("device = gpu\n");
	fails("--config=c.conf", NN_EUSAGE,
	      "c.conf:1: device = gpu: expected cpu, cuda, cuda:N or auto");
	unlink("c.conf");
}

static void as_text(void)
{
	char text[64];

	parse("--lr=0.1 -n --loss=huber --memory=1K -m abc");
	ok(nn_opt_text(&list, "lr", text, sizeof text) && strcmp(text, "0.1") == 0,
	   "option: a number as typed");
	ok(nn_opt_text(&list, "loss", text, sizeof text) && strcmp(text, "huber") == 0,
	   "option: a choice as typed");
	ok(nn_opt_text(&list, "nesterov", text, sizeof text) && strcmp(text, "yes") == 0,
	   "option: a switch as a word");
	ok(nn_opt_text(&list, "memory", text, sizeof text) && strcmp(text, "1024") == 0,
	   "option: a size in bytes");
	ok(nn_opt_text(&list, "explain", text, sizeof text) && strcmp(text, "") == 0,
	   "option: nothing as nothing");
	ok(!nn_opt_text(&list, "nothing", text, sizeof text), "option: no such option");
}

/* Every option of the tables stands in help, man page and completions. */
static void pages(void)
{
	static const char *const shells[] = { "bash", "zsh", "fish" };
	struct nn_text help = { 0 }, man = { 0 }, shell[3] = { { 0 } };
	char word[80];
	size_t missing = 0;

	nn_opt_help(&list, "all", &help, &err);
	nn_opt_man(&list, &man);
	for (int i = 0; i < 3; i++)
		nn_opt_completion(&list, shells[i], &shell[i]);
	for (const struct nn_opt_table *t = tables; t->rows; t++)
		for (const struct nn_opt *o = t->rows; o->name; o++) {
			snprintf(word, sizeof word, "--%s", o->name);
			missing += !strstr(help.data, word) || !strstr(shell[0].data, word) ||
				   !strstr(shell[1].data, word);
			snprintf(word, sizeof word, "-l %s", o->name);
			missing += !strstr(shell[2].data, word);
		}
	ok(missing == 0, "option: every option stands in help and completions");
	ok(strstr(man.data, "\\fB\\-\\-time\\-limit\\fR=\\fISECONDS\\fR") != NULL,
	   "option: the man page has its hyphens escaped");
	ok(strstr(help.data, "  -e, --epochs=N              passes (default: 10)\n") != NULL,
	   "option: help shows letter, value and default");
	for (char *line = strtok(help.data, "\n"); line; line = strtok(NULL, "\n"))
		missing += strlen(line) > 80;
	ok(missing == 0, "option: help is at most 80 columns wide");
	nn_text_free(&help);
	nn_text_free(&man);
	for (int i = 0; i < 3; i++)
		nn_text_free(&shell[i]);
}

int main(void)
{
	char folder[] = "/tmp/nn-option.XXXXXX";

	unsetenv("NN_THREADS");
	unsetenv("NN_DEVICE");
	if (!mkdtemp(folder) || chdir(folder) != 0)
		note("no folder to work in");
	command_lines();
	environment();
	files();
	as_text();
	pages();
	if (chdir("/") != 0 || rmdir(folder) != 0)
		note("cannot remove %s", folder);
	return tap_done();
}
