/*
 * Actor-critic on cart-pole, as a worker among several, or as the process that keeps the parameters
 * for workers that wait for nobody.
 *
 * usage: actor-critic sync RANK N UPDATES frames to standard output, sums from standard input
 * (nn-allreduce --stream --op=sum)
 *   actor-critic async RANK N                  frames to standard output, parameters from standard
 *                                              input
 *   actor-critic parameters N UPDATES FILE...  frames from standard input, parameters to FILE of
 *                                              each rank
 *
 * A frame is an .npy array of float64. A worker plays its share of EPISODES episodes and sends the
 * gradient: of the policy, whose probability of pushing right is the logistic function of W.s, and
 * of the critic, which takes V.f(s) for the rest of the reward. Sums over episodes go along a
 * binary tree, and every episode has its own random numbers, so 1, 2, 4 or 8 workers print the
 * same.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	STATE = 4,
	FEATURES = 11, /* of the critic: 1 and the products of two */
	PARAMETERS = STATE + FEATURES,
	STEPS = PARAMETERS,
	RETURN,
	PLAYED, /* of a frame: how many steps, their rewards, episodes */
	RANK,
	VERSION, /* async: who, and how many updates its parameters had seen */
	FRAME,
	EPISODES = 8,
	LONGEST = 200,
	HEADER = 128,
};

#define GAMMA 0.99  /* discount */
#define LAMBDA 0.95 /* of the advantages */
#define RATE_POLICY 0.5
#define RATE_CRITIC 0.3

/* ---- cart and pole: Barto, Sutton and Anderson 1983, with steps of 20 ms ---- */

static uint64_t draws;

