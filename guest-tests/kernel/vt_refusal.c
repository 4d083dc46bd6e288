// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Management commands that must be refused: each with the status of its fault
 * and the offset of the field at fault, and without any change.
 */
#include "vt_refusal.h"

static void vt_opcodes(struct vt *t)
{
	static const u8 opcodes[] = { 0x00, 0x03, 0x14, 0x24, 0x54, 0x80, 0xff };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(opcodes); i++)
		vt_refuse(t, "opcode", opcodes[i], 0, NULL, 0,
			  VUHCA_MANAGEMENT_STATUS_BAD_OPCODE, -1);
}

static void vt_lengths(struct vt *t)
{
	u8 zeros[VUHCA_INLINE_MAX_BYTES] = {};

	vt_refuse(t, "query with payload", VUHCA_MANAGEMENT_OPCODE_QUERY_PD,
		  t->pd->pdn, zeros, 8, VUHCA_MANAGEMENT_STATUS_BAD_LENGTH, -1);
	vt_refuse(t, "MR without payload", VUHCA_MANAGEMENT_OPCODE_CREATE_MR, 0,
		  NULL, 0, VUHCA_MANAGEMENT_STATUS_BAD_LENGTH, -1);
	vt_refuse(t, "QP too short", VUHCA_MANAGEMENT_OPCODE_CREATE_QP, 0,
		  zeros, sizeof(struct vuhca_qp_creation) - 8,
		  VUHCA_MANAGEMENT_STATUS_BAD_LENGTH, -1);
	vt_refuse(t, "EQ too long", VUHCA_MANAGEMENT_OPCODE_CREATE_EQ, 0, zeros,
		  sizeof(zeros), VUHCA_MANAGEMENT_STATUS_BAD_LENGTH, -1);
}

/* A command with a length that no command has is dropped and counted. */
static void vt_impossible_length(struct vt *t)
{
	struct vuhca_admin *admin = &t->dev->admin;
	u32 before = vt_fault_count(t, VUHCA_FAULT_KIND_COLLECT_BAD_LENGTH);
	__le64 words[8] = {};
	struct vuhca_management_command *header = (void *)words;
	struct vuhca_answer answer;

	vuhca_management_command_set_opcode(header,
					    VUHCA_MANAGEMENT_OPCODE_QUERY_PD);
	vuhca_management_command_set_collect_length(header, 60);
	mutex_lock(&admin->lock);
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_DEDICATED_LOCK_OFF), 1);
	vuhca_write_eight(t->dev->dedicated, words);
	vt_drain_stores();
	VT_EQUAL(t, vt_fault_count(t, VUHCA_FAULT_KIND_COLLECT_BAD_LENGTH),
		 before + 1);
	vuhca_write_csr(t->dev, VUHCA_CSR_DEDICATED_LOCK_OFF, 0);
	mutex_unlock(&admin->lock);
	VT_EQUAL(t, vt_command(t, VUHCA_MANAGEMENT_OPCODE_QUERY_PD, t->pd->pdn,
			       NULL, 0, &answer), 0);
	VT_EQUAL(t, answer.status, VUHCA_MANAGEMENT_STATUS_OK);
}

/*
 * A damaged command is refused. Its response address may be damaged as well, so
 * nothing is written; the refusal is counted and recorded.
 */
static void vt_damaged(struct vt *t)
{
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_DESTROY_PD,
		.object = t->pd->pdn,
	};
	struct vuhca_admin *admin = &t->dev->admin;
	u32 refused = vt_refused_count(t);
	struct vuhca_answer answer;
	__le64 *words = (void *)admin->command;

	vt_clear_first_fault(t);
	mutex_lock(&admin->lock);
	vuhca_admin_prepare(t->dev, &command, words);
	words[4] ^= cpu_to_le64(1);
	memset(admin->response, VT_POISON, sizeof(*admin->response));
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_DEDICATED_LOCK_OFF), 1);
	__iowrite64_copy(t->dev->dedicated, words, VT_HEADER / 8);
	vt_drain_stores();
	VT_WAIT(t, vt_refused_count(t) == refused + 1);
	vuhca_write_csr(t->dev, VUHCA_CSR_DEDICATED_LOCK_OFF, 0);
	VT_CHECK(t, vt_is_poison(admin->response, sizeof(*admin->response)),
		 "a damaged command got an answer");
	mutex_unlock(&admin->lock);
	VT_EQUAL(t, vuhca_read_csr(t->dev, VUHCA_CSR_FIRST_FAULT_KIND_OFF),
		 VUHCA_FAULT_KIND_MANAGEMENT_RESPONSE);
	vt_clear_first_fault(t);
	VT_EQUAL(t, vt_command(t, VUHCA_MANAGEMENT_OPCODE_QUERY_PD, t->pd->pdn,
			       NULL, 0, &answer), 0);
	VT_EQUAL(t, answer.status, VUHCA_MANAGEMENT_STATUS_OK);
}

