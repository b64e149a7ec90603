/*
 * The self-check as a whole: model and data are opened once in each type, the checks write their
 * rows.
 */
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "train/prepare.h"
#include "train/selfcheck/selfcheck.h"
#include "train/spool.h"

static void say_nothing(void *arg, const char *text)
{
	(void)arg;
	(void)text;
}

/* Model and data once more, in f64; what had to be said of them was said. */
static int open_f64(struct nn_train **train, const struct nn_train_setup *setup,
		    struct nn_std_options *std, struct nn_error *err)
{
	struct nn_train_setup again = *setup;

	lseek(STDIN_FILENO, 0, SEEK_SET); /* data that came from there were spooled */
	*std = *setup->std;
	again.std = std;
	again.host.warn = again.host.note = say_nothing;
	return nn_train_open_inputs(train, &again, true, err);
}

static int check_bytes(struct nn_selfcheck *c, const struct nn_train_setup *setup,
		       const struct nn_selfcheck_devices *devices, struct nn_error *err)
{
	const struct nn_device *kinds[1 + NN_MAX_KINDS];
	struct nn_selfcheck_devices own = { .kinds = kinds };
	struct nn_train *t;
	int status = nn_train_open_inputs(&t, setup, false, err);

	if (status < 0)
		return -1;
	if (!devices) {
		size_t n = 1 + nn_device_kinds(t->task.device->dtype, kinds + 1);

		kinds[0] = t->task.device; /* what the training would take comes first */
		own.n_kinds = 1;
		for (size_t i = 1; i < n; i++)
			if (kinds[i] != t->task.device)
				kinds[own.n_kinds++] = kinds[i];
	}
	status = nn_selfcheck_bytes(c, t, devices ? devices : &own, err);
	nn_train_free(t);
	return status;
}

static int check_gradients(struct nn_selfcheck *c, const struct nn_train_setup *setup,
			   const struct nn_selfcheck_devices *devices, struct nn_error *err)
{
	struct nn_std_options std;
	struct nn_train *t;
	int status = open_f64(&t, setup, &std, err);

	if (status < 0)
		return -1;
	if (devices)
		t->task.device = devices->f64;
	status = nn_selfcheck_gradients(c, t, err);
	nn_train_free(t);
	return status;
}

int nn_train_selfcheck_on(const struct nn_train_setup *setup,
			  const struct nn_selfcheck_devices *devices, struct nn_output *table,
			  int *stopped, unsigned *checks, unsigned *failed, struct nn_error *err)
{
	struct nn_selfcheck c = { .table = table, .stop = setup->host.stop };
	int status = nn_output_printf(table, err, "check\twhat\tcompared\tresult\n");

	if (status == 0)
		status = check_bytes(&c, setup, devices, err);
	if (status == 0 && !*c.stop)
		status = check_gradients(&c, setup, devices, err);
	*stopped = *c.stop;
	*checks = c.n_checks;
	*failed = c.n_failed;
	return status;
}

int nn_train_selfcheck(const struct nn_train_setup *setup, int *stopped, struct nn_error *err)
{
	unsigned checks, failed;
	struct nn_output *table = NULL;
	int status;

	if (nn_spool_stdin(setup, err) < 0 || nn_output_open(&table, NULL, false, err) < 0)
		return -1;
	status = nn_train_selfcheck_on(setup, NULL, table, stopped, &checks, &failed, err);
	if (status < 0) {
		nn_output_abort(table);
		return -1;
	}
	if (nn_output_commit(table, err) < 0)
		return -1;
	if (failed && !*stopped)
		return nn_fail(err, NN_EFAIL, "--selfcheck: %u of %u checks failed", failed,
			       checks);
	return 0;
}
