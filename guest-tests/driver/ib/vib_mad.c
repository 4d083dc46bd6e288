// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Management datagrams. The agents of the adapter answer requests at QP0 and
 * QP1 by themselves. The core passes on datagrams that software of this host
 * sends to its own port, and reads the counters of sysfs here (IBTA 13.4, 14.2,
 * 16.1).
 */
#include "vib.h"

static_assert(sizeof(struct ib_mad) == VUHCA_MAD_BYTES);
static_assert(sizeof(struct ib_smp) == VUHCA_MAD_BYTES);

/* Asks the agent of a port for an attribute of subnet management. */
int vib_smp_get(struct vib_dev *dev, u32 port, __be16 attribute, u32 modifier,
		struct ib_smp *smp)
{
	u32 result;
	int err;

	*smp = (struct ib_smp) {
		.base_version = IB_MGMT_BASE_VERSION,
		.mgmt_class = IB_MGMT_CLASS_SUBN_LID_ROUTED,
		.class_version = 1,
		.method = IB_MGMT_METHOD_GET,
		.attr_id = attribute,
		.attr_mod = cpu_to_be32(modifier),
	};
	err = vuhca_execute_mad(dev->hw, port, NULL, true, smp, &result);
	if (err)
		return err;
	if (!(result & VUHCA_MAD_RESULT_REPLIED) || smp->status)
		return -EIO;
	return 0;
}

/* Returns whether an agent of the adapter may take the datagram. */
static bool vib_is_for_agent(const struct ib_mad_hdr *header)
{
	switch (header->mgmt_class) {
	case IB_MGMT_CLASS_SUBN_LID_ROUTED:
	case IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE:
	case IB_MGMT_CLASS_PERF_MGMT:
		break;
	default:
		return false;
	}
	switch (header->method) {
	case IB_MGMT_METHOD_GET:
	case IB_MGMT_METHOD_SET:
	case IB_MGMT_METHOD_TRAP_REPRESS:
		return true;
	}
	return false;
}

/*
 * Gives a datagram to the agents of a port. Without @wc this host is the
 * requester.
 */
int vib_process_mad(struct ib_device *ibdev, int flags, u32 port,
		    const struct ib_wc *wc, const struct ib_grh *grh,
		    const struct ib_mad *in, struct ib_mad *out,
		    size_t *out_size, u16 *out_pkey_index)
{
	bool ignore_mkey = !wc || flags & IB_MAD_IGNORE_MKEY;
	struct vuhca_mad_source source = {};
	u32 result;

	if (!vib_is_for_agent(&in->mad_hdr))
		return IB_MAD_RESULT_SUCCESS;
	if (wc) {
		source.lid = wc->slid;
		source.qpn = wc->src_qp;
		source.service_level = wc->sl;
	}
	memcpy(out, in, sizeof(*out));
	if (vuhca_execute_mad(to_vdev(ibdev)->hw, port, wc ? &source : NULL,
			      ignore_mkey, out, &result))
		return IB_MAD_RESULT_FAILURE;
	if (result & VUHCA_MAD_RESULT_REPLIED)
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
	if (result & VUHCA_MAD_RESULT_CONSUMED)
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	return IB_MAD_RESULT_SUCCESS;
}
