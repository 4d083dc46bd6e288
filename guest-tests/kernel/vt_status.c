// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* State of completion queues, fault registers, ports and QPs. */
#include "vt.h"

#define VT_NAP_MAX_US	1000U

/*
 * Sleeps between two looks at what another one changes, twice as long each
 * time: each look costs an emulated processor as much as it does work. @us is 0
 * before the first look, and after progress.
 */
void vt_nap(unsigned int *us)
{
	*us = clamp(2 * *us, 20U, VT_NAP_MAX_US);
	usleep_range(*us, *us + *us / 2);
}

/*
 * Polls until there are @count completions or the time is up; returns their
 * number.
 */
unsigned int vt_poll(struct vuhca_cq *cq, struct vuhca_wc *wc,
		     unsigned int count, unsigned int timeout_ms)
{
	ktime_t end = ktime_add_ms(ktime_get(), timeout_ms);
	unsigned int found = vuhca_poll_cq(cq, count, wc);
	unsigned int more, nap_us = 0;

	while (found < count && ktime_before(ktime_get(), end)) {
		vt_nap(&nap_us);
		more = vuhca_poll_cq(cq, count - found, wc + found);
		found += more;
		if (more)
			nap_us = 0;
	}
	return found;
}

/* Tests that the CQ has had @count entries in all; none is overwritten yet. */
bool vt_has_entries(struct vuhca_cq *cq, u32 count)
{
	u32 slot = (count - 1) & (BIT(cq->entries_log2) - 1);

	return le32_to_cpu(READ_ONCE(cq->entries[slot].sequence)) == count;
}

/* Waits until the CQ has had @count events in all. */
bool vt_wait_event(struct vt_cq *watch, int count, unsigned int timeout_ms)
{
	return wait_event_timeout(watch->wait,
				  atomic_read(&watch->completions) >= count,
				  msecs_to_jiffies(timeout_ms)) > 0;
}

u32 vt_fault_count(struct vt *t, enum vuhca_fault_kind kind)
{
	return vuhca_read_csr(t->dev, VUHCA_CSR_FAULT_COUNT_OFF +
			      kind * VUHCA_CSR_FAULT_COUNT_STRIDE);
}

void vt_clear_first_fault(struct vt *t)
{
	vuhca_write_csr(t->dev, VUHCA_CSR_FIRST_FAULT_KIND_OFF, U32_MAX);
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_FIRST_FAULT_KIND_OFF),
		 VUHCA_FAULT_KIND_NONE);
}

void vt_expect_first_fault(struct vt *t, enum vuhca_fault_kind kind, u32 object)
{
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_FIRST_FAULT_KIND_OFF), kind);
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_FIRST_FAULT_OBJECT_OFF),
		 object);
	VT_CHECK(t, vuhca_read_csr64(t->dev, VUHCA_CSR_FIRST_FAULT_TIME_OFF),
		 "the record has no time");
}

u64 vt_port_drops(struct vt *t, unsigned int port)
{
	return vuhca_read_csr64(t->dev, VUHCA_CSR_PORT_RECEIVE_DROPS_OFF +
				(port - 1) *
				VUHCA_CSR_PORT_RECEIVE_DROPS_STRIDE);
}

/* Returns the state that the adapter reports, or an error. */
int vt_qp_state(struct vuhca_qp *qp)
{
	struct vuhca_qp_creation creation;
	struct vuhca_qp_attributes attributes;
	int err = vuhca_query_qp(qp, &creation, &attributes);

	return err ? err : (int)vuhca_qp_attributes_get_state(&attributes);
}

/*
 * Executes a command and returns 0 with the answer of any status, or an error.
 */
int vt_command(struct vt *t, u8 opcode, u32 object, const void *payload,
	       size_t payload_bytes, struct vuhca_answer *answer)
{
	struct vuhca_command command = {
		.opcode = opcode,
		.object = object,
		.payload = payload,
		.payload_bytes = payload_bytes,
	};
	struct vuhca_admin *admin = &t->dev->admin;
	size_t length;
	int err;

	mutex_lock(&admin->lock);
	length = vuhca_admin_prepare(t->dev, &command, admin->command);
	err = vuhca_admin_submit(t->dev, admin->command, length, answer);
	mutex_unlock(&admin->lock);
	return err;
}
