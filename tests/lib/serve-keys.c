/* The key file of nn-serve: what it may hold, who may read it, and what a key allows. */
#include "config.h"
#include <sys/stat.h>

#include "files.h"
#include "serve/keys.h"

static struct nn_keys *keys_of(const char *text, struct nn_error *err)
{
	struct nn_keys *keys = NULL;

	put("keys", text);
	chmod("keys", 0600);
	return nn_keys_open(&keys, "keys", err) < 0 ? NULL : keys;
}

static void refused(const char *text, const char *wanted)
{
	struct nn_error err = { 0 };
	struct nn_keys *keys = keys_of(text, &err);

	fails_as(keys ? 0 : -1, &err, NN_EFAIL, wanted, wanted);
	nn_keys_close(keys);
}

static void files_are_checked(void)
{
	static const char zero[] = "key predict\n\0";
	struct nn_error err;
	struct nn_keys *keys;

	refused("# none\n\n", "keys: no keys");
	refused("", "keys: no keys");
	refused("# one\nsecret\n", "keys:2: no right after the key, expected predict or admin");
	refused("secret # later\n", "keys:1: no right after the key, expected predict or admin");
	refused("secret predct\n",
		"keys:1: unknown right after the key, expected predict or admin");
	refused("secret predict,\n",
		"keys:1: unknown right after the key, expected predict or admin");
	refused("secret predictor\n",
		"keys:1: unknown right after the key, expected predict or admin");
	refused("secret predict admin\n",
		"keys:1: more than a key and its rights, which commas separate");
	refused("a predict\nb admin\n\na admin\n", "keys:4: the key of line 1 again");
	refused("gehe\303\255m predict\n",
		"keys:1: the key has other than visible ASCII characters");
	put_bytes("keys", zero, sizeof zero - 1);
	fails_as(nn_keys_open(&keys, "keys", &err), &err, NN_EFAIL, "keys: not a file of keys",
		 "a file with a zero byte is none");
	fails_as(nn_keys_open(&keys, "gone", &err), &err, NN_EFAIL,
		 "gone: No such file or directory", "nor is one that is not there");
}

static void others_may_not_read(void)
{
	struct nn_keys *keys = NULL;
	struct nn_error err;

	put("keys", "secret predict\n");
	chmod("keys", 0644);
	fails_as(nn_keys_open(&keys, "keys", &err), &err, NN_EFAIL,
		 "keys: others can read or change it (mode 0644): make it yours with chmod 600",
		 "a file that others can read is refused");
	chmod("keys", 0602);
	ok(nn_keys_open(&keys, "keys", &err) < 0, "and one that others can write");
	chmod("keys", 0640);
	ok(nn_keys_open(&keys, "keys", &err) == 0, "a group of its own may read it");
	nn_keys_close(keys);
}

static void rights_are_kept(void)
{
	struct nn_keys *keys = keys_of("# clients\n\t p-1 predict\r\n"
				       "a/+=~ admin # the boss\nboth predict,admin\n",
				       NULL);

	ok(keys && nn_keys_allow(keys, "Bearer p-1", NN_RIGHT_PREDICT) == 0 &&
		   nn_keys_allow(keys, "Bearer p-1", NN_RIGHT_ADMIN) == 403,
	   "predict is no admin");
	ok(keys && nn_keys_allow(keys, "Bearer a/+=~", NN_RIGHT_ADMIN) == 0 &&
		   nn_keys_allow(keys, "Bearer a/+=~", NN_RIGHT_PREDICT) == 403,
	   "nor admin predict");
	ok(keys && nn_keys_allow(keys, "Bearer both", NN_RIGHT_ADMIN) == 0 &&
		   nn_keys_allow(keys, "Bearer both", NN_RIGHT_PREDICT) == 0,
	   "a key can have both");
	ok(keys && nn_keys_allow(keys, " bEARER  both ", NN_RIGHT_PREDICT) == 0,
	   "the scheme is read in any case, with blanks around the key");
	nn_keys_close(keys);
}

static void others_are_unknown(void)
{
	static const char *const values[] = {
		NULL,         "",           "Bearer",       "Bearer ",     "Bearerboth",   "both",
		"Basic both", "Bearer bot", "Bearer bothx", "Bearer BOTH", "Bearer both x"
	};
	struct nn_keys *keys = keys_of("both predict,admin\n", NULL);
	bool all = keys != NULL;

	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		if (keys && nn_keys_allow(keys, values[i], NN_RIGHT_PREDICT) != 401) {
			printf("# %s\n", values[i] ? values[i] : "(none)");
			all = false;
		}
	ok(all, "without a key that is known the answer is 401");
	nn_keys_close(keys);
}

int main(void)
{
	go_to_tmp();
	files_are_checked();
	others_may_not_read();
	rights_are_kept();
	others_are_unknown();
	return tests_done();
}
