// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Many messages over connected QPs, of random operation, size and shape,
 * signalled or not, by every way of posting. Each payload is checked where it
 * arrives. Several streams run on the same CQs at once.
 */
#include <linux/slab.h>

#include "vt_stream.h"

/* A stream has 1/VT_SHARE of the messages of the datagram suite. */
#define VT_SHARE	10

/* Checks the payload of a message that arrived, and the bytes behind it. */
static bool vt_arrived(struct vt_streams *all, struct vt_stream *stream,
		       unsigned int number)
{
	struct vt_message *message = &stream->messages[number % VT_WINDOW];
	bool fetch = vt_is_fetch(message->opcode);
	u8 *bytes = all->areas.bytes[!fetch] + vt_stream_slot(stream, number);

	return VT_CHECK(all->t, vt_holds(bytes, message->length,
					 vt_stream_key(stream, number)),
			"stream %u, message %u, opcode %u, %u bytes",
			stream->number, number, message->opcode,
			message->length) &&
	       VT_CHECK(all->t, vt_is_poison(bytes + message->length, VT_MARGIN),
			"stream %u, message %u, opcode %u, %u bytes ran over",
			stream->number, number, message->opcode,
			message->length);
}

static void vt_retire(struct vt_stream *stream)
{
	struct vt_message *message;

	while (stream->done < stream->sent) {
		message = &stream->messages[stream->done % VT_WINDOW];
		if (message->sending || message->receiving)
			return;
		stream->done++;
	}
}

/* A completion also covers all earlier messages that were not signalled. */
static bool vt_sent(struct vt_streams *all, struct vt_stream *stream,
		    const struct vuhca_wc *wc)
{
	struct vt_message *message;

	if (!VT_CHECK(all->t, wc->wr_id >= stream->completed &&
		      wc->wr_id < stream->sent, "stream %u: %llu after %u",
		      stream->number, wc->wr_id, stream->completed))
		return false;
	while (stream->completed <= wc->wr_id) {
		message = &stream->messages[stream->completed % VT_WINDOW];
		message->sending = false;
		if ((message->opcode == VUHCA_SEND_OPCODE_RDMA_WRITE ||
		     vt_is_fetch(message->opcode)) &&
		    !vt_arrived(all, stream, stream->completed))
			return false;
		stream->completed++;
	}
	return true;
}

static bool vt_came(struct vt_streams *all, struct vt_stream *stream,
		    const struct vuhca_wc *wc)
{
	struct vt_message *message;

	/* Slots of completed messages are reused. */
	stream->received = max(stream->received, stream->done);
	while (stream->received < stream->sent &&
	       !stream->messages[stream->received % VT_WINDOW].receiving)
		stream->received++;
	message = &stream->messages[stream->received % VT_WINDOW];
	message->receiving = false;
	return VT_EQUAL(all->t, wc->wr_id, stream->received) &&
	       VT_EQUAL(all->t, wc->byte_length, message->length) &&
	       VT_EQUAL(all->t, wc->has_immediate,
			message->opcode != VUHCA_SEND_OPCODE_SEND) &&
	       VT_EQUAL(all->t, wc->immediate, wc->has_immediate ?
			~stream->received : 0) &&
	       vt_arrived(all, stream, stream->received++);
}

static bool vt_stream_take(struct vt_streams *all, const struct vuhca_wc *wc)
{
	struct vt_stream *stream;
	unsigned int i, end;
	bool good;

	for (i = 0; i < all->count; i++) {
		stream = &all->streams[i];
		end = wc->receive ? !stream->from : stream->from;
		if (stream->pair->end[end].qp == wc->qp)
			break;
	}
	if (!VT_CHECK(all->t, i < all->count, "a completion of another QP") ||
	    !VT_EQUAL(all->t, wc->status, VUHCA_COMPLETION_STATUS_SUCCESS))
		return false;
	good = wc->receive ? vt_came(all, stream, wc) : vt_sent(all, stream, wc);
	vt_retire(stream);
	return good;
}

static int vt_streams_poll(struct vt_streams *all, struct vuhca_cq *cq)
{
	int i, found = vuhca_poll_cq(cq, VT_WCS, all->wc);

	for (i = 0; i < found; i++)
		if (!vt_stream_take(all, &all->wc[i]))
			return -EIO;
	return found;
}

static bool vt_streams_done(struct vt_streams *all)
{
	unsigned int i;

	for (i = 0; i < all->count; i++)
		if (all->streams[i].done < all->total)
			return false;
	return true;
}

