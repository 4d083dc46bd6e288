// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/* Attributes of the device (IBTA 11.2.1). */
#include "vib.h"

/* OUI of the vendor: "VU" in ASCII. */
#define VIB_VENDOR_ID		0x005655
/* The longest answer of an adapter in software takes 4.096 us * 2^15. */
#define VIB_ACK_DELAY		15
#define VIB_FIRMWARE_SHIFT	16

#define VIB_CAPABILITIES \
	(IB_DEVICE_BAD_PKEY_CNTR | IB_DEVICE_BAD_QKEY_CNTR | \
	 IB_DEVICE_CURR_QP_STATE_MOD | IB_DEVICE_PORT_ACTIVE_EVENT | \
	 IB_DEVICE_SYS_IMAGE_GUID | IB_DEVICE_RC_RNR_NAK_GEN | \
	 IB_DEVICE_UD_AV_PORT_ENFORCE | IB_DEVICE_MEM_MGT_EXTENSIONS | \
	 IB_DEVICE_MEM_WINDOW | IB_DEVICE_MEM_WINDOW_TYPE_2B | \
	 IB_DEVICE_SRQ_RESIZE | IB_DEVICE_XRC)

static void vib_put_limits(const struct vuhca_adapter_attributes *from,
			   struct ib_device_attr *to)
{
	to->max_qp = le32_to_cpu(from->max_queue_pairs);
	to->max_qp_wr = VIB_MAX_QP_WR;
	to->max_send_sge = from->max_sge;
	to->max_recv_sge = from->max_sge;
	to->max_sge_rd = from->max_sge;
	to->max_cq = le32_to_cpu(from->max_completion_queues);
	to->max_cqe = VIB_MAX_CQE;
	to->max_mr = le32_to_cpu(from->max_memory_regions);
	to->max_mw = le32_to_cpu(from->max_memory_windows);
	to->max_pd = le32_to_cpu(from->max_protection_domains);
	to->max_qp_rd_atom = from->max_reads_served;
	to->max_res_rd_atom = to->max_qp_rd_atom * to->max_qp;
	to->max_qp_init_rd_atom = from->max_reads_initiated;
	to->max_srq = le32_to_cpu(from->max_shared_receive_queues);
	to->max_srq_wr = VIB_MAX_QP_WR;
	to->max_srq_sge = from->max_sge;
	to->max_mcast_grp = le32_to_cpu(from->max_multicast_groups);
	to->max_mcast_qp_attach =
		le32_to_cpu(from->max_queue_pairs_per_group);
	to->max_total_mcast_qp_attach = to->max_mcast_grp;
	to->max_fast_reg_page_list_len = VIB_MAX_FAST_PAGES;
	to->max_pkeys = VUHCA_PKEY_TABLE_ENTRIES;
}

/* Received datagrams that meet a page that is not present are lost. */
static void vib_put_odp_caps(struct ib_device_attr *to)
{
	struct ib_odp_caps *caps = &to->odp_caps;

	to->kernel_cap_flags |= IBK_ON_DEMAND_PAGING;
	caps->general_caps = IB_ODP_SUPPORT | IB_ODP_SUPPORT_IMPLICIT;
	caps->per_transport_caps.rc_odp_caps =
		IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV |
		IB_ODP_SUPPORT_WRITE | IB_ODP_SUPPORT_READ |
		IB_ODP_SUPPORT_ATOMIC | IB_ODP_SUPPORT_SRQ_RECV;
	caps->per_transport_caps.xrc_odp_caps =
		caps->per_transport_caps.rc_odp_caps & ~IB_ODP_SUPPORT_RECV;
	caps->per_transport_caps.uc_odp_caps =
		IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV |
		IB_ODP_SUPPORT_WRITE | IB_ODP_SUPPORT_SRQ_RECV;
	caps->per_transport_caps.ud_odp_caps =
		IB_ODP_SUPPORT_SEND | IB_ODP_SUPPORT_RECV |
		IB_ODP_SUPPORT_SRQ_RECV;
}

