// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What a message costs when a process posts over many connected queue pairs in
 * turn, beside the same messages over one: the same number is outstanding in
 * both. Each round measures one, then all, so that both have the same machine,
 * and prints `NS_OF_ONE NS_OF_ALL`, the time of a message of 64 bytes.
 *
 *     many-pairs DEVICE GID_INDEX PORT PEER_PORT PAIRS ROUNDS MESSAGES
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "pair.h"

#define MESSAGE_BYTES 64
#define OUTSTANDING 64

static double now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

/* Time of one of @messages over the first @pairs queue pairs, in ns. */
static double measure(struct pair_base *base, struct ibv_qp **qps,
		      unsigned long pairs, unsigned long messages)
{
	unsigned long posted = 0, done = 0;
	double begin = now_ns();

	while (done < messages) {
		while (posted < messages && posted - done < OUTSTANDING)
			pair_write(base, qps[posted++ % pairs], MESSAGE_BYTES);
		done += pair_poll(base);
	}
	return (now_ns() - begin) / messages;
}

int main(int argc, char **argv)
{
	unsigned long i, pairs, rounds, messages;
	struct pair_place place;
	struct pair_base base;
	struct ibv_qp **qps;
	double one, all;

	if (argc != 8) {
		fprintf(stderr, "usage: many-pairs DEVICE GID_INDEX PORT PEER_PORT PAIRS ROUNDS MESSAGES\n");
		return 2;
	}
	place.device = argv[1];
	place.gid_index = atoi(argv[2]);
	place.port = pair_number(argv[3]);
	place.peer_port = pair_number(argv[4]);
	pairs = pair_number(argv[5]);
	rounds = pair_number(argv[6]);
	messages = pair_number(argv[7]);
	pair_open(&base, &place, MESSAGE_BYTES, OUTSTANDING);
	qps = calloc(pairs, sizeof(*qps));
	for (i = 0; i < pairs; i++)
		qps[i] = pair_connect(&base, OUTSTANDING, 0);
	/* Each queue pair has posted before anything is measured. */
	measure(&base, qps, pairs, pairs);
	for (i = 0; i < rounds; i++) {
		one = measure(&base, qps, 1, messages);
		all = measure(&base, qps, pairs, messages);
		printf("%.0f %.0f\n", one, all);
		fflush(stdout);
	}
	return 0;
}
