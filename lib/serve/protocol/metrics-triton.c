/* The same counts under the names of Triton, for boards made for it. */
#include <inttypes.h>

#include "serve/protocol/metrics.h"

static uint64_t succeeded(const struct nn_lane_counts *c)
{
	uint64_t failed = c->expired + c->failed;

	return c->requests > failed ? c->requests - failed : 0;
}

static uint64_t failed(const struct nn_lane_counts *c)
{
	return c->expired + c->failed + c->full;
}

static uint64_t rows(const struct nn_lane_counts *c)
{
	return c->batch_rows;
}

static uint64_t batches(const struct nn_lane_counts *c)
{
	return c->batches;
}

static uint64_t request_us(const struct nn_lane_counts *c)
{
	return (uint64_t)((c->queue_s + c->compute_s) * 1e6);
}

static uint64_t queue_us(const struct nn_lane_counts *c)
{
	return (uint64_t)(c->queue_s * 1e6);
}

static uint64_t compute_us(const struct nn_lane_counts *c)
{
	return (uint64_t)(c->compute_s * 1e6);
}

/* Reading and writing of rows are the request's, and are not counted apart. */
static uint64_t none(const struct nn_lane_counts *c)
{
	(void)c;
	return 0;
}

static uint64_t waiting(const struct nn_lane_counts *c)
{
	return c->waiting;
}

static const struct {
	const char *name, *type, *help;
	uint64_t (*value)(const struct nn_lane_counts *counts);
} families[] = {
	{ "nv_inference_request_success", "counter", "Requests that were computed.", succeeded },
	{ "nv_inference_request_failure", "counter", "Requests that were not.", failed },
	{ "nv_inference_count", "counter", "Rows that were computed.", rows },
	{ "nv_inference_exec_count", "counter", "Batches that were computed.", batches },
	{ "nv_inference_request_duration_us", "counter", "Time of requests.", request_us },
	{ "nv_inference_queue_duration_us", "counter", "Time in the queue.", queue_us },
	{ "nv_inference_compute_input_duration_us", "counter", "Time of preparing inputs.", none },
	{ "nv_inference_compute_infer_duration_us", "counter", "Time of computing.", compute_us },
	{ "nv_inference_compute_output_duration_us", "counter", "Time of preparing outputs.",
	  none },
	{ "nv_inference_pending_request_count", "gauge", "Rows that wait.", waiting },
};

void nn_metrics_triton(const struct nn_protocol *p, struct nn_text *text)
{
	struct nn_board_lane lane;

	for (size_t f = 0; f < sizeof families / sizeof *families; f++) {
		nn_text_addf(text, "# HELP %s %s\n# TYPE %s %s\n", families[f].name,
			     families[f].help, families[f].name, families[f].type);
		for (size_t i = 0; nn_board_lane(p->board, p->batcher, i, &lane); i++)
			if (!lane.null)
				nn_text_addf(text,
					     "%s{model=\"%s\",version=\"%" PRIu64 "\"} %" PRIu64
					     "\n",
					     families[f].name, lane.model, lane.version,
					     families[f].value(&lane.counts));
	}
}
