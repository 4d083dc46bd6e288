// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Memory windows: remote access to a range of a memory region, which work
 * requests grant and revoke (IBTA 10.6.7). A window of type 1 is bound again or
 * unbound; a window of type 2 belongs to the QP that bound it, and invalidation
 * revokes it.
 */
#include <linux/slab.h>

#include "vuhca_internal.h"

/**
 * vuhca_alloc_mw() - Create a memory window.
 * @pd: PD of the window.
 * @kind: Type 1 or type 2 (IBTA 10.6.7).
 *
 * Context: May sleep.
 * Return: The window, or an ERR_PTR() as of vuhca_get_dma_mr().
 */
struct vuhca_mw *vuhca_alloc_mw(struct vuhca_pd *pd, enum vuhca_mw_kind kind)
{
	struct vuhca_mw_attributes attributes = {};
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_CREATE_MW,
		.payload = &attributes,
		.payload_bytes = sizeof(attributes),
	};
	const struct vuhca_mw_attributes *created;
	struct vuhca_answer answer;
	struct vuhca_mw *mw;
	int err;

	if (!vuhca_is_current(pd->dev, pd->generation))
		return ERR_PTR(-ESTALE);
	mw = kzalloc(sizeof(*mw), GFP_KERNEL);
	if (!mw)
		return ERR_PTR(-ENOMEM);
	mw->dev = pd->dev;
	mw->generation = pd->generation;
	mw->kind = kind;
	vuhca_mw_attributes_set_pd(&attributes, pd->pdn);
	vuhca_mw_attributes_set_kind(&attributes, kind);
	err = vuhca_admin_execute(pd->dev, &command, &answer);
	if (err) {
		kfree(mw);
		return ERR_PTR(err);
	}
	created = (const void *)answer.payload;
	mw->number = answer.object;
	mw->rkey = le32_to_cpu(created->rkey);
	return mw;
}
EXPORT_SYMBOL_GPL(vuhca_alloc_mw);

/**
 * vuhca_query_mw() - Query the attributes of a memory window.
 * @mw: Memory window.
 * @attributes: Receives the attributes, with the key that is in force.
 *
 * Context: May sleep.
 * Return: 0; -ESTALE: a reset has destroyed the window; or the error of
 *	vuhca_admin_execute().
 */
int vuhca_query_mw(struct vuhca_mw *mw, struct vuhca_mw_attributes *attributes)
{
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_QUERY_MW,
		.object = mw->number,
	};
	struct vuhca_answer answer;
	int err;

	if (!vuhca_is_current(mw->dev, mw->generation))
		return -ESTALE;
	err = vuhca_admin_execute(mw->dev, &command, &answer);
	if (!err)
		memcpy(attributes, answer.payload, sizeof(*attributes));
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_query_mw);

/**
 * vuhca_bind_mw() - Post a bind of a memory window.
 * @qp: QP whose send queue takes the bind.
 * @mw: Memory window.
 * @wr_id: Repeated in the completion; the bind is signalled.
 * @range: Range to bind; its lkey names the MR. A range of no bytes unbinds a
 *	window of type 1.
 * @access: VUHCA_ACCESS_FLAG_*.
 *
 * The window has its new key as soon as this call returns 0. When the bind
 * completes with an error the former key is in force: vuhca_query_mw() returns
 * it.
 *
 * Context: Any context.
 * Return: 0, or the error of vuhca_post_send().
 */
int vuhca_bind_mw(struct vuhca_qp *qp, struct vuhca_mw *mw, u64 wr_id,
		  const struct vuhca_buffer *range, u32 access)
{
	u8 key_byte = mw->rkey + 1;
	struct vuhca_send_wr wr = {
		.wr_id = wr_id,
		.opcode = VUHCA_SEND_OPCODE_BIND_WINDOW,
		.signaled = true,
		.sge = range,
		.sge_count = 1,
		.bind.rkey = mw->rkey,
		.bind.access = access,
		.bind.key_byte = key_byte,
	};
	int posted = vuhca_post_send(qp, &wr, 1, VUHCA_POST_AUTO);

	if (posted < 0)
		return posted;
	mw->rkey = vuhca_set_key_byte(mw->rkey, key_byte);
	return 0;
}
EXPORT_SYMBOL_GPL(vuhca_bind_mw);

/**
 * vuhca_dealloc_mw() - Destroy a memory window; a bound one no longer gives
 *	access.
 * @mw: Memory window; stays when the call fails.
 *
 * Context: May sleep.
 * Return: 0, or the error of vuhca_admin_execute().
 */
int vuhca_dealloc_mw(struct vuhca_mw *mw)
{
	int err;

	err = vuhca_admin_destroy(mw->dev, VUHCA_MANAGEMENT_OPCODE_DESTROY_MW,
				  mw->number, mw->generation);
	if (!err)
		kfree(mw);
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_dealloc_mw);
