// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Connected pairs of RC queue pairs: creation, RDMA WRITEs, completions. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "pair.h"

#define POLL_MAX 16
#define REACH (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)

/* Prints what failed, and the reason that errno gives. */
void pair_fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

static void *checked(void *pointer, const char *what)
{
	if (!pointer)
		pair_fail(what);
	return pointer;
}

/* Functions of verbs return an error number. */
static void check(int error, const char *what)
{
	errno = error;
	if (error)
		pair_fail(what);
}

unsigned long pair_number(const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	errno = EINVAL;
	if (*end || end == text)
		pair_fail(text);
	return value;
}

/* The endpoints from the arguments DEVICE GID_INDEX PORT PEER_PORT. */
struct pair_place pair_place(char **words)
{
	return (struct pair_place){
		.device = words[0],
		.gid_index = atoi(words[1]),
		.port = pair_number(words[2]),
		.peer_port = pair_number(words[3]),
	};
}

/* The time since an arbitrary moment. */
double pair_now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static struct ibv_context *open_device(const char *name)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	size_t i;

	for (i = 0; devices && devices[i]; i++)
		if (!strcmp(ibv_get_device_name(devices[i]), name))
			return checked(ibv_open_device(devices[i]), name);
	errno = ENODEV;
	pair_fail(name);
	return NULL;
}

void pair_open(struct pair_base *base, const struct pair_place *place,
	       size_t bytes, int completions)
{
	base->place = *place;
	base->context = open_device(place->device);
	base->pd = checked(ibv_alloc_pd(base->context), "allocating a PD");
	base->cq = checked(ibv_create_cq(base->context, completions, NULL, NULL, 0),
			   "creating a CQ");
	base->region = checked(ibv_reg_mr(base->pd,
					  checked(calloc(1, bytes), "memory"),
					  bytes, REACH),
			       "registering memory");
}

static struct ibv_qp *create(struct pair_base *base, uint32_t depth,
			     uint32_t create_flags)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = base->cq,
		.recv_cq = base->cq,
		.cap = { .max_send_wr = depth, .max_recv_wr = 1,
			 .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = base->pd,
	};

	if (create_flags) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
		attr.create_flags = create_flags;
	}
	return checked(ibv_create_qp_ex(base->context, &attr), "creating a QP");
}

static void to_init(struct ibv_qp *qp, uint8_t port)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = port,
		.qp_access_flags = REACH,
	};

	check(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
			    IBV_QP_PORT | IBV_QP_ACCESS_FLAGS), "to INIT");
}

/* Sets the path from @port to @peer_port. */
static void find_path(struct pair_base *base, struct ibv_qp_attr *attr,
		      uint8_t port, uint8_t peer_port)
{
	struct ibv_ah_attr *path = &attr->ah_attr;
	struct ibv_port_attr peer;
	int gid_index = base->place.gid_index;

	check(ibv_query_port(base->context, peer_port, &peer), "a port");
	attr->path_mtu = peer.active_mtu;
	path->port_num = port;
	path->dlid = peer.lid;
	if (gid_index < 0)
		return;
	path->is_global = 1;
	path->grh.sgid_index = gid_index;
	path->grh.hop_limit = 64;
	check(ibv_query_gid(base->context, peer_port, gid_index,
			    &path->grh.dgid),
	      "a GID");
}

static void connect_to(struct pair_base *base, struct ibv_qp *qp, uint8_t port,
		       struct ibv_qp *peer, uint8_t peer_port)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.dest_qp_num = peer->qp_num,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 12,
	};

	find_path(base, &attr, port, peer_port);
	check(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV |
			    IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
	      "to RTR");
	attr.qp_state = IBV_QPS_RTS;
	attr.timeout = 20;
	attr.retry_cnt = 7;
	attr.rnr_retry = 7;
	attr.max_rd_atomic = 1;
	check(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT |
			    IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
	      "to RTS");
}

/* The end that posts; its context is the other end, which only answers. */
struct ibv_qp *pair_connect(struct pair_base *base, uint32_t depth,
			    uint32_t create_flags)
{
	const struct pair_place *place = &base->place;
	struct ibv_qp *qp = create(base, depth, create_flags);
	struct ibv_qp *peer = create(base, 1, 0);

	to_init(qp, place->port);
	to_init(peer, place->peer_port);
	connect_to(base, peer, place->peer_port, qp, place->port);
	connect_to(base, qp, place->port, peer, place->peer_port);
	qp->qp_context = peer;
	return qp;
}

/* Posts a signaled WRITE of the region's first bytes onto themselves. */
void pair_write(struct pair_base *base, struct ibv_qp *qp, uint32_t bytes)
{
	uint64_t address = (uintptr_t)base->region->addr;
	struct ibv_sge element = {
		.addr = address,
		.length = bytes,
		.lkey = base->region->lkey,
	};
	struct ibv_send_wr wr = {
		.sg_list = &element,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { .remote_addr = address,
			     .rkey = base->region->rkey },
	};
	struct ibv_send_wr *bad;

	check(ibv_post_send(qp, &wr, &bad), "posting");
}

/* Number of WRITEs that have completed since the last call. */
unsigned int pair_poll(struct pair_base *base)
{
	struct ibv_wc completions[POLL_MAX];
	int count = ibv_poll_cq(base->cq, POLL_MAX, completions);
	int i;

	if (count < 0)
		pair_fail("polling");
	for (i = 0; i < count; i++)
		if (completions[i].status != IBV_WC_SUCCESS) {
			fprintf(stderr, "a WRITE ended with %s\n",
				ibv_wc_status_str(completions[i].status));
			exit(1);
		}
	return count;
}