static double draw(void)
{
	uint64_t z = draws += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* s: place, speed, angle, its speed. Does the pole still stand? */
static int move(double s[STATE], int right)
{
	double force = right ? 10 : -10, sine = sin(s[2]), cosine = cos(s[2]);
	double push = (force + 0.05 * s[3] * s[3] * sine) / 1.1;
	double turn =
		(9.8 * sine - cosine * push) / (0.5 * (4.0 / 3 - 0.1 * cosine * cosine / 1.1));
	double go = push - 0.05 * turn * cosine / 1.1;

	s[0] += 0.02 * s[1];
	s[1] += 0.02 * go;
	s[2] += 0.02 * s[3];
	s[3] += 0.02 * turn;
	return fabs(s[0]) < 2.4 && fabs(s[2]) < 0.2095;
}

/* ---- what the policy and the critic see ---- */

static void scale(const double s[STATE], double z[STATE])
{
	static const double by[STATE] = { 1 / 2.4, 0.5, 1 / 0.21, 0.5 };

	for (int i = 0; i < STATE; i++)
		z[i] = s[i] * by[i];
}

static double right_probability(const double *p, const double z[STATE])
{
	double logit = 0;

	for (int i = 0; i < STATE; i++)
		logit += p[i] * z[i];
	return 1 / (1 + exp(-logit));
}

static void features(const double z[STATE], double f[FEATURES])
{
	int n = 0;

	f[n++] = 1;
	for (int i = 0; i < STATE; i++)
		for (int j = 0; j <= i; j++)
			f[n++] = z[i] * z[j];
}

static double value(const double *p, const double f[FEATURES])
{
	double v = 0;

	for (int i = 0; i < FEATURES; i++)
		v += p[STATE + i] * f[i];
	return v;
}

/* ---- an episode, and its gradient ---- */

static void play(const double *p, uint64_t number, double frame[FRAME])
{
	static double z[LONGEST + 1][STATE], f[LONGEST + 1][FEATURES];
	static int right[LONGEST];
	double s[STATE], advantage = 0;
	int n = 0, stands = 1;

	draws = number * UINT64_C(0xd1342543de82ef95);
	for (int i = 0; i < STATE; i++)
		s[i] = 0.1 * (draw() - 0.5);
	for (; stands && n < LONGEST; n++) {
		scale(s, z[n]);
		features(z[n], f[n]);
		right[n] = draw() < right_probability(p, z[n]);
		stands = move(s, right[n]);
	}
	scale(s, z[n]);
	features(z[n], f[n]);
	memset(frame, 0, FRAME * sizeof *frame);
	for (int t = n - 1; t >= 0; t--) {
		/*
		 * what came more than the critic expected, of this step and, less and less, of the
		 * later ones; a fall ends all rewards
		 */
		double next = t + 1 < n || stands ? value(p, f[t + 1]) : 0;

		advantage = 1 + GAMMA * next - value(p, f[t]) + GAMMA * LAMBDA * advantage;
		for (int i = 0; i < STATE; i++)
			frame[i] += advantage * (right[t] - right_probability(p, z[t])) * z[t][i];
		for (int i = 0; i < FEATURES; i++)
			frame[STATE + i] += advantage * f[t][i];
	}
	frame[STEPS] = n;
	frame[RETURN] = n; /* a reward of 1 per step */
	frame[PLAYED] = 1;
}

/* Episodes from..from+n-1, n a power of two, added in pairs of pairs. */
static void play_all(const double *p, uint64_t from, uint64_t n, double frame[FRAME])
{
	double other[FRAME];

	if (n == 1) {
		play(p, from, frame);
		return;
	}
	play_all(p, from, n / 2, frame);
	play_all(p, from + n / 2, n / 2, other);
	for (int i = 0; i < FRAME; i++)
		frame[i] += other[i];
}

static void update(double *p, const double frame[FRAME])
{
	for (int i = 0; i < PARAMETERS; i++)
		p[i] += (i < STATE ? RATE_POLICY : RATE_CRITIC) * frame[i] / frame[STEPS];
}

/* ---- .npy frames ---- */

/* 0 when the other end is gone. */
static int put(int fd, const double frame[FRAME])
{
	char bytes[HEADER + FRAME * sizeof *frame];
	int n = snprintf(bytes + 10, HEADER - 10,
			 "{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }", FRAME);

	memcpy(bytes, "\x93NUMPY\1\0\x76\0", 10);
	memset(bytes + 10 + n, ' ', HEADER - 10 - (size_t)n);
	bytes[HEADER - 1] = '\n';
	memcpy(bytes + HEADER, frame, sizeof bytes - HEADER);
	/* less than PIPE_BUF, so that frames of several writers of one pipe come out whole */
	return write(fd, bytes, sizeof bytes) == (ssize_t)sizeof bytes;
}

/* 0 at the end of the input. */
static int get(double frame[FRAME])
{
	char header[HEADER];

	return fread(header, 1, HEADER, stdin) == HEADER &&
	       fread(frame, sizeof *frame, FRAME, stdin) == FRAME;
}

/* ---- the three parts ---- */

static void report(uint64_t n, const double frame[FRAME])
{
	fprintf(stderr, "update %llu return %.1f\n", (unsigned long long)n,
		frame[RETURN] / frame[PLAYED]);
}

static int sync_worker(uint64_t rank, uint64_t n, uint64_t updates)
{
	double p[PARAMETERS] = { 0 }, frame[FRAME];
	uint64_t share = EPISODES / n;

	for (uint64_t u = 0; u < updates; u++) {
		play_all(p, u * EPISODES + rank * share, share, frame);
		if (!put(STDOUT_FILENO, frame) || !get(frame))
			return 1;
		update(p, frame);
		if (rank == 0)
			report(u + 1, frame);
	}
	return 0;
}

/*
 * It goes on with parameters that others may have moved meanwhile, until nobody takes its frames
 * any more.
 */
static int async_worker(uint64_t rank, uint64_t n)
{
	double p[FRAME] = { 0 }, frame[FRAME];
	uint64_t share = EPISODES / n;

	for (uint64_t u = 0;; u++) {
		play_all(p, (u * n + rank) * share, share, frame);
		frame[RANK] = (double)rank;
		frame[VERSION] = p[VERSION];
		if (!put(STDOUT_FILENO, frame) || !get(p))
			return 0;
	}
}

/*
 * Every frame is an update of its own, as it comes; its rank gets the parameters and nobody waits.
 */
static int keep_parameters(uint64_t n, uint64_t updates, char **files)
{
	double p[FRAME] = { 0 }, frame[FRAME];
	uint64_t stale[2 * EPISODES] = { 0 };
	FILE *to[EPISODES];

	for (uint64_t i = 0; i < n; i++)
		if (!(to[i] = fopen(files[i], "w")))
			return fprintf(stderr, "actor-critic: %s: %s\n", files[i], strerror(errno)),
			       1;
	for (uint64_t u = 0; u < updates; u++) {
		uint64_t late;

		if (!get(frame))
			return fprintf(stderr, "actor-critic: the workers have ended\n"), 1;
		late = u - (uint64_t)frame[VERSION];
		stale[late < 2 * EPISODES ? late : 2 * EPISODES - 1]++;
		update(p, frame);
		p[VERSION] = (double)(u + 1);
		report(u + 1, frame);
		put(fileno(to[(int)frame[RANK]]), p);
	}
	fprintf(stderr, "staleness");
	for (int i = 0; i < 2 * EPISODES; i++)
		fprintf(stderr, " %llu", (unsigned long long)stale[i]);
	fprintf(stderr, "\n");
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t a = argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
		 b = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;

	signal(SIGPIPE, SIG_IGN);
	if (argc == 5 && strcmp(argv[1], "sync") == 0)
		return sync_worker(a, b, strtoull(argv[4], NULL, 10));
	if (argc == 4 && strcmp(argv[1], "async") == 0)
		return async_worker(a, b);
	if (argc > 4 && strcmp(argv[1], "parameters") == 0 && a == (uint64_t)argc - 4)
		return keep_parameters(a, b, argv + 4);
	fprintf(stderr, "usage: actor-critic sync RANK N UPDATES | async RANK N | parameters N "
			"UPDATES FILE...\n");
	return 2;
}
