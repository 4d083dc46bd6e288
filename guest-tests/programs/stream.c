// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Cost of posting to a process in a stream: WRITEs of 64 bytes in bursts of
 * half the queue depth, so that the adapter is never without work. Prints three
 * times in ns: that of a call that posts, without the polls between the bursts,
 * in the fastest tenth of the bursts, which a busy machine delays least; the
 * same in the median burst; and that of a message.
 *
 *     stream DEVICE GID_INDEX PORT PEER_PORT BURSTS DEPTH
 */
#include <stdio.h>
#include <stdlib.h>

#include "pair.h"

#define MESSAGE_BYTES 64

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
	unsigned long i, burst, bursts, size, outstanding = 0;
	double *posting, begin, before, whole;
	struct pair_place place;
	struct pair_base base;
	struct ibv_qp *qp;

	if (argc != 7) {
		fprintf(stderr, "usage: stream DEVICE GID_INDEX PORT PEER_PORT BURSTS DEPTH\n");
		return 2;
	}
	place = pair_place(argv + 1);
	bursts = pair_number(argv[5]);
	size = pair_number(argv[6]) / 2;
	posting = calloc(bursts, sizeof(*posting));
	pair_open(&base, &place, MESSAGE_BYTES, 2 * size);
	qp = pair_connect(&base, 2 * size, 0);
	begin = pair_now_ns();
	for (burst = 0; burst < bursts; burst++) {
		while (outstanding > size)
			outstanding -= pair_poll(&base);
		before = pair_now_ns();
		for (i = 0; i < size; i++)
			pair_write(&base, qp, MESSAGE_BYTES);
		posting[burst] = pair_now_ns() - before;
		outstanding += size;
	}
	whole = pair_now_ns() - begin;
	qsort(posting, bursts, sizeof(*posting), compare);
	printf("%.0f %.0f %.0f\n", posting[bursts / 10] / size,
	       posting[bursts / 2] / size, whole / bursts / size);
	return 0;
}
