// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A process that abuses the queues that libmlx5 maps into it: it writes at
 * random into send and receive queues, a CQ, an SRQ, their doorbell records and
 * its pages of the device, and rings doorbells for them, until it is killed.
 * Now and then it issues a command with random values. It makes new queue pairs
 * after a while, because they soon end in error. It prints "begins" when it
 * starts.
 *
 *     hostile DEVICE PORT SEED
 */
#include <endian.h>
#include <errno.h>
#include <stdio.h>

#include <infiniband/mlx5dv.h>

#include "pair.h"

#define PAGE_BYTES 4096
#define MEMORY_BYTES 65536
#define DEPTH 16
/* One less than a power of two, so that the ring has that many entries. */
#define SHARED_DEPTH 15
#define ACTS_OF_A_LIFE 2000
#define ACTS_PER_COMMAND 200
#define BLOCK_BYTES 64
#define ATTRIBUTES 0x1fffff
#define QKEY 0x1234

/* Opcodes of requests, and two that do not exist. */
static const uint8_t opcodes[] = {
	0x00, 0x01, 0x08, 0x09, 0x0a, 0x0b, 0x10, 0x11, 0x12, 0x25, 0x0e, 0x3f,
};

/* Queues as memory, and the registers that ring for them. */
struct queues {
	struct ibv_qp *qp;
	struct mlx5dv_qp places;
	/* Number of blocks that the doorbell record counts as posted. */
	uint16_t posted;
};

static uint32_t state;

/* Xorshift of 32 bits. */
static uint32_t next(void)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

static uint32_t below(uint32_t bound)
{
	return next() % bound;
}

/* Writes a random dword at a random place in @bytes from @start. */
static void scribble(void *start, size_t bytes)
{
	volatile uint32_t *words = start;

	if (bytes)
		words[below(bytes / sizeof(*words))] = next();
}

static void look_at_qp(struct queues *queues, struct ibv_qp *qp)
{
	struct mlx5dv_obj object = {
		.qp = { .in = qp, .out = &queues->places },
	};

	queues->qp = qp;
	queues->posted = 0;
	queues->places = (struct mlx5dv_qp){ 0 };
	errno = mlx5dv_init_obj(&object, MLX5DV_OBJ_QP);
	if (errno)
		pair_fail("places of a QP");
}

static struct ibv_srq *make_srq(struct pair_base *base)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = SHARED_DEPTH, .max_sge = 1 },
	};
	struct ibv_srq *srq = ibv_create_srq(base->pd, &attr);

	if (!srq)
		pair_fail("creating an SRQ");
	return srq;
}

/* A UD queue pair whose receives are those of @srq. */
static struct ibv_qp *make_datagrams(struct pair_base *base,
				     struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = {
		.send_cq = base->cq,
		.recv_cq = base->cq,
		.srq = srq,
		.cap = { .max_send_wr = DEPTH, .max_send_sge = 1 },
		.qp_type = IBV_QPT_UD,
	};
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = base->place.port,
		.qkey = QKEY,
	};
	struct ibv_qp *qp = ibv_create_qp(base->pd, &init);

	if (!qp)
		pair_fail("creating a UD QP");
	errno = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			      IBV_QP_PORT | IBV_QP_QKEY);
	attr.qp_state = IBV_QPS_RTR;
	if (!errno)
		errno = ibv_modify_qp(qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	if (!errno)
		errno = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	if (errno)
		pair_fail("a UD QP to RTS");
	return qp;
}

/* Rings for @queues, or for a random queue pair. */
static void ring(const struct queues *queues)
{
	volatile uint64_t *reg = queues->places.bf.reg;
	uint32_t qpn = below(4) ? queues->qp->qp_num : next() & 0xffffff;

	*reg = htobe64((uint64_t)(queues->posted << 8) << 32 | qpn << 8);
}

/*
 * Writes a request whose head is nearly right, followed by keys and addresses
 * of this process or random ones, and posts it.
 */
static void post(struct queues *queues, struct pair_base *base)
{
	uint32_t slot = queues->posted % queues->places.sq.wqe_cnt;
	volatile uint32_t *words = queues->places.sq.buf;
	uint64_t address = (uintptr_t)base->region->addr + below(MEMORY_BYTES);
	uint32_t pieces = below(8) ? 1 + below(4) : below(64);
	const uint32_t hints[] = {
		base->region->lkey, address >> 32, address, below(8192), next(),
	};
	int i;

	words += slot * BLOCK_BYTES / sizeof(*words);
	words[0] = htobe32(queues->posted << 8 |
			   opcodes[below(sizeof(opcodes))]);
	words[1] = htobe32(queues->qp->qp_num << 8 | pieces);
	words[2] = htobe32(next() & 0xff);
	words[3] = next();
	for (i = 4; i < BLOCK_BYTES / 4; i++)
		words[i] = htobe32(hints[below(sizeof(hints) / sizeof(*hints))]);
	queues->posted += below(16) ? 1 : next();
	queues->places.dbrec[MLX5_SND_DBR] = htobe32(queues->posted);
	ring(queues);
}

