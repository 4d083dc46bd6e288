// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Polling of event queues. A poll reads the primary summary byte; only when
 * that is set it takes what the secondary bytes announce (vuhca_eq_bytes.c).
 * CQs with completions all the time are kept, and need no events
 * (vuhca_eq_kept.c). vuhca_eq_worker.c decides when queues are polled.
 */
#include <linux/module.h>

#include "vuhca_internal.h"

/*
 * The adapter sets the primary byte at the first event of a queue only. Later
 * events may not set it, so every second poll reads the other bytes anyway.
 */
#define VUHCA_POLLS_PER_READ	2

static bool adaptive = true;
module_param(adaptive, bool, 0644);
MODULE_PARM_DESC(adaptive, "Poll event queues whose completions come fast");

/**
 * vuhca_set_adaptive() - Allow or forbid polling of event queues whose
 *	completions come fast.
 * @on: Polling is allowed.
 *
 * For tests and comparisons. A queue that is being polled stays polled until it
 * is quiet.
 *
 * Context: Any context.
 * Return: The former setting.
 */
bool vuhca_set_adaptive(bool on)
{
	return xchg(&adaptive, on);
}
EXPORT_SYMBOL_GPL(vuhca_set_adaptive);

bool vuhca_is_adaptive(void)
{
	return READ_ONCE(adaptive);
}

/**
 * vuhca_modify_eq() - Set the effect of later events of an EQ.
 * @eq: Event queue.
 * @controls: Interrupt, primary summary byte, or both.
 * @delay_ns: Delay of the next interrupt after an event, in ns.
 *
 * Context: May sleep.
 * Return: 0, or the error of vuhca_admin_execute().
 */
int vuhca_modify_eq(struct vuhca_eq *eq, enum vuhca_eq_control controls,
		    u64 delay_ns)
{
	struct vuhca_eq_attributes attributes = {
		.attribute_mask = cpu_to_le32(VUHCA_EQ_MASK_CONTROLS |
					      VUHCA_EQ_MASK_DELAY),
		.controls = controls,
		.next_interrupt_delay_ns = cpu_to_le64(delay_ns),
	};
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_MODIFY_EQ,
		.object = READ_ONCE(eq->eqn),
		.payload = &attributes,
		.payload_bytes = sizeof(attributes),
	};
	struct vuhca_answer answer;

	return vuhca_admin_execute(eq->dev, &command, &answer);
}
EXPORT_SYMBOL_GPL(vuhca_modify_eq);

/**
 * vuhca_query_eq() - Query the attributes of an EQ.
 * @eq: Event queue.
 * @attributes: Receives the attributes.
 *
 * Context: May sleep.
 * Return: 0, or the error of vuhca_admin_execute().
 */
int vuhca_query_eq(struct vuhca_eq *eq, struct vuhca_eq_attributes *attributes)
{
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_QUERY_EQ,
		.object = READ_ONCE(eq->eqn),
	};
	struct vuhca_answer answer;
	int err = vuhca_admin_execute(eq->dev, &command, &answer);

	if (!err)
		memcpy(attributes, answer.payload, sizeof(*attributes));
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_query_eq);

/**
 * vuhca_poll_eq() - Consume the events that the summary bytes announce.
 * @eq: Event queue.
 *
 * Context: Any context. Takes eq->lock and runs handlers under it.
 * Return: Number of events consumed.
 */
unsigned int vuhca_poll_eq(struct vuhca_eq *eq)
{
	struct vuhca_poller *poller = &eq->poller;
	unsigned int count = 0;
	unsigned long flags;

	spin_lock_irqsave(&eq->lock, flags);
	poller->polls++;
	if (!eq->eqn)
		goto unlock;
	if (!vuhca_poll_uses(VUHCA_POLL_BYTES))
		count = vuhca_eq_process(eq);
	else if (READ_ONCE(poller->summary->primary) ||
		 ++poller->polls_since_read >= VUHCA_POLLS_PER_READ)
		count = vuhca_eq_take_marked(eq);
	else
		poller->idle_polls++;
	vuhca_poller_poll_kept(eq);
	poller->crowded += poller->crowd;
	poller->crowd = false;
unlock:
	spin_unlock_irqrestore(&eq->lock, flags);
	return count;
}
EXPORT_SYMBOL_GPL(vuhca_poll_eq);
