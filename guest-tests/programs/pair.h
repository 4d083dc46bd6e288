/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Connected pairs of RC queue pairs between two ports of one device, for the
 * programs of this folder, which run in a guest with Debian's user space. Each
 * call ends the program with a sentence when it fails.
 */
#ifndef PAIR_H
#define PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

/* Create flag of the provider: commands of QoS level 1 (docs/verbs/VERBS.md). */
#define VUHCA_CREATE_LEVEL_1 (1U << 31)

/* Location of the queue pairs; @gid_index is that of both ports, or -1. */
struct pair_place {
	const char *device;
	int gid_index;
	uint8_t port;
	uint8_t peer_port;
};

/* Objects that all pairs of a program share. */
struct pair_base {
	struct pair_place place;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	/* Both ends of each WRITE. */
	struct ibv_mr *region;
};

void pair_open(struct pair_base *base, const struct pair_place *place,
	       size_t bytes, int completions);
struct ibv_qp *pair_connect(struct pair_base *base, uint32_t depth,
			    uint32_t create_flags);
void pair_write(struct pair_base *base, struct ibv_qp *qp, uint32_t bytes);
unsigned int pair_poll(struct pair_base *base);
void pair_fail(const char *what);
unsigned long pair_number(const char *text);
struct pair_place pair_place(char **words);
double pair_now_ns(void);

#endif /* PAIR_H */
