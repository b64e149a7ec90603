/* Models read anew while requests run, told to or by watching. Lanes are stand-ins that count
 * themselves. */
#include "config.h"
#include <poll.h>

#include "serve-models.h"

/* ---- reading anew ---- */

static float answer_of_file(const char *path)
{
	struct nn_model *model = nn_model_open(path, NULL);
	float value = model ? answer(model) : 0;

	nn_model_close(model);
	return value;
}

static void changed_and_bad(void)
{
	struct nn_models *models;
	struct nn_error err;
	float first, second;

	write_model("live.safetensors", &plain, 1);
	first = answer_of_file("live.safetensors");
	models = serve("live.safetensors");
	write_model("live.safetensors", &plain, 2);
	second = answer_of_file("live.safetensors");
	ok(first != second && answer_of(models, "live") == first,
	   "a changed file serves when it is asked for");
	ok(nn_models_reload(models, NULL, &err) == 0 && answer_of(models, "live") == second,
	   "reload reads it");
	nn_models_reload(models, NULL, &err);
	ok(n_good == 1 && n_bad == 0, "once: what is as it was is not read again");
	ok(truncate("live.safetensors", 60) == 0 && nn_models_reload(models, NULL, &err) < 0 &&
		   strncmp(err.text, "live.safetensors: ", 18) == 0 &&
		   answer_of(models, "live") == second && nn_models_ready(models),
	   "a truncated file leaves the old one serving");
	ok(unlink("live.safetensors") == 0 && nn_models_reload(models, NULL, &err) < 0 &&
		   strcmp(err.text, "live.safetensors: No such file or directory") == 0 &&
		   answer_of(models, "live") == second,
	   "and so does one that is gone");
	ok(n_good == 1 && n_bad == 2, "both are counted");
	write_model("live.safetensors", &plain, 1);
	ok(nn_models_reload(models, NULL, &err) == 0 && answer_of(models, "live") == first,
	   "it comes back");
	nn_models_close(models);
	ok(atomic_load(&lanes) == 0, "no version stays");
}

static void a_request_keeps_its_version(void)
{
	struct nn_models *models;
	struct nn_served *held;
	float first;

	write_model("live.safetensors", &plain, 1);
	models = serve("live.safetensors");
	held = nn_models_find(models, "live", 4, 0, NULL, NULL);
	first = answer(held->model);
	write_model("live.safetensors", &plain, 2);
	ok(nn_models_reload(models, NULL, NULL) == 0 && answer(held->model) == first &&
		   answer_of(models, "live") != first,
	   "a request in flight finishes with the version it began with");
	nn_served_release(held);
	for (int i = 0; i < 1000 && atomic_load(&lanes) > 2; i++)
		usleep(10000);
	ok(atomic_load(&lanes) == 2, "which is closed when it was given back");
	nn_models_close(models);
}

static void versions_come_and_go(void)
{
	struct nn_models *models;
	struct nn_error err;

	if (run("rm -rf w && mkdir -p w/1 w/2 && cp v/1/a.safetensors w/1 && "
		"cp v/2/b.safetensors w/2") != 0)
		exit(1);
	models = serve("w");
	ok(run("mkdir w/3 && rm -r w/1") == 0 && nn_models_reload(models, NULL, &err) == 0 &&
		   lists(models, "w/2"),
	   "a version goes with its directory; an empty one is not complete yet");
	ok(run("cp v/10/c.safetensors w/3") == 0 && nn_models_reload(models, NULL, &err) == 0 &&
		   lists(models, "w/2,3") && version_of(models, "w", 0, NULL, NULL) == 3,
	   "a new version is the default as soon as it serves");
	ok(run("echo x > w/3/c.safetensors && mkdir w/4 && echo y > w/4/d.safetensors") == 0 &&
		   nn_models_reload(models, NULL, &err) < 0 && n_warnings == 1 &&
		   lists(models, "w/2,3,4!") && version_of(models, "w", 0, NULL, NULL) == 3,
	   "a bad one does not take over: the first is the error, the next a warning");
	ok(run("rm -r w/2 w/3 w/4") == 0 && nn_models_reload(models, NULL, &err) < 0 &&
		   strncmp(err.text, "w: found neither", 16) == 0 &&
		   version_of(models, "w", 0, NULL, NULL) == 3,
	   "where nothing is left the last ones go on");
	nn_models_close(models);
}

