/* Health, as load balancers ask for it. */
#include "serve/protocol/health.h"
#include "serve/ranks/ranks.h"

bool nn_health_is_away(const struct nn_protocol *p)
{
	return atomic_load(&p->draining) || nn_ranks_lost(p->ranks);
}

bool nn_health_is_ready(struct nn_protocol *p)
{
	return !nn_health_is_away(p) && nn_models_ready(p->models);
}

static void answer(struct nn_query *q, bool ready, unsigned status)
{
	nn_text_addf(&q->exchange->answer, "{\"live\":true,\"ready\":%s}\n",
		     ready ? "true" : "false");
	nn_query_answer(q, status, "application/json");
}

void nn_health_live(struct nn_query *q)
{
	answer(q, nn_health_is_ready(q->protocol), 200);
}

void nn_health_ready(struct nn_query *q)
{
	bool ready = nn_health_is_ready(q->protocol);

	answer(q, ready, ready ? 200 : 503);
}
