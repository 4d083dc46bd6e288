// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Exchanges of words between two guests. Words go out as lines of the suite's
 * output and come in by the file vuhca-test/peer; the host carries them
 * (guest-tests/peer-run.ts).
 */
#include <linux/debugfs.h>
#include <linux/kfifo.h>
#include <linux/module.h>

#include "vt_peer.h"

/*
 * Longer than the other guest takes to boot, or to fail in some waits; shorter
 * than the silence after which the host ends a guest.
 */
#define VT_PEER_TIMEOUT_MS	VT_TIMEOUT_MS
#define VT_LINE_BYTES		192

static unsigned int side;
module_param(side, uint, 0444);
MODULE_PARM_DESC(side, "Which of two guests this is, 0 or 1");

struct vt_message {
	u32 epoch;
	u32 step;
	u64 words[VT_WORDS];
};

static DEFINE_KFIFO(vt_messages, struct vt_message, 16);
static DECLARE_WAIT_QUEUE_HEAD(vt_arrived);
static u32 vt_epoch;

/* Each line is a message. */
static ssize_t vt_peer_write(struct file *file, const char __user *from,
			     size_t length, loff_t *offset)
{
	struct vt_message message;
	char line[VT_LINE_BYTES];
	u64 *w = message.words;

	if (length >= sizeof(line))
		return -EINVAL;
	if (copy_from_user(line, from, length))
		return -EFAULT;
	line[length] = 0;
	if (sscanf(line, "%u %u %llx %llx %llx %llx %llx", &message.epoch,
		   &message.step, w, w + 1, w + 2, w + 3, w + 4) != 7)
		return -EINVAL;
	if (!kfifo_put(&vt_messages, message))
		return -ENOSPC;
	wake_up(&vt_arrived);
	return length;
}

const struct file_operations vt_peer_fops = {
	.owner = THIS_MODULE,
	.open = nonseekable_open,
	.write = vt_peer_write,
};

void vt_ask_host(struct vt *t, const char *request)
{
	char line[VT_LINE_BYTES];

	vt_emit(t->run, line, scnprintf(line, sizeof(line), "@host %s\n",
					request));
}

static void vt_send_words(struct vt_peer *peer, const u64 *w)
{
	char line[VT_LINE_BYTES];

	vt_emit(peer->t->run, line,
		scnprintf(line, sizeof(line),
			  "@peer %u %u %llx %llx %llx %llx %llx\n", peer->epoch,
			  peer->step, w[0], w[1], w[2], w[3], w[4]));
}

/*
 * Takes the message of this step; skips those of cases that this side has given
 * up.
 */
static bool vt_receive_words(struct vt_peer *peer, struct vt_message *message)
{
	do {
		if (!wait_event_timeout(vt_arrived,
					kfifo_peek(&vt_messages, message),
					msecs_to_jiffies(VT_PEER_TIMEOUT_MS)))
			return false;
		if (message->epoch > peer->epoch)
			return false;
		kfifo_skip(&vt_messages);
	} while (message->epoch < peer->epoch || message->step < peer->step);
	return true;
}

/* Begins the exchanges of a new peer. */
void vt_exchange_begin(struct vt_peer *peer)
{
	peer->side = side;
	peer->epoch = ++vt_epoch;
}

/* Sends words to the other side and returns when its words have come. */
bool vt_exchange(struct vt_peer *peer, const u64 *mine, u64 *theirs)
{
	struct vt_message message;

	if (peer->lost)
		return false;
	peer->step++;
	vt_send_words(peer, mine);
	peer->lost = !vt_receive_words(peer, &message);
	if (!VT_CHECK(peer->t, !peer->lost,
		      "no answer from the other guest"))
		return false;
	memcpy(theirs, message.words, sizeof(message.words));
	return true;
}

bool vt_sync(struct vt_peer *peer)
{
	u64 words[VT_WORDS] = {};

	return vt_exchange(peer, words, words);
}