static void models_come_and_go(void)
{
	struct nn_models *models;
	struct nn_error err;

	if (run("rm -rf m && mkdir m && cp net.safetensors m/a.safetensors && "
		"cp net.safetensors m/b.safetensors") != 0)
		exit(1);
	models = serve("m");
	ok(run("rm m/a.safetensors; mkdir -p m/c/5; cp net.safetensors m/c/5") == 0 &&
		   nn_models_reload(models, NULL, &err) == 0 && n_warnings == 1 &&
		   strcmp(warnings, "m/a.safetensors: not there any more: model \"a\" is not "
				    "served") == 0 &&
		   lists(models, "a b/1 c/5") && nn_models_ready(models),
	   "models come and go with their files");
	ok(run("cp net.safetensors m/a.safetensors") == 0 &&
		   nn_models_reload(models, NULL, &err) == 0 && lists(models, "a/1 b/1 c/5"),
	   "and come back");
	ok(run("echo x >m/d.safetensors") == 0 && nn_models_reload(models, NULL, NULL) < 0 &&
		   lists(models, "a/1 b/1 c/5 d/1!") && nn_models_ready(models) &&
		   nn_models_wrong(models, "d", 1, &err) < 0 &&
		   strncmp(err.text, "m/d.safetensors: ", 17) == 0 &&
		   nn_models_wrong(models, "a", 1, &err) == 0,
	   "a new one that is bad says what is wrong with it, and the others are ready");
	ok(run("cp net.safetensors m/d.safetensors") == 0 &&
		   nn_models_reload(models, NULL, &err) == 0 && nn_models_ready(models) &&
		   nn_models_wrong(models, "d", 1, &err) == 0 && run("mkdir m/c/6") == 0 &&
		   run("rm -r m/c/5; echo x >m/c/6/m.safetensors") == 0 &&
		   nn_models_reload(models, NULL, &err) < 0 && !nn_models_ready(models),
	   "one that served and has only a bad version left is not ready");
	nn_models_close(models);
}

static void unload_and_load(void)
{
	struct nn_models *models = serve("d");
	struct nn_error err;

	ok(nn_models_unload(models, "one", &err) == 0 && lists(models, "one three/1 two/1 ver/3") &&
		   !version_of(models, "one", 0, NULL, &err) &&
		   strcmp(err.text, "model \"one\" is unloaded") == 0 && nn_models_ready(models),
	   "unload takes it away");
	ok(nn_models_reload(models, NULL, &err) == 0 && lists(models, "one three/1 two/1 ver/3"),
	   "a reload of all leaves it so");
	ok(nn_models_reload(models, "one", &err) == 0 && lists(models, "one/1 three/1 two/1 ver/3"),
	   "load by its name brings it back");
	ok(nn_models_unload(models, "no", &err) < 0 &&
		   strcmp(err.text, "there is no model \"no\"") == 0 &&
		   nn_models_reload(models, "no", &err) < 0 && err.code == NN_EFAIL,
	   "only what was named at the start");
	nn_models_close(models);
}

static void links_are_followed(void)
{
	struct nn_models *models;
	float first;

	if (symlink("v/1/a.safetensors", "link.safetensors") < 0)
		exit(1);
	models = serve("link.safetensors");
	first = answer_of(models, "link");
	ok(unlink("link.safetensors") == 0 &&
		   symlink("v/2/b.safetensors", "link.safetensors") == 0 &&
		   nn_models_reload(models, NULL, NULL) == 0 &&
		   answer_of(models, "link") == answer_of_file("v/2/b.safetensors") &&
		   answer_of(models, "link") != first,
	   "a link that was set to another file is read anew");
	nn_models_close(models);
}

/* ---- while requests run ---- */

struct traffic {
	struct nn_models *models;
	float answers[2];
	atomic_bool ended;
	atomic_int wrong;
};

static void *ask(void *arg)
{
	struct traffic *t = arg;

	for (int i = 0; !atomic_load(&t->ended); i++) {
		const char *name = i % 4 == 3 ? "live:null" : "live";
		struct nn_served *s = nn_models_find(t->models, name, strlen(name), 0, NULL, NULL);
		float value = s && s->lane->model == s->model ? answer(s->model) : 0;

		if (value != t->answers[0] && value != t->answers[1])
			atomic_fetch_add(&t->wrong, 1);
		nn_served_release(s);
	}
	return NULL;
}