/* Commands with random values; most of them are refused. */
static void command(struct queues *queues, struct ibv_srq *srq)
{
	struct ibv_qp_attr attr;
	struct ibv_srq_attr limit = { .srq_limit = below(4 * SHARED_DEPTH) };
	size_t i;

	for (i = 0; i < sizeof(attr); i++)
		((uint8_t *)&attr)[i] = next();
	attr.qp_state = below(IBV_QPS_UNKNOWN);
	attr.path_mtu = below(8);
	/* No connection with a QP of another process: any process may make one. */
	attr.dest_qp_num = queues->qp->qp_num;
	ibv_modify_qp(queues->qp, &attr,
		      IBV_QP_STATE | (next() & next() & ATTRIBUTES));
	ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT);
}

static void act(struct queues *queues, struct mlx5dv_cq *cq,
		struct mlx5dv_srq *srq, struct pair_base *base)
{
	struct mlx5dv_qp *places = &queues->places;
	uintptr_t page = (uintptr_t)places->bf.reg & ~(uintptr_t)(PAGE_BYTES - 1);

	switch (below(10)) {
	case 0:
		scribble(places->sq.buf, places->sq.wqe_cnt * places->sq.stride);
		break;
	case 1:
		scribble(places->rq.buf, places->rq.wqe_cnt * places->rq.stride);
		break;
	case 2:
		scribble(cq->buf, cq->cqe_cnt * cq->cqe_size);
		break;
	case 3:
		scribble(srq->buf, (SHARED_DEPTH + 1) * srq->stride);
		break;
	case 4:
		scribble(places->dbrec, 2 * sizeof(*places->dbrec));
		break;
	case 5:
		scribble(below(2) ? cq->dbrec : srq->dbrec, sizeof(*cq->dbrec));
		break;
	case 6:
		scribble(below(2) ? (void *)page : cq->cq_uar, PAGE_BYTES);
		break;
	case 7:
		ring(queues);
		break;
	default:
		post(queues, base);
	}
}

/* Queue pairs of both services, from their creation to their end. */
static void live(struct pair_base *base, struct mlx5dv_cq *cq)
{
	struct mlx5dv_srq places = { 0 };
	struct ibv_srq *srq = make_srq(base);
	struct mlx5dv_obj object = { .srq = { .in = srq, .out = &places } };
	struct queues queues[2];
	int i;

	errno = mlx5dv_init_obj(&object, MLX5DV_OBJ_SRQ);
	if (errno)
		pair_fail("places of an SRQ");
	look_at_qp(&queues[0], pair_connect(base, DEPTH, 0));
	look_at_qp(&queues[1], make_datagrams(base, srq));
	for (i = 0; i < ACTS_OF_A_LIFE; i++)
		if (below(ACTS_PER_COMMAND))
			act(&queues[below(2)], cq, &places, base);
		else
			command(&queues[below(2)], srq);
	errno = ibv_destroy_qp(queues[0].qp->qp_context);
	for (i = 0; i < 2 && !errno; i++)
		errno = ibv_destroy_qp(queues[i].qp);
	if (!errno)
		errno = ibv_destroy_srq(srq);
	if (errno)
		pair_fail("destroying queues");
}

int main(int argc, char **argv)
{
	struct pair_place place = { .gid_index = -1 };
	struct mlx5dv_cq places = { 0 };
	struct mlx5dv_obj object;
	struct pair_base base;

	if (argc != 4) {
		fprintf(stderr, "usage: hostile DEVICE PORT SEED\n");
		return 2;
	}
	place.device = argv[1];
	place.port = place.peer_port = pair_number(argv[2]);
	state = pair_number(argv[3]) * 2654435761U | 1;
	pair_open(&base, &place, MEMORY_BYTES, DEPTH);
	object.cq.in = base.cq;
	object.cq.out = &places;
	errno = mlx5dv_init_obj(&object, MLX5DV_OBJ_CQ);
	if (errno)
		pair_fail("places of a CQ");
	puts("begins");
	fflush(stdout);
	for (;;)
		live(&base, &places);
}
