/* The options of nn-serve; linked into the generator of its page, too. */
#include <stddef.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "serve/serve.h"

#define AT(member) offsetof(struct nn_serve_options, member)

int nn_serve_parse_delay(const char *text, double *seconds, struct nn_error *err)
{
	char quoted[NN_QUOTED];
	uint64_t us;

	if (strcmp(text, "auto") == 0) {
		*seconds = -1;
		return 0;
	}
	if (!nn_parse_u64(text, strlen(text), &us) || us > 60000000)
		return nn_fail(err, NN_EUSAGE,
			       "--max-delay=%s: expected auto or a whole number of microseconds, "
			       "60000000 at most",
			       nn_quote(quoted, text, strlen(text)));
	*seconds = (double)us / 1e6;
	return 0;
}

static int check_delay(const char *value, struct nn_error *err)
{
	double seconds;

	return nn_serve_parse_delay(value, &seconds, err);
}

int nn_serve_parse_headers(const char *text, struct nn_http_limits *limits, struct nn_error *err)
{
	const char *comma = strchr(text, ',');
	size_t n = comma ? (size_t)(comma - text) : strlen(text);
	char quoted[NN_QUOTED];

	if (nn_parse_size(text, n, &limits->headers) && limits->headers >= 256 &&
	    limits->headers <= 16 << 20 &&
	    (!comma || (nn_parse_u64(comma + 1, strlen(comma + 1), &limits->header_count) &&
			limits->header_count > 0)))
		return 0;
	return nn_fail(err, NN_EUSAGE,
		       "--max-headers=%s: expected bytes from 256 to 16M and, behind a comma, how "
		       "many headers, as in 32K,100",
		       nn_quote(quoted, text, strlen(text)));
}

static int check_headers(const char *value, struct nn_error *err)
{
	struct nn_http_limits limits;

	return nn_serve_parse_headers(value, &limits, err);
}

/* NAME:LABEL=VERSION */
static int check_label(const char *value, struct nn_error *err)
{
	const char *colon = strchr(value, ':'), *equals = colon ? strchr(colon, '=') : NULL;
	char quoted[NN_QUOTED];
	uint64_t version;

	if (equals && colon > value && equals > colon + 1 &&
	    nn_parse_u64(equals + 1, strlen(equals + 1), &version) && version > 0)
		return 0;
	return nn_fail(err, NN_EUSAGE,
		       "--label=%s: expected NAME:LABEL=VERSION, as in mnist:stable=3",
		       nn_quote(quoted, value, strlen(value)));
}