static void reload_under_traffic(void)
{
	struct traffic t = { 0 };
	pthread_t threads[4];
	int status = 0;

	write_model("one.safetensors", &plain, 1);
	write_model("two.safetensors", &plain, 2);
	t.answers[0] = answer_of_file("one.safetensors");
	t.answers[1] = answer_of_file("two.safetensors");
	if (run("cp one.safetensors live.safetensors") != 0)
		exit(1);
	t.models = serve("live.safetensors");
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, ask, &t);
	for (int i = 0; i < 300; i++) {
		unlink("next");
		if (link(i % 2 ? "one.safetensors" : "two.safetensors", "next") < 0 ||
		    rename("next", "live.safetensors") < 0)
			status = -1;
		unlink("next"); /* two names of one file: rename does nothing */
		if (nn_models_reload(t.models, i % 3 ? NULL : "live", NULL) < 0)
			status = -1;
	}
	atomic_store(&t.ended, true);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	ok(status == 0 && atomic_load(&t.wrong) == 0,
	   "4 threads never meet a wrong or freed model while it is read anew 300 times");
	nn_models_close(t.models);
	ok(atomic_load(&lanes) == 0, "each version was closed once");
}

/* ---- watching ---- */

static bool told(struct nn_models *models, int watch)
{
	struct pollfd poll_of = { .fd = watch, .events = POLLIN };

	return poll(&poll_of, 1, 20000) == 1 && nn_models_watched(models, NULL) == 0;
}

static void files_are_watched(void)
{
	struct nn_models *models;
	float second;
	int watch;

	write_model("live.safetensors", &plain, 1);
	models = serve("live.safetensors");
	watch = nn_models_watch(models, NULL);
	write_model("live.safetensors", &plain, 2);
	second = answer_of_file("live.safetensors");
	ok(watch >= 0 && told(models, watch) && answer_of(models, "live") == second,
	   "a file that is renamed into place is seen");
	ok(run("cat one.safetensors > live.safetensors") == 0 && told(models, watch) &&
		   answer_of(models, "live") == answer_of_file("one.safetensors"),
	   "and one that is written over");
	ok(unlink("live.safetensors") == 0 && symlink("two.safetensors", "live.safetensors") == 0 &&
		   told(models, watch) &&
		   answer_of(models, "live") == answer_of_file("two.safetensors"),
	   "and a link");
	nn_models_close(models);
}

static void versions_are_watched(void)
{
	struct nn_models *models;
	int watch;

	if (run("rm -rf w && mkdir -p w/1 && cp v/1/a.safetensors w/1") != 0)
		exit(1);
	models = serve("w");
	watch = nn_models_watch(models, NULL);
	ok(run("mkdir w/2") == 0 && told(models, watch) && lists(models, "w/1"),
	   "a new directory is watched as well");
	ok(run("cp v/2/b.safetensors w/2/") == 0 && told(models, watch) && lists(models, "w/1,2"),
	   "so that its version is seen");
	n_warnings = 0;
	ok(run("echo x > w/2/b.safetensors") == 0 && !told(models, watch) &&
		   run("touch w/other") == 0 && told(models, watch) && lists(models, "w/1,2"),
	   "a bad file is told once, not with each change beside it");
	nn_models_close(models);
}

static void folders_are_known(void)
{
	struct nn_models *models;
	char here[300];
	bool link = false, file = false;

	if (run("rm -rf blobs linked && mkdir blobs linked && mv one.safetensors blobs/x") != 0 ||
	    symlink("../blobs/x", "linked/m.safetensors") < 0 || !getcwd(here, sizeof here - 10))
		exit(1);
	strcat(here, "/blobs");
	models = serve("linked/m.safetensors");
	for (size_t i = 0; nn_models_folder(models, i); i++) {
		link |= strcmp(nn_models_folder(models, i), here) == 0;
		file |= strcmp(nn_models_folder(models, i), "linked") == 0;
	}
	ok(link && file, "the directories to be read are those of files and of links' targets");
	nn_models_close(models);
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	go_to_tmp();
	make_files();
	changed_and_bad();
	a_request_keeps_its_version();
	versions_come_and_go();
	models_come_and_go();
	unload_and_load();
	links_are_followed();
	reload_under_traffic();
	files_are_watched();
	versions_are_watched();
	folders_are_known();
	return tests_done();
}
