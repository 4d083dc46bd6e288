// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Cost of a message when a process posts over many connected queue pairs in
 * turn, compared with the same messages over one. Each round measures one, then
 * all, so that both have the same machine, and prints `NS_OF_ONE NS_OF_ALL`,
 * the time of a message of 64 bytes. ONE messages are outstanding on the one
 * queue pair, ALL on all of them together.
 *
 *     many-pairs DEVICE GID_INDEX PORT PEER_PORT PAIRS ROUNDS MESSAGES ONE ALL
 */
#include <stdio.h>
#include <stdlib.h>

#include "pair.h"

#define MESSAGE_BYTES 64

/*
 * Time per message of @messages over the first @pairs queue pairs, of which
 * @outstanding are under way, in ns.
 */
static double measure(struct pair_base *base, struct ibv_qp **qps,
		      unsigned long pairs, unsigned long messages,
		      unsigned long outstanding)
{
	unsigned long posted = 0, done = 0;
	double begin = pair_now_ns();

	while (done < messages) {
		while (posted < messages && posted - done < outstanding)
			pair_write(base, qps[posted++ % pairs], MESSAGE_BYTES);
		done += pair_poll(base);
	}
	return (pair_now_ns() - begin) / messages;
}

int main(int argc, char **argv)
{
	unsigned long i, pairs, rounds, messages, few, many, depth;
	struct pair_place place;
	struct pair_base base;
	struct ibv_qp **qps;
	double one, all;

	if (argc != 10) {
		fprintf(stderr, "usage: many-pairs DEVICE GID_INDEX PORT PEER_PORT PAIRS ROUNDS MESSAGES ONE ALL\n");
		return 2;
	}
	place = pair_place(argv + 1);
	pairs = pair_number(argv[5]);
	rounds = pair_number(argv[6]);
	messages = pair_number(argv[7]);
	few = pair_number(argv[8]);
	many = pair_number(argv[9]);
	/* Extra room for queue pairs that lag behind the others. */
	depth = 4 * many / pairs;
	if (depth < few)
		depth = few;
	pair_open(&base, &place, MESSAGE_BYTES, many > few ? many : few);
	qps = calloc(pairs, sizeof(*qps));
	for (i = 0; i < pairs; i++)
		qps[i] = pair_connect(&base, depth, 0);
	/* Each queue pair posts once before the measurement. */
	measure(&base, qps, pairs, pairs, many);
	for (i = 0; i < rounds; i++) {
		one = measure(&base, qps, 1, messages, few);
		all = measure(&base, qps, pairs, messages, many);
		printf("%.0f %.0f\n", one, all);
		fflush(stdout);
	}
	return 0;
}
