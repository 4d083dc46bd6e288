// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Ports: attributes, capability bits (IBTA 11.2.1). */
#include "vib.h"

/* The code of PortInfo for a number of data virtual lanes (IBTA 14.2.5.6). */
static u8 vib_lanes_code(unsigned int lanes)
{
	return lanes ? ilog2(roundup_pow_of_two(lanes)) + 1 : 0;
}

int vib_query_port(struct ib_device *ibdev, u32 port,
		   struct ib_port_attr *attributes)
{
	struct vib_dev *dev = to_vdev(ibdev);
	struct vuhca_port_attributes from;
	int err;

	err = vuhca_query_port(dev->hw, port, &from);
	if (err)
		return err;
	attributes->subnet_prefix =
		get_unaligned_be64(from.subnet_prefix);
	attributes->state = vuhca_port_attributes_get_state(&from);
	attributes->phys_state = vuhca_port_attributes_get_physical_state(&from);
	attributes->max_mtu = vuhca_port_attributes_get_max_mtu(&from);
	attributes->active_mtu = vuhca_port_attributes_get_active_mtu(&from);
	attributes->lid = le16_to_cpu(from.lid);
	attributes->lmc = vuhca_port_attributes_get_lmc(&from);
	attributes->sm_lid = le16_to_cpu(from.sm_lid);
	attributes->sm_sl = vuhca_port_attributes_get_sm_service_level(&from);
	attributes->port_cap_flags = le32_to_cpu(from.capability_mask);
	attributes->active_width = from.active_width;
	attributes->active_speed = from.active_speed;
	attributes->max_vl_num = vib_lanes_code(from.max_virtual_lanes);
	attributes->pkey_tbl_len = le16_to_cpu(from.pkey_table_entries);
	attributes->gid_tbl_len = le16_to_cpu(from.gid_table_entries);
	attributes->bad_pkey_cntr = le16_to_cpu(from.bad_pkey_counter);
	attributes->qkey_viol_cntr = le16_to_cpu(from.bad_qkey_counter);
	attributes->subnet_timeout =
		vuhca_port_attributes_get_subnet_timeout(&from);
	attributes->max_msg_sz = VUHCA_MESSAGE_MAX_BYTES;
	return 0;
}

int vib_modify_port(struct ib_device *ibdev, u32 port, int mask,
		    struct ib_port_modify *changes)
{
	if (mask & ~IB_PORT_RESET_QKEY_CNTR)
		return -EOPNOTSUPP;
	return vuhca_modify_port(to_vdev(ibdev)->hw, port,
				 changes->set_port_cap_mask,
				 changes->clr_port_cap_mask,
				 mask & IB_PORT_RESET_QKEY_CNTR);
}

int vib_get_port_immutable(struct ib_device *ibdev, u32 port,
			   struct ib_port_immutable *immutable)
{
	struct ib_port_attr attributes = {};
	int err;

	err = vib_query_port(ibdev, port, &attributes);
	if (err)
		return err;
	immutable->core_cap_flags = RDMA_CORE_PORT_IBA_IB;
	immutable->max_mad_size = IB_MGMT_MAD_SIZE;
	immutable->pkey_tbl_len = attributes.pkey_tbl_len;
	immutable->gid_tbl_len = attributes.gid_tbl_len;
	return 0;
}

enum rdma_link_layer vib_get_link_layer(struct ib_device *ibdev, u32 port)
{
	return IB_LINK_LAYER_INFINIBAND;
}