/* Sends and receives until all messages are done or there is no progress. */
static void vt_streams_pump(struct vt_streams *all)
{
	ktime_t progress = ktime_get();
	unsigned int i, nap_us = 0;
	int sends, receives;

	while (!vt_streams_done(all)) {
		for (i = 0; i < all->count; i++)
			if (!vt_stream_send(all, &all->streams[i]))
				return;
		sends = vt_streams_poll(all, all->t->send_cq.cq);
		receives = sends < 0 ? 0 :
			   vt_streams_poll(all, all->t->recv_cq.cq);
		if (sends < 0 || receives < 0)
			return;
		if (sends + receives) {
			progress = ktime_get();
			nap_us = 0;
		} else if (ktime_ms_delta(ktime_get(), progress) > VT_TIMEOUT_MS) {
			return;
		} else {
			vt_nap(&nap_us);
		}
	}
}

static void vt_streams_run(struct vt_streams *all)
{
	ktime_t start = ktime_get();
	struct vt *t = all->t;
	unsigned int i;

	all->total = max(vt_count() / VT_SHARE, 100U);
	vt_streams_pump(all);
	for (i = 0; i < all->count; i++)
		VT_CHECK(t, all->streams[i].done == all->total,
			 "stream %u: %u sent, %u completed, %u done; QP states %d, %d",
			 i, all->streams[i].sent, all->streams[i].completed,
			 all->streams[i].done,
			 vt_qp_state(all->streams[i].pair->end[0].qp),
			 vt_qp_state(all->streams[i].pair->end[1].qp));
	vt_note(t, "%u streams, %u messages each, %llu bytes, %lld ms",
		all->count, all->total, all->bytes,
		ktime_ms_delta(ktime_get(), start));
}

static bool vt_add_stream(struct vt_streams *all, struct vt_pair *pair,
			  unsigned int from)
{
	struct vt_stream *stream = &all->streams[all->count];

	stream->pair = pair;
	stream->from = from;
	stream->number = all->count++;
	return true;
}

/* Runs one stream each way over each of the pairs, or only from end 0. */
static void vt_streams(struct vt *t, const struct vt_pair_options *options,
		       unsigned int pairs, bool both_ways,
		       enum vuhca_post_mode mode, unsigned int batch)
{
	struct vt_streams *all = kzalloc(sizeof(*all), GFP_KERNEL);
	bool ready = true;
	unsigned int i;

	VT_REQUIRE(t, all, "no memory");
	all->t = t;
	all->mode = mode;
	all->batch = batch;
	if (!vt_areas_create(t, &all->areas))
		goto free;
	for (i = 0; i < pairs && ready; i++) {
		all->pair_count++;
		ready = vt_pair_create(t, &all->pairs[i], &options[i]) &&
			vt_add_stream(all, &all->pairs[i], 0) &&
			(!both_ways || vt_add_stream(all, &all->pairs[i], 1));
	}
	if (ready)
		vt_streams_run(all);
	for (i = 0; i < all->pair_count; i++)
		vt_pair_destroy(&all->pairs[i]);
	vt_areas_destroy(t, &all->areas);
free:
	kfree(all);
}

static const struct vt_pair_options vt_rc = { .path_mtu = 4 };
static const struct vt_pair_options vt_uc = {
	.service = VUHCA_SERVICE_TYPE_UC, .path_mtu = 3,
};

static void vt_rc_collect(struct vt *t)
{
	vt_streams(t, &vt_rc, 1, false, VUHCA_POST_COLLECT, 1);
}

static void vt_rc_doorbell(struct vt *t)
{
	vt_streams(t, &vt_rc, 1, false, VUHCA_POST_DOORBELL, 1);
}

static void vt_rc_batches(struct vt *t)
{
	vt_streams(t, &vt_rc, 1, true, VUHCA_POST_DOORBELL, VT_WINDOW);
}

static void vt_uc_collect(struct vt *t)
{
	vt_streams(t, &vt_uc, 1, true, VUHCA_POST_COLLECT, 1);
}

static void vt_uc_batches(struct vt *t)
{
	vt_streams(t, &vt_uc, 1, false, VUHCA_POST_DOORBELL, VT_WINDOW);
}

/* Four pairs, both ways, over all combinations of ports and two services. */
static void vt_interleaved(struct vt *t)
{
	static const struct vt_pair_options options[] = {
		{ .path_mtu = 1 },
		{ .from = 2, .to = 2, .path_mtu = 3 },
		{ .service = VUHCA_SERVICE_TYPE_UC, .path_mtu = 2 },
		{ .from = 2, .to = 1, .path_mtu = 5 },
	};

	vt_streams(t, options, ARRAY_SIZE(options), true, VUHCA_POST_COLLECT, 2);
	vt_streams(t, options, ARRAY_SIZE(options), true, VUHCA_POST_DOORBELL,
		   VT_WINDOW);
}

static const struct vt_case vt_cases[] = {
	{ "rc-collect", vt_rc_collect },
	{ "rc-doorbell", vt_rc_doorbell },
	{ "rc-batches", vt_rc_batches },
	{ "uc-collect", vt_uc_collect },
	{ "uc-batches", vt_uc_batches },
	{ "interleaved", vt_interleaved },
};
VT_SUITE(connected_bulk, vt_cases);
