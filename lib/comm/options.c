/* Rows of --ranks and of what belongs to it. */
#include <inttypes.h>
#include <string.h>

#include "base/number.h"
#include "comm/comm.h"
#include "comm/options.h"

#define AT(field) offsetof(struct nn_ranks_options, field)

/* Slots of H[:N],... in all; 0 with NN_EUSAGE. */
static uint64_t hosts_slots(const char *hosts, struct nn_error *err)
{
	uint64_t sum = 0, slots;

	for (const char *at = hosts;; at++) {
		size_t n = strcspn(at, ","), name = strcspn(at, ":,"), digits = n - name;
		char quoted[NN_QUOTED];

		slots = 1;
		if (name == 0 || *at == '-' || strcspn(at, " \t") < n ||
		    (digits > 0 && (!nn_parse_u64(at + name + 1, digits - 1, &slots) || slots < 1 ||
				    slots > 4096))) {
			nn_fail(err, NN_EUSAGE, "--hosts=%s: expected HOST:N,..., N ranks on each",
				nn_quote(quoted, hosts, strlen(hosts)));
			return 0;
		}
		sum += slots;
		at += n;
		if (*at == '\0')
			return sum;
	}
}

static int check_hosts(const char *value, struct nn_error *err)
{
	return hosts_slots(value, err) ? 0 : -1;
}

int nn_ranks_check(struct nn_ranks_options *o, bool *several, struct nn_error *err)
{
	if (o->hosts && o->hostfile)
		return nn_fail(err, NN_EUSAGE,
			       "--hostfile=%s: --hosts says the same; give one of them",
			       o->hostfile);
	if (o->hostfile && !o->ranks)
		return nn_fail(err, NN_EUSAGE, "--hostfile=%s: needs --ranks=N", o->hostfile);
	if (o->hosts && !o->ranks && !(o->ranks = hosts_slots(o->hosts, err)))
		return -1;
	if (nn_comm_env_tasks() > 1 && o->ranks != 1)
		return nn_fail(err, NN_EUSAGE,
			       "srun started %d processes that are not ranks, for it was not told "
			       "--mpi=pmix; say --ranks=1 if "
			       "each is to work alone",
			       nn_comm_env_tasks());
	*several = o->ranks > 1 || o->hosts || o->hostfile;
	return 0;
}

const struct nn_opt nn_ranks_opts[] = {
	{ .name = "ranks",
	  .daily = "work in N processes",
	  .also = "nproc,nproc-per-node,np,processes,procs,world-size,gpus",
	  .letter = 'n',
	  .type = NN_OPT_COUNT,
	  .offset = AT(ranks),
	  .arg = "N",
	  .min = 1,
	  .max = 4096,
	  .help = "run as N processes that work together, started with mpirun",
	  .man = "Needs Open MPI's mpirun. As root mpirun wants OMPI_ALLOW_RUN_AS_ROOT=1 and "
		 "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 in the "
		 "environment." },
	{ .name = "hosts",
	  .also = "host,nodes",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(hosts),
	  .arg = "HOST:N,...",
	  .check = check_hosts,
	  .help = "run ranks on these hosts, N on each",
	  .man = "Without --ranks as many as there are. mpirun reaches the hosts through ssh; "
		 "program and data have to lie there under "
		 "the same names. Name this host first, by an address of its own, where rank 0 is "
		 "to read standard input or to write "
		 "standard output." },
	{ .name = "hostfile",
	  .type = NN_OPT_STRING,
	  .offset = AT(hostfile),
	  .arg = "FILE",
	  .filled = true,
	  .file = NN_OPT_READS,
	  .help = "the same from a file: a line HOST slots=N for each host" },
	{ .name = NULL },
};
