// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Counters of a load. All counters of the driver are read under the lock of the
 * event queue, so that relations between them hold however long a busy host
 * stops a processor: each poll, interrupt and handler counts wholly or not at
 * all.
 */
#include "interrupts_count.h"

/* The event queue of all CQs of the load. */
struct vuhca_eq *load_eq(void)
{
	return &load_dev->eqs[load_dev->eq_count - 1];
}

u64 load_completions(void)
{
	u64 sum = 0;
	unsigned int i;

	for (i = 0; i < LOAD_QUEUES; i++)
		sum += READ_ONCE(load_queues[i].completed);
	return sum;
}

/* Requests the next event of the queue's CQ, in its handler. */
void load_ask(struct load_queue *queue)
{
	const struct vuhca_poller *poller = &load_eq()->poller;
	bool polled = READ_ONCE(poller->polling);
	u64 before = queue->cq->notifies;
	u64 asked;

	vuhca_arm_cq(queue->cq, false);
	asked = queue->cq->notifies - before;
	queue->asked += asked;
	if (polled && READ_ONCE(poller->polling))
		queue->asked_polled += asked;
}

/* Adds the driver's counters, multiplied by @sign, to the result. */
static void load_count(struct load_result *result, int sign)
{
	struct vuhca_eq *eq = load_eq();
	unsigned int i;

	spin_lock_irq(&eq->lock);
	result->interrupts += sign * eq->interrupts;
	result->events += sign * eq->events;
	result->polls += sign * eq->poller.polls;
	result->switches += sign * eq->poller.switches;
	result->polled_interrupts += sign * eq->poller.interrupts;
	result->completions += sign * load_completions();
	for (i = 0; i < LOAD_QUEUES; i++) {
		result->notifies += sign * load_queues[i].cq->notifies;
		result->asked += sign * load_queues[i].asked;
		result->asked_polled += sign * load_queues[i].asked_polled;
		result->waited_ns += sign * load_queues[i].waited_ns;
	}
	spin_unlock_irq(&eq->lock);
}

/* The adapter's count of events whose poll was late. */
static int load_count_late(struct load_result *result, int sign)
{
	struct vuhca_eq_attributes attributes = {};
	int err = vuhca_query_eq(load_eq(), &attributes);

	result->late += sign * (s64)le32_to_cpu(attributes.unresponsive);
	return err;
}

/* Begins to count. Late polls before the first interrupt count, too. */
int load_begin(struct load_result *result)
{
	int err = load_count_late(result, -1);

	load_count(result, -1);
	return err;
}

int load_end(struct load_result *result)
{
	load_count(result, 1);
	return load_count_late(result, 1);
}

/* Writes the result as a line of JSON, and returns its length. */
int load_print(const struct load_result *result, char *text, size_t length)
{
	return scnprintf(text, length,
			 "{\"way\":%u,\"rate\":%u,\"elapsedNs\":%llu,\"completions\":%llu,\"interrupts\":%llu,\"events\":%llu,\"polls\":%llu,\"switches\":%llu,\"polledInterrupts\":%llu,\"late\":%llu,\"notifies\":%llu,\"asked\":%llu,\"askedPolled\":%llu,\"waitedNs\":%llu}\n",
			 result->way, result->rate, result->elapsed_ns,
			 result->completions, result->interrupts, result->events,
			 result->polls, result->switches,
			 result->polled_interrupts, result->late,
			 result->notifies, result->asked, result->asked_polled,
			 result->waited_ns);
}
