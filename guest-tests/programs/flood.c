// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Keeps a connection full of RDMA WRITEs until it is killed. The QoS level is
 * an attribute of its queue pair; without it the environment of the process
 * decides (docs/verbs/VERBS.md).
 *
 *     flood DEVICE PORT PEER_PORT BYTES DEPTH [LEVEL]
 */
#include <stdio.h>
#include <stdlib.h>

#include "pair.h"

int main(int argc, char **argv)
{
	unsigned long bytes, depth, outstanding = 0;
	struct pair_place place = { .gid_index = -1 };
	uint32_t create_flags = 0;
	struct pair_base base;
	struct ibv_qp *qp;

	if (argc != 6 && argc != 7) {
		fprintf(stderr, "usage: flood DEVICE PORT PEER_PORT BYTES DEPTH [LEVEL]\n");
		return 2;
	}
	place.device = argv[1];
	place.port = pair_number(argv[2]);
	place.peer_port = pair_number(argv[3]);
	bytes = pair_number(argv[4]);
	depth = pair_number(argv[5]);
	if (argc == 7 && pair_number(argv[6]) == 1)
		create_flags = VUHCA_CREATE_LEVEL_1;
	pair_open(&base, &place, bytes, depth);
	qp = pair_connect(&base, depth, create_flags);
	for (;;) {
		for (; outstanding < depth; outstanding++)
			pair_write(&base, qp, bytes);
		outstanding -= pair_poll(&base);
	}
}