const struct nn_opt nn_serve_opts[] = {
	{ .name = "listen",
	  .daily = "HOST:PORT or unix:PATH (127.0.0.1:8080)",
	  .also = "port,host,address,bind,http-port,rest-api-port",
	  .type = NN_OPT_STRING,
	  .offset = AT(listen),
	  .arg = "WHERE",
	  .fallback = "127.0.0.1:8080",
	  .filled = true,
	  .help = "HOST:PORT or unix:PATH to listen on; port 0 takes a free one",
	  .man = "An IPv6 address stands in brackets. A Unix socket is the user's alone (0600). "
		 "Sockets "
		 "that systemd passed are used in its place." },
	{ .name = "max-batch",
	  .daily = "rows of a batch at most (64)",
	  .also = "batch,batch-size,max-batch-size",
	  .topic = "Batching",
	  .type = NN_OPT_COUNT,
	  .offset = AT(max_batch),
	  .arg = "N",
	  .fallback = "64",
	  .min = 1,
	  .max = 65536,
	  .help = "rows of a batch at most",
	  .man = "Wider requests are cut. No byte of an answer depends on it." },
	{ .name = "max-delay",
	  .also = "batch-timeout,max-queue-delay,delay",
	  .topic = "Batching",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(max_delay),
	  .arg = "auto|MICROSECONDS",
	  .fallback = "auto",
	  .choices = (const char *const[]){ "auto", "0", NULL },
	  .check = check_delay,
	  .help = "how long a row may wait for company",
	  .man = "auto waits only where the compute that is saved exceeds the waiting of those in "
		 "the "
		 "queue, as measured; a number is a fixed wait." },
	{ .name = "slo",
	  .also = "latency,target-latency",
	  .topic = "Batching",
	  .type = NN_OPT_REAL,
	  .offset = AT(slo),
	  .arg = "MS",
	  .fallback = "0",
	  .max = 3600000,
	  .help = "milliseconds within which answers are wanted; 0: no objective",
	  .man = "No row waits for company longer than that leaves time for its batch." },
	{ .name = "queue",
	  .also = "queue-size,max-queue,backlog",
	  .topic = "Batching",
	  .type = NN_OPT_COUNT,
	  .offset = AT(queue),
	  .arg = "N",
	  .fallback = "1024",
	  .min = 1,
	  .max = 16777216,
	  .help = "rows of a model that may wait; more are answered with 503 at once",
	  .man = "A request of more rows is taken when nothing waits." },
	{ .name = "explain-batching",
	  .also = "explain",
	  .topic = "Batching",
	  .type = NN_OPT_FLAG,
	  .offset = AT(explain),
	  .help = "say at the end, and at SIGUSR2, why batches were what they were" },
	{ .name = "label",
	  .topic = "Models",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(labels),
	  .arg = "NAME:LABEL=VERSION",
	  .check = check_label,
	  .repeated = true,
	  .help = "a word that stands for a version; may be repeated" },
	{ .name = "keep-going",
	  .topic = "Models",
	  .type = NN_OPT_FLAG,
	  .offset = AT(keep_going),
	  .help = "serve the good models where others cannot be read" },
	{ .name = "watch",
	  .daily = "read models again when their files change",
	  .also = "reload,poll,auto-reload",
	  .topic = "Models",
	  .type = NN_OPT_FLAG,
	  .offset = AT(watch),
	  .help = "read models again when their files change",
	  .man = "Without it SIGHUP does that. A file that cannot be read leaves the old model "
		 "serving." },
	{ .name = "workers",
	  .also = "processes,worker-processes",
	  .type = NN_OPT_COUNT,
	  .offset = AT(workers),
	  .arg = "N",
	  .fallback = "1",
	  .min = 1,
	  .max = 64,
	  .help = "processes that share the address and the counts",
	  .man = "Threads are divided among them; --queue and --max-connections hold for each of "
		 "them. One that dies is named in a warning, and another takes its place." },
	{ .name = "ranks",
	  .also = "parts,shards,tensor-parallel,pipeline-parallel",
	  .type = NN_OPT_COUNT,
	  .offset = AT(ranks),
	  .arg = "N",
	  .fallback = "1",
	  .min = 1,
	  .max = 32,
	  .help = "processes that a model is cut into, by layers",
	  .man = "Each has its own parameters alone, so that a model may be larger than one of them. "
		 "The first speaks to clients; batches go from one to the next, each at work on "
		 "another one. Threads are divided among them. Answers have the same bytes. When "
		 "one is lost, requests are answered with 503, /v2/health/ready fails, and the "
		 "server has to be started again." },
	{ .name = "drain",
	  .also = "grace,shutdown-timeout",
	  .type = NN_OPT_SECONDS,
	  .offset = AT(drain),
	  .arg = "SECONDS",
	  .fallback = "30",
	  .max = 86400,
	  .help = "after SIGTERM, how long answers may take" },
	{ .name = "metrics-compat",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(metrics),
	  .arg = "none|triton",
	  .fallback = "none",
	  .choices = (const char *const[]){ "none", "triton", NULL },
	  .help = "add the names of another server to GET /metrics" },
	{ .name = "tls-cert",
	  .also = "cert,certificate,ssl-cert",
	  .topic = "Security",
	  .type = NN_OPT_STRING,
	  .offset = AT(tls_cert),
	  .arg = "FILE",
	  .filled = true,
	  .file = NN_OPT_READS,
	  .help = "speak TLS with this certificate (PEM)" },
	{ .name = "tls-key",
	  .also = "private-key,ssl-key",
	  .topic = "Security",
	  .type = NN_OPT_STRING,
	  .offset = AT(tls_key),
	  .arg = "FILE",
	  .filled = true,
	  .file = NN_OPT_READS,
	  .help = "its private key (PEM)" },
	{ .name = "key-file",
	  .also = "keys,auth,api-key,token-file",
	  .topic = "Security",
	  .type = NN_OPT_STRING,
	  .offset = AT(key_file),
	  .arg = "FILE",
	  .filled = true,
	  .file = NN_OPT_READS,
	  .help = "who may ask: lines of KEY RIGHT[,RIGHT], rights predict and admin",
	  .man = "Clients send Authorization: Bearer KEY. Health needs no key. Without a key file "
		 "anybody may ask for predictions, and models are loaded and unloaded through a "
		 "Unix socket alone. Others must not be able to read the file." },
	{ .name = "access-log",
	  .also = "log-requests,request-log",
	  .type = NN_OPT_STRING,
	  .offset = AT(access_log),
	  .arg = "FILE",
	  .filled = true,
	  .file = NN_OPT_WRITES,
	  .help = "append a line of JSON for each answer",
	  .man = "Its members are time, method, path, status, bytes_in, bytes_out, seconds, model "
		 "and rows. SIGUSR1 opens the file anew once it was renamed. Standard output is "
		 "for the address." },
	{ .name = "sandbox",
	  .topic = "Security",
	  .type = NN_OPT_CHOICE,
	  .offset = AT(sandbox),
	  .arg = "on|off",
	  .fallback = "on",
	  .choices = (const char *const[]){ "on", "off", NULL },
	  .help = "after the start give up all but reading models and answering",
	  .man = "Files other than those in the directories of models, new sockets, programs and "
		 "processes are then out of reach (Landlock, seccomp). A model that becomes a link "
		 "into a directory that had no part at the start cannot be read." },
	{ .name = "max-body",
	  .topic = "Limits",
	  .type = NN_OPT_SIZE,
	  .offset = AT(limits.body),
	  .arg = "SIZE",
	  .fallback = "64M",
	  .min = 1,
	  .max = 1099511627776,
	  .help = "bytes of a request's body at most (413)" },
	{ .name = "max-line",
	  .topic = "Limits",
	  .type = NN_OPT_SIZE,
	  .offset = AT(limits.line),
	  .arg = "SIZE",
	  .fallback = "8K",
	  .min = 64,
	  .max = 1048576,
	  .help = "bytes of a request line at most (414)" },
	{ .name = "max-headers",
	  .topic = "Limits",
	  .type = NN_OPT_CUSTOM,
	  .offset = AT(max_headers),
	  .arg = "SIZE[,N]",
	  .fallback = "32K,100",
	  .check = check_headers,
	  .help = "bytes of headers, and how many headers, at most (431)" },
	{ .name = "max-chunks",
	  .topic = "Limits",
	  .type = NN_OPT_COUNT,
	  .offset = AT(limits.chunks),
	  .arg = "N",
	  .fallback = "65536",
	  .min = 1,
	  .help = "chunks of a chunked body at most (413)" },
	{ .name = "max-depth",
	  .topic = "Limits",
	  .type = NN_OPT_COUNT,
	  .offset = AT(max_depth),
	  .arg = "N",
	  .fallback = "100",
	  .min = 4,
	  .max = 1000,
	  .help = "depth of JSON at most (400)" },
	{ .name = "max-connections",
	  .topic = "Limits",
	  .type = NN_OPT_COUNT,
	  .offset = AT(limits.connections),
	  .arg = "N",
	  .fallback = "1024",
	  .min = 1,
	  .max = 1048576,
	  .help = "connections at once at most (503)" },
	{ .name = "header-timeout",
	  .topic = "Limits",
	  .type = NN_OPT_SECONDS,
	  .offset = AT(limits.header_timeout),
	  .arg = "SECONDS",
	  .fallback = "10",
	  .min = 0.1,
	  .max = 86400,
	  .help = "how long a request's headers may take (408)" },
	{ .name = "min-rate",
	  .topic = "Limits",
	  .type = NN_OPT_SIZE,
	  .offset = AT(limits.min_rate),
	  .arg = "SIZE",
	  .fallback = "1K",
	  .help = "bytes a second at which a body has to come (408); 0: any" },
	{ .name = NULL },
};
