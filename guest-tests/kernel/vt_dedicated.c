// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Several dedicated collect buffers (docs/DOCUMENTS.md decision 24): a lock and a
 * state for each, and commands that wait together. The driver itself has one
 * command at a time; the case takes the part of several processes.
 */
#include "vt.h"

#define VT_RESPONSE_BYTES	sizeof(struct vuhca_management_response)
/* A command that changes the token of the PD. */
#define VT_LENGTH		(sizeof(struct vuhca_management_command) + \
				 sizeof(struct vuhca_pd_attributes))
#define VT_TOKEN		0x7000

static u32 vt_state(struct vt *t, unsigned int buffer)
{
	return vuhca_read_csr(t->dev, VUHCA_CSR_DEDICATED_STATE_OFF +
			      buffer * VUHCA_CSR_DEDICATED_STATE_STRIDE);
}

static u8 __iomem *vt_page(struct vt *t, unsigned int buffer)
{
	return t->dev->dedicated + buffer * VUHCA_PAGE_BYTES;
}

/* Lays out the command of a buffer. Returns the sequence word of its answer. */
static u32 vt_lay_out(struct vt *t, unsigned int buffer)
{
	struct vuhca_pd_attributes attributes = {
		.token = cpu_to_le64(VT_TOKEN + buffer),
	};
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_MODIFY_PD,
		.object = t->pd->pdn,
		.payload = &attributes,
		.payload_bytes = sizeof(attributes),
	};
	struct vuhca_management_command *header = (void *)t->dev->admin.command;

	vuhca_admin_prepare(t->dev, &command, header);
	header->response_address =
		cpu_to_le64(t->dma + buffer * VT_RESPONSE_BYTES);
	vuhca_management_command_set_notify(header, 0);
	vuhca_admin_seal(header, VT_LENGTH);
	return VUHCA_RESPONSE_VALID | t->dev->admin.sequence;
}

static bool vt_answered(struct vt *t, unsigned int buffer, u32 sequence)
{
	const struct vuhca_management_response *response =
		(void *)(t->memory + buffer * VT_RESPONSE_BYTES);

	return le32_to_cpu(READ_ONCE(response->sequence)) == sequence;
}

static void vt_locks(struct vt *t)
{
	u32 faults, count = vt_csr(t, VUHCA_CSR_DEDICATED_COUNT_OFF);
	unsigned int i;

	mutex_lock(&t->dev->admin.lock);
	for (i = 0; i < count; i++) {
		VT_EQUAL(t, vt_state(t, i), 0);
		VT_EQUAL(t, vt_csr(t, VUHCA_CSR_DEDICATED_LOCK_OFF), i + 1);
		VT_EQUAL(t, vt_state(t, i),
			 VUHCA_CSR_DEDICATED_STATE_LOCKED_MASK);
	}
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_DEDICATED_LOCK_OFF), 0);
	faults = vt_fault_count(t, VUHCA_FAULT_KIND_REGISTER_RESERVED);
	vuhca_write_csr(t->dev, VUHCA_CSR_DEDICATED_LOCK_OFF, count + 1);
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_REGISTER_RESERVED),
		 faults + 1);
	for (i = count; i-- > 0;) {
		vuhca_write_csr(t->dev, VUHCA_CSR_DEDICATED_LOCK_OFF, i + 1);
		VT_EQUAL(t, vt_csr(t, VUHCA_CSR_DEDICATED_LOCK_OFF), i + 1);
		vuhca_write_csr(t->dev, VUHCA_CSR_DEDICATED_LOCK_OFF, i + 1);
	}
	mutex_unlock(&t->dev->admin.lock);
	vt_clear_first_fault(t);
}

/*
 * Each buffer holds a command without its last word. The last words arrive in
 * reverse order of the buffers, and the commands execute in that order: the
 * token is that of the first buffer.
 */
static void vt_waiting(struct vt *t)
{
	u32 count = vt_csr(t, VUHCA_CSR_DEDICATED_COUNT_OFF);
	struct vuhca_admin *admin = &t->dev->admin;
	const struct vuhca_pd_attributes *answered;
	u64 last[VUHCA_DEDICATED_MAX];
	u32 sequences[VUHCA_DEDICATED_MAX];
	struct vuhca_answer answer;
	unsigned int i;

	if (count < 2)
		return vt_skip(t, "there is one dedicated buffer");
	VT_REQUIRE(t, count <= VUHCA_DEDICATED_MAX, "%u buffers", count);
	memset(t->memory, 0, count * VT_RESPONSE_BYTES);
	mutex_lock(&admin->lock);
	for (i = 0; i < count; i++) {
		VT_EQUAL(t, vt_csr(t, VUHCA_CSR_DEDICATED_LOCK_OFF), i + 1);
		sequences[i] = vt_lay_out(t, i);
		last[i] = *(u64 *)(admin->command + VT_LENGTH - sizeof(u64));
		__iowrite64_copy(vt_page(t, i), admin->command,
				 VT_LENGTH / sizeof(u64) - 1);
	}
	vt_drain_stores();
	for (i = 0; i < count; i++)
		VT_EQUAL(t, vt_state(t, i),
			 VUHCA_CSR_DEDICATED_STATE_LOCKED_MASK |
			 VUHCA_CSR_DEDICATED_STATE_COLLECTING_MASK);
	for (i = count; i-- > 0;) {
		vuhca_write_eight(vt_page(t, i) + VT_LENGTH - sizeof(u64),
				  &last[i]);
		vt_drain_stores();
	}
	for (i = 0; i < count; i++) {
		VT_WAIT(t, vt_answered(t, i, sequences[i]));
		vuhca_write_csr(t->dev, VUHCA_CSR_DEDICATED_LOCK_OFF, i + 1);
	}
	mutex_unlock(&admin->lock);
	VT_EQUAL(t, vt_command(t, VUHCA_MANAGEMENT_OPCODE_QUERY_PD, t->pd->pdn,
			       NULL, 0, &answer), 0);
	answered = (const void *)answer.payload;
	VT_EQUAL(t, le64_to_cpu(answered->token), VT_TOKEN);
}

/* A second user holds the first buffer, so the driver takes another one. */
static void vt_beside(struct vt *t)
{
	struct vuhca_answer answer;

	if (vt_csr(t, VUHCA_CSR_DEDICATED_COUNT_OFF) < 2)
		return vt_skip(t, "there is one dedicated buffer");
	mutex_lock(&t->dev->admin.lock);
	VT_EQUAL(t, vt_csr(t, VUHCA_CSR_DEDICATED_LOCK_OFF), 1);
	mutex_unlock(&t->dev->admin.lock);
	VT_EQUAL(t, vt_command(t, VUHCA_MANAGEMENT_OPCODE_QUERY_PD, t->pd->pdn,
			       NULL, 0, &answer), 0);
	VT_EQUAL(t, answer.status, VUHCA_MANAGEMENT_STATUS_OK);
	VT_EQUAL(t, vt_state(t, 1), 0);
	vuhca_write_csr(t->dev, VUHCA_CSR_DEDICATED_LOCK_OFF, 1);
}

static const struct vt_case vt_cases[] = {
	{ "locks", vt_locks },
	{ "waiting", vt_waiting },
	{ "beside", vt_beside },
};
VT_SUITE(dedicated, vt_cases);