/* Flags that depend on the adapter. */
static u64 vib_optional_caps(u32 capabilities)
{
	u64 flags = 0;

	if (capabilities & VUHCA_CAPABILITY_FLUSH)
		flags |= IB_DEVICE_FLUSH_GLOBAL | IB_DEVICE_FLUSH_PERSISTENT;
	if (capabilities & VUHCA_CAPABILITY_ATOMIC_WRITE)
		flags |= IB_DEVICE_ATOMIC_WRITE;
	return flags;
}

int vib_query_device(struct ib_device *ibdev, struct ib_device_attr *attributes,
		     struct ib_udata *udata)
{
	struct vuhca_dev *hw = to_vdev(ibdev)->hw;
	const struct vuhca_adapter_attributes *from = &hw->attributes;
	u32 firmware = le32_to_cpu(from->firmware_version);
	u32 capabilities = le32_to_cpu(from->capabilities);

	if (udata && (udata->inlen || udata->outlen))
		return -EINVAL;
	memset(attributes, 0, sizeof(*attributes));
	vib_put_limits(from, attributes);
	/* Major, minor and subminor have 16 bits each. */
	attributes->fw_ver = (u64)firmware << VIB_FIRMWARE_SHIFT;
	memcpy(&attributes->sys_image_guid, from->system_image_guid,
	       sizeof(attributes->sys_image_guid));
	attributes->max_mr_size = VUHCA_DMA_MR_BYTES;
	attributes->max_dm_size = le32_to_cpu(from->max_device_memory_bytes);
	attributes->page_size_cap = VIB_PAGE_SIZES;
	attributes->vendor_id = VIB_VENDOR_ID;
	attributes->vendor_part_id = hw->pdev->device;
	attributes->hw_ver = hw->pdev->revision;
	attributes->device_cap_flags =
		VIB_CAPABILITIES | vib_optional_caps(capabilities);
	attributes->kernel_cap_flags = IBK_BLOCK_MULTICAST_LOOPBACK;
	if (capabilities & VUHCA_CAPABILITY_ON_DEMAND_PAGING)
		vib_put_odp_caps(attributes);
	attributes->atomic_cap = IB_ATOMIC_HCA;
	attributes->max_ah = hw->ahs.count;
	attributes->local_ca_ack_delay = VIB_ACK_DELAY;
	attributes->cq_caps.max_cq_moderation_count = U16_MAX;
	attributes->cq_caps.max_cq_moderation_period = U16_MAX;
	attributes->timestamp_mask = U64_MAX;
	attributes->hca_core_clock = VIB_CLOCK_KHZ;
	return 0;
}

int vib_modify_device(struct ib_device *ibdev, int mask,
		      struct ib_device_modify *changes)
{
	int err;

	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (!(mask & IB_DEVICE_MODIFY_NODE_DESC))
		return 0;
	err = vuhca_modify_device(to_vdev(ibdev)->hw, changes->node_desc);
	if (!err)
		memcpy(ibdev->node_desc, changes->node_desc,
		       sizeof(ibdev->node_desc));
	return err;
}

void vib_get_dev_fw_str(struct ib_device *ibdev, char *text)
{
	u32 version =
		le32_to_cpu(to_vdev(ibdev)->hw->attributes.firmware_version);

	snprintf(text, IB_FW_VERSION_NAME_MAX, "%u.%u",
		 version >> VIB_FIRMWARE_SHIFT, version & U16_MAX);
}

/* Copies the description that the adapter shows to the subnet. */
int vib_read_description(struct vib_dev *dev)
{
	struct ib_smp smp;
	int err;

	err = vib_smp_get(dev, 1, IB_SMP_ATTR_NODE_DESC, 0, &smp);
	if (!err)
		memcpy(dev->ibdev.node_desc, smp.data,
		       sizeof(dev->ibdev.node_desc));
	return err;
}