static void vt_objects(struct vt *t)
{
	static const struct {
		u8 opcode;
		size_t payload_bytes;
	} commands[] = {
		{ VUHCA_MANAGEMENT_OPCODE_MODIFY_PD, VUHCA_PD_ATTRIBUTES_SIZE },
		{ VUHCA_MANAGEMENT_OPCODE_QUERY_PD },
		{ VUHCA_MANAGEMENT_OPCODE_DESTROY_PD },
		{ VUHCA_MANAGEMENT_OPCODE_MODIFY_MR, VUHCA_MR_ATTRIBUTES_SIZE },
		{ VUHCA_MANAGEMENT_OPCODE_QUERY_MR },
		{ VUHCA_MANAGEMENT_OPCODE_DESTROY_MR },
		{ VUHCA_MANAGEMENT_OPCODE_MODIFY_CQ, VUHCA_CQ_ATTRIBUTES_SIZE },
		{ VUHCA_MANAGEMENT_OPCODE_QUERY_CQ },
		{ VUHCA_MANAGEMENT_OPCODE_DESTROY_CQ },
		{ VUHCA_MANAGEMENT_OPCODE_MODIFY_EQ, VUHCA_EQ_ATTRIBUTES_SIZE },
		{ VUHCA_MANAGEMENT_OPCODE_QUERY_EQ },
		{ VUHCA_MANAGEMENT_OPCODE_DESTROY_EQ },
		{ VUHCA_MANAGEMENT_OPCODE_MODIFY_QP, VUHCA_QP_ATTRIBUTES_SIZE },
		{ VUHCA_MANAGEMENT_OPCODE_QUERY_QP },
		{ VUHCA_MANAGEMENT_OPCODE_DESTROY_QP },
	};
	static const u32 numbers[] = { 0, VT_ABSENT, 0xffffff };
	u8 zeros[VUHCA_INLINE_MAX_BYTES] = {};
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(commands); i++)
		for (n = 0; n < ARRAY_SIZE(numbers); n++)
			vt_refuse(t, "no such object", commands[i].opcode,
				  numbers[n], zeros, commands[i].payload_bytes,
				  VUHCA_MANAGEMENT_STATUS_BAD_OBJECT, -1);
}

static void vt_destroyed(struct vt *t)
{
	struct vuhca_qp_creation creation;
	struct vuhca_qp_attributes now;
	struct vuhca_pd_attributes attributes = {};
	struct vuhca_answer answer;
	u32 pdn, mrn;

	vt_command(t, VUHCA_MANAGEMENT_OPCODE_CREATE_PD, 0, &attributes,
		   sizeof(attributes), &answer);
	VT_REQUIRE(t, answer.status == VUHCA_MANAGEMENT_STATUS_OK, "create");
	pdn = answer.object;
	vt_command(t, VUHCA_MANAGEMENT_OPCODE_DESTROY_PD, pdn, NULL, 0, &answer);
	VT_EQUAL(t, answer.status, VUHCA_MANAGEMENT_STATUS_OK);
	vt_refuse(t, "destroyed PD", VUHCA_MANAGEMENT_OPCODE_DESTROY_PD, pdn,
		  NULL, 0, VUHCA_MANAGEMENT_STATUS_BAD_OBJECT, -1);
	/*
	 * The number of an object of one class is not valid for another class.
	 */
	mrn = t->mr->number + 1000;
	vt_refuse(t, "PD as MR", VUHCA_MANAGEMENT_OPCODE_DESTROY_MR, mrn,
		  NULL, 0, VUHCA_MANAGEMENT_STATUS_BAD_OBJECT, -1);
	VT_EQUAL(t, vuhca_query_qp(t->end[0].qp, &creation, &now), 0);
}

static void vt_ports(struct vt *t)
{
	const u32 numbers[] = { 0, t->dev->port_count + 1, 0xffffffff };
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_QUERY_PORT,
	};
	struct vuhca_answer answer;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(numbers); i++) {
		command.modifier = numbers[i];
		VT_EQUAL(t, vuhca_admin_execute(t->dev, &command, &answer),
			 -EINVAL);
		VT_EQUAL(t, answer.status, VUHCA_MANAGEMENT_STATUS_BAD_FIELD);
		VT_EQUAL(t, answer.bad_offset,
			 offsetof(struct vuhca_management_command, modifier));
	}
}

static void vt_still_alive(struct vt *t)
{
	vt_alive(t);
}

static const struct vt_case vt_cases[] = {
	{ "opcode", vt_opcodes },
	{ "length", vt_lengths },
	{ "impossible-length", vt_impossible_length },
	{ "checksum", vt_damaged },
	{ "object", vt_objects },
	{ "destroyed", vt_destroyed },
	{ "mr-fields", vt_refusal_mr_fields },
	{ "cq-fields", vt_refusal_cq_fields },
	{ "eq-fields", vt_refusal_eq_fields },
	{ "qp-fields", vt_refusal_qp_fields },
	{ "qp-changes", vt_refusal_qp_changes },
	{ "port", vt_ports },
	{ "alive", vt_still_alive },
};
VT_SUITE(refusal, vt_cases);
