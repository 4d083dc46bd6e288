// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Summary bytes of event queues. Each CQ has a secondary byte of its own, which
 * names it without a read of the entries; when these run out, further CQs share
 * one. Bytes are cleared before the CQ is called: an event in between sets them
 * again.
 */
#include "vuhca_internal.h"

static unsigned int poll_parts = VUHCA_POLL_BYTES | VUHCA_POLL_TIMERS;

/**
 * vuhca_set_poll_parts() - Set the means by which event queues are polled.
 * @parts: VUHCA_POLL_BYTES: polls look at summary bytes; otherwise they walk
 *	the entries. VUHCA_POLL_TIMERS: the adapter interrupts when a poll is
 *	late; otherwise it never does while a queue is polled.
 *
 * For comparisons. CQs that are created later have summary bytes of their own,
 * or none; a queue that is being polled keeps its timer until it is quiet.
 *
 * Context: Any context.
 * Return: The former setting.
 */
unsigned int vuhca_set_poll_parts(unsigned int parts)
{
	return xchg(&poll_parts, parts);
}
EXPORT_SYMBOL_GPL(vuhca_set_poll_parts);

bool vuhca_poll_uses(unsigned int part)
{
	return READ_ONCE(poll_parts) & part;
}

/*
 * Clears byte @i and calls the object that it stands for. Returns whether it has
 * one; the events of the others are in the entries.
 */
static bool vuhca_take_byte(struct vuhca_eq *eq, unsigned int i)
{
	struct vuhca_poller *poller = &eq->poller;

	WRITE_ONCE(poller->summary->secondary[i], 0);
	poller->marked++;
	if (!poller->objects[i])
		return false;
	/* Clear the byte before the object is looked at. */
	mb();
	eq->dev->event_ops->marked(eq->dev, poller->objects[i]);
	return true;
}

/*
 * Takes the events that secondary bytes announce; skips eight bytes at a time
 * that are clear. Returns their number. Sets @entries when a byte was set that
 * stands for no object: only the entries tell its events, and the byte that
 * announced them is clear now.
 */
static unsigned int vuhca_take_bytes(struct vuhca_eq *eq, bool *entries)
{
	struct vuhca_summary *summary = eq->poller.summary;
	unsigned int i, j, count = 0;

	eq->poller.polls_since_read = 0;
	WRITE_ONCE(summary->primary, 0);
	/* Clear the primary byte before the others are read. */
	mb();
	for (i = 0; i < VUHCA_SUMMARY_COUNT; i += sizeof(u64)) {
		if (!READ_ONCE(*(u64 *)&summary->secondary[i]))
			continue;
		for (j = i; j < i + sizeof(u64); j++) {
			if (!READ_ONCE(summary->secondary[j]))
				continue;
			if (vuhca_take_byte(eq, j))
				count++;
			else
				*entries = true;
		}
	}
	eq->poller.untaken += count;
	eq->events += count;
	return count;
}

/* Tells whether a byte is set. The caller holds eq->lock. */
bool vuhca_poller_is_marked(struct vuhca_eq *eq)
{
	const struct vuhca_summary *summary = eq->poller.summary;

	lockdep_assert_held(&eq->lock);
	return memchr_inv(summary->secondary, 0, VUHCA_SUMMARY_COUNT);
}

/* Takes all events, whatever the primary byte is, and returns the entries. */
unsigned int vuhca_eq_serve(struct vuhca_eq *eq)
{
	unsigned int count;
	bool entries;

	lockdep_assert_held(&eq->lock);
	count = vuhca_take_bytes(eq, &entries);
	/* An entry without a byte of its own is read after its byte was cleared. */
	mb();
	return count + vuhca_eq_process(eq);
}

/*
 * Takes the events that bytes announce. Entries are returned half a queue at a
 * time, which saves a store to the adapter for each poll.
 */
unsigned int vuhca_eq_take_marked(struct vuhca_eq *eq)
{
	bool entries = !eq->index;
	unsigned int count = vuhca_take_bytes(eq, &entries);

	if (!entries && eq->poller.untaken < BIT(eq->entries_log2 - 1))
		return count;
	/* As in vuhca_eq_serve(). */
	mb();
	return count + vuhca_eq_process(eq);
}

/* Puts the addresses of the summary bytes into the attributes of a new EQ. */
void vuhca_poller_describe(struct vuhca_eq *eq,
			   struct vuhca_eq_attributes *attributes)
{
	struct vuhca_poller *poller = &eq->poller;

	memset(poller->summary, 0, sizeof(*poller->summary));
	poller->active = false;
	poller->untaken = 0;
	attributes->primary_summary_address = cpu_to_le64(poller->dma);
	attributes->secondary_summary_address =
		cpu_to_le64(poller->dma +
			    offsetof(struct vuhca_summary, secondary));
	attributes->secondary_summary_count = cpu_to_le32(VUHCA_SUMMARY_COUNT);
}

/*
 * Assigns @object a secondary byte of its own, or the shared one, whose events
 * are found by their entries.
 */
u16 vuhca_poller_attach(struct vuhca_eq *eq, void *object)
{
	struct vuhca_poller *poller = &eq->poller;
	unsigned int i;

	if (!vuhca_poll_uses(VUHCA_POLL_BYTES))
		return VUHCA_SUMMARY_SHARED;
	spin_lock_irq(&eq->lock);
	for (i = 0; i < VUHCA_SUMMARY_SHARED && poller->objects[i]; i++)
		;
	if (i < VUHCA_SUMMARY_SHARED) {
		/* An earlier user of the byte may have left it set. */
		WRITE_ONCE(poller->summary->secondary[i], 0);
		poller->objects[i] = object;
	}
	spin_unlock_irq(&eq->lock);
	return i;
}

/* No handler of the object runs once this call has returned. */
void vuhca_poller_detach(struct vuhca_eq *eq, u16 index)
{
	spin_lock_irq(&eq->lock);
	if (index < VUHCA_SUMMARY_SHARED)
		eq->poller.objects[index] = NULL;
	spin_unlock_irq(&eq->lock);
}
