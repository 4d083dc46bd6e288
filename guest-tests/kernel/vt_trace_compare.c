// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The same messages with and without a trace: completions and memory of the
 * guest are equal, down to the failure at the end.
 */
#include <linux/crc32.h>

#include "vt_trace.h"

#define VT_SEEN_MAX	64
#define VT_LONGEST	5000

/*
 * The fields of a completion that a guest sees, other than times and numbers of
 * QPs.
 */
struct vt_seen {
	u64 wr_id;
	u32 byte_length;
	u32 immediate;
	u32 memory;
	u16 sequence;
	u8 status;
	u8 opcode;
	u8 vendor_error;
	u8 receive;
};

struct vt_comparison {
	struct vt_seen seen[2][VT_SEEN_MAX];
	unsigned int count[2];
	unsigned int traced;
	u64 blocks;
};

static const u8 vt_compared[] = {
	VUHCA_SEND_OPCODE_SEND,		VUHCA_SEND_OPCODE_SEND_IMMEDIATE,
	VUHCA_SEND_OPCODE_RDMA_WRITE,	VUHCA_SEND_OPCODE_RDMA_WRITE_IMMEDIATE,
	VUHCA_SEND_OPCODE_RDMA_READ,
};

/* The comparison of the case that runs; suites run one at a time. */
static struct vt_comparison *vt_comparing;

static void vt_note_seen(struct vt *t, struct vuhca_cq *cq,
			 struct vt_areas *areas)
{
	struct vt_comparison *c = vt_comparing;
	unsigned int at = c->count[c->traced];
	struct vt_seen *seen = &c->seen[c->traced][at];
	struct vuhca_wc wc = {};

	VT_REQUIRE(t, at < VT_SEEN_MAX, "too many completions");
	VT_REQUIRE(t, vt_poll(cq, &wc, 1, VT_TIMEOUT_MS) == 1, "%u", at);
	*seen = (struct vt_seen) {
		.wr_id = wc.wr_id,
		.byte_length = wc.byte_length,
		.immediate = wc.immediate,
		.memory = crc32_le(0, areas->bytes[0], VT_LONGEST) ^
			  crc32_le(~0, areas->bytes[1], VT_LONGEST),
		.sequence = wc.sequence,
		.status = wc.status,
		.opcode = wc.opcode,
		.vendor_error = wc.vendor_error,
		.receive = wc.receive,
	};
	c->count[c->traced]++;
}

static void vt_compared_message(struct vt_pair *pair, struct vt_areas *areas,
				u8 opcode, u32 length, u32 key)
{
	bool sends = opcode == VUHCA_SEND_OPCODE_SEND ||
		     opcode == VUHCA_SEND_OPCODE_SEND_IMMEDIATE;
	bool receives = sends ||
			opcode == VUHCA_SEND_OPCODE_RDMA_WRITE_IMMEDIATE;
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 0, length);
	struct vuhca_buffer there = vt_area_buffer(areas, 1, 0, length);
	struct vuhca_send_wr wr = vt_rdma_wr(areas, opcode, &here, 0);
	struct vt *t = pair->t;

	wr.wr_id = key;
	wr.immediate = ~key;
	vt_fill(areas->bytes[opcode == VUHCA_SEND_OPCODE_RDMA_READ], length, key);
	if (receives)
		VT_EQUAL(t, vt_pair_receive(pair, 1, sends ? &there : NULL,
					    key), 0);
	vt_post(pair, 0, &wr);
	/*
	 * The receiver of UC completes after the sender; memory is final then.
	 */
	if (receives) {
		vt_note_seen(t, t->recv_cq.cq, areas);
		vt_note_seen(t, t->send_cq.cq, areas);
	} else if (pair->options.service == VUHCA_SERVICE_TYPE_RC) {
		vt_note_seen(t, t->send_cq.cq, areas);
	} else {
		/* Only the memory tells that a WRITE of UC has arrived. */
		VT_WAIT(t, vt_holds(areas->bytes[1], length, key));
		vt_note_seen(t, t->send_cq.cq, areas);
	}
}

static void vt_compare_of_pair(struct vt_pair *pair, struct vt_areas *areas)
{
	static const u32 lengths[] = { 1, 256, 257, VT_LONGEST };
	bool reliable = pair->options.service == VUHCA_SERVICE_TYPE_RC;
	struct vt_trace_options options = { .blocks_log2 = 6, .snap_length = 600 };
	struct vuhca_buffer here = vt_area_buffer(areas, 0, 0, 64);
	struct vuhca_send_wr wr;
	struct vt *t = pair->t;
	unsigned int i, j, key = 1;

	if (vt_comparing->traced)
		for (i = 0; i < 2; i++)
			if (!vt_trace_enable(t, pair->end[i].qp, &options))
				return;
	memset(areas->bytes[0], 0, VT_LONGEST);
	memset(areas->bytes[1], 0, VT_LONGEST);
	for (i = 0; i < ARRAY_SIZE(vt_compared) - !reliable; i++)
		for (j = 0; j < ARRAY_SIZE(lengths); j++)
			vt_compared_message(pair, areas, vt_compared[i],
					    lengths[j], key++);
	here.lkey ^= 1;
	wr = vt_rdma_wr(areas, VUHCA_SEND_OPCODE_RDMA_WRITE, &here, 0);
	vt_post(pair, 0, &wr);
	vt_note_seen(t, t->send_cq.cq, areas);
	if (vt_comparing->traced)
		vt_comparing->blocks = vt_trace_head(t, pair->end[0].qp);
}

static void vt_compare(struct vt *t, u8 service)
{
	struct vt_pair_options options = { .service = service, .path_mtu = 1 };
	struct vt_comparison *c = vt_comparing;
	unsigned int i;

	memset(c, 0, sizeof(*c));
	for (c->traced = 0; c->traced < 2; c->traced++)
		vt_on_pair(t, &options, vt_compare_of_pair);
	if (t->skipped)
		return;
	VT_CHECK(t, c->count[0] > 20 && c->blocks > 16,
		 "%u completions, %llu blocks", c->count[0], c->blocks);
	VT_EQUAL(t, c->count[1], c->count[0]);
	for (i = 0; i < c->count[0]; i++)
		VT_CHECK(t, !memcmp(&c->seen[0][i], &c->seen[1][i],
				    sizeof(c->seen[0][i])),
			 "service %u, completion %u: status %u and %u", service,
			 i, c->seen[0][i].status, c->seen[1][i].status);
}

void vt_trace_changes_nothing(struct vt *t)
{
	vt_comparing = kzalloc(sizeof(*vt_comparing), GFP_KERNEL);
	VT_REQUIRE(t, vt_comparing, "no memory");
	vt_compare(t, VUHCA_SERVICE_TYPE_RC);
	vt_compare(t, VUHCA_SERVICE_TYPE_UC);
	kfree(vt_comparing);
	vt_comparing = NULL;
}
