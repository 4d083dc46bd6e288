// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The module: an InfiniBand device for each function of the adapter that
 * manages its ports.
 */
#include <linux/dma-mapping.h>
#include <linux/module.h>

#include "vib_odp.h"
#include "vib_user.h"

static DEFINE_MUTEX(vib_lock);	/* list of devices */
static LIST_HEAD(vib_devices);

#ifdef VIB_CREATE_CQ_TAKES_ATTRIBUTES
static int vib_create_cq_op(struct ib_cq *ibcq,
			    const struct ib_cq_init_attr *init,
			    struct uverbs_attr_bundle *attributes)
{
	return vib_create_cq(ibcq, init,
			     attributes ? &attributes->driver_udata : NULL);
}
#else
#define vib_create_cq_op vib_create_cq
#endif

#ifdef VIB_HAS_DMA_HANDLES
static struct ib_mr *vib_reg_user_mr_op(struct ib_pd *ibpd, u64 start,
					u64 length, u64 virtual_address,
					int access, struct ib_dmah *handle,
					struct ib_udata *udata)
{
	if (handle)
		return ERR_PTR(-EOPNOTSUPP);
	return vib_reg_user_mr(ibpd, start, length, virtual_address, access,
			       udata);
}
#else
#define vib_reg_user_mr_op vib_reg_user_mr
#endif

static const struct ib_device_ops vib_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.uverbs_abi_ver = VUHCA_ABI_VERSION,
	.device_group = &vib_sysfs_group,

	.advise_mr = vib_advise_mr,
	.alloc_dm = vib_alloc_dm,
	.alloc_hw_device_stats = vib_alloc_device_stats,
	.alloc_hw_port_stats = vib_alloc_port_stats,
	.alloc_mr = vib_alloc_mr,
	.alloc_mw = vib_alloc_mw,
	.alloc_pd = vib_alloc_pd,
	.alloc_ucontext = vib_alloc_ucontext,
	.alloc_xrcd = vib_alloc_xrcd,
	.attach_mcast = vib_attach_mcast,
	.create_ah = vib_create_ah,
	.create_cq = vib_create_cq_op,
	.create_qp = vib_create_qp,
	.create_srq = vib_create_srq,
	.create_user_ah = vib_create_user_ah,
	.dealloc_dm = vib_dealloc_dm,
	.dealloc_mw = vib_dealloc_mw,
	.dealloc_pd = vib_dealloc_pd,
	.dealloc_ucontext = vib_dealloc_ucontext,
	.dealloc_xrcd = vib_dealloc_xrcd,
	.dereg_mr = vib_dereg_mr,
	.destroy_ah = vib_destroy_ah,
	.destroy_cq = vib_destroy_cq,
	.destroy_qp = vib_destroy_qp,
	.destroy_srq = vib_destroy_srq,
	.detach_mcast = vib_detach_mcast,
	.disassociate_ucontext = vib_disassociate_ucontext,
	.fill_res_cq_entry = vib_fill_cq,
	.fill_res_mr_entry = vib_fill_mr,
	.fill_res_qp_entry = vib_fill_qp,
	.get_dev_fw_str = vib_get_dev_fw_str,
	.get_dma_mr = vib_get_dma_mr,
	.get_hw_stats = vib_get_hw_stats,
	.get_link_layer = vib_get_link_layer,
	.get_port_immutable = vib_get_port_immutable,
	.map_mr_sg = vib_map_mr_sg,
	.mmap = vib_mmap,
	.mmap_free = vib_mmap_free,
	.modify_cq = vib_modify_cq,
	.modify_device = vib_modify_device,
	.modify_port = vib_modify_port,
	.modify_qp = vib_modify_qp,
	.modify_srq = vib_modify_srq,
	.poll_cq = vib_poll_cq,
	.post_recv = vib_post_recv,
	.post_send = vib_post_send,
	.post_srq_recv = vib_post_srq_recv,
	.process_mad = vib_process_mad,
	.query_ah = vib_query_ah,
	.query_device = vib_query_device,
	.query_gid = vib_query_gid,
	.query_pkey = vib_query_pkey,
	.query_port = vib_query_port,
	.query_qp = vib_query_qp,
	.query_srq = vib_query_srq,
	.query_ucontext = vib_query_ucontext,
	.reg_dm_mr = vib_reg_dm_mr,
	.reg_user_mr = vib_reg_user_mr_op,
	.req_notify_cq = vib_req_notify_cq,
	.rereg_user_mr = vib_rereg_user_mr,
#ifdef VIB_HAS_USER_CQ_OPERATIONS
	.create_user_cq = vib_create_cq_op,
	.resize_user_cq = vib_resize_user_cq,
#else
	.resize_cq = vib_resize_cq,
#endif

	INIT_RDMA_OBJ_SIZE(ib_ah, vib_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, vib_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_mw, vib_mw, ibmw),
	INIT_RDMA_OBJ_SIZE(ib_pd, vib_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, vib_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, vib_srq, ibsrq),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, vib_context, ibuc),
	INIT_RDMA_OBJ_SIZE(ib_xrcd, vib_xrcd, ibxrcd),
};

static int vib_register(struct vib_dev *dev)
{
	struct vuhca_dev *hw = dev->hw;
	struct ib_device *ibdev = &dev->ibdev;
	int err;

	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = hw->port_count;
	ibdev->num_comp_vectors = max(hw->eq_count - 1, 1U);
	ibdev->dev.parent = &hw->pdev->dev;
	memcpy(&ibdev->node_guid, hw->attributes.node_guid,
	       sizeof(ibdev->node_guid));
	ib_set_device_ops(ibdev, &vib_ops);
#if IS_ENABLED(CONFIG_INFINIBAND_USER_ACCESS)
	ibdev->driver_def = vib_definitions;
#endif
	err = vib_read_description(dev);
	if (err)
		return err;
	dma_set_max_seg_size(&hw->pdev->dev, UINT_MAX);
	return ib_register_device(ibdev, VUHCA_NAME "%d", &hw->pdev->dev);
}

/* Events of ports that came during the registration were not passed on. */
static void vib_start_events(struct vib_dev *dev)
{
	u32 port;

	mutex_lock(&vib_lock);
	list_add_tail(&dev->list, &vib_devices);
	for (port = 1; port <= dev->ibdev.phys_port_cnt; port++)
		vib_port_event(dev, VUHCA_EVENT_TYPE_LID_CHANGE, port);
	mutex_unlock(&vib_lock);
}

/* QP0, QP1 and the agents belong to the function that manages the ports. */
static bool vib_manages_ports(struct vuhca_dev *hw)
{
	u32 capabilities = le32_to_cpu(hw->attributes.capabilities);

	return !hw->function || capabilities & VUHCA_CAPABILITY_OWN_PORTS;
}

static void vib_add(struct vuhca_dev *hw)
{
	struct vib_dev *dev;
	int err;

	if (!vib_manages_ports(hw)) {
		dev_info(&hw->pdev->dev,
			 "no InfiniBand device: its ports belong to the physical function\n");
		return;
	}
	dev = ib_alloc_device(vib_dev, ibdev);
	if (!dev)
		return;
	dev->hw = hw;
	spin_lock_init(&dev->cq_lock);
	INIT_LIST_HEAD(&dev->cqs);
	vib_port_tables_init(dev);
	xa_init(&dev->on_demand);
	err = vib_register(dev);
	if (err) {
		dev_err(&hw->pdev->dev, "no InfiniBand device: %d\n", err);
		ib_dealloc_device(&dev->ibdev);
		return;
	}
	vib_start_events(dev);
}

static struct vib_dev *vib_find(struct vuhca_dev *hw)
{
	struct vib_dev *dev;

	lockdep_assert_held(&vib_lock);
	list_for_each_entry(dev, &vib_devices, list)
		if (dev->hw == hw)
			return dev;
	return NULL;
}

static void vib_remove(struct vuhca_dev *hw)
{
	struct vib_dev *dev;

	mutex_lock(&vib_lock);
	dev = vib_find(hw);
	if (dev)
		list_del(&dev->list);
	mutex_unlock(&vib_lock);
	if (!dev)
		return;
	ib_unregister_device(&dev->ibdev);
	ib_dealloc_device(&dev->ibdev);
}

static void vib_hear_port(struct vuhca_dev *hw, u8 type, u8 port)
{
	struct vib_dev *dev;

	mutex_lock(&vib_lock);
	dev = vib_find(hw);
	if (dev)
		vib_port_event(dev, type, port);
	mutex_unlock(&vib_lock);
}

static void vib_lose(struct vuhca_dev *hw)
{
	struct vib_dev *dev;
	struct ib_event event = { .event = IB_EVENT_DEVICE_FATAL };

	mutex_lock(&vib_lock);
	dev = vib_find(hw);
	if (dev) {
		event.device = &dev->ibdev;
		ib_dispatch_event(&event);
		vib_flush_all(dev);
	}
	mutex_unlock(&vib_lock);
}

/* A reset destroys all objects, so users of the device see it as a removal. */
static struct vuhca_client vib_client = {
	.add = vib_add,
	.remove = vib_remove,
	.reset_prepare = vib_remove,
	.reset_done = vib_add,
	.lost = vib_lose,
	.port_event = vib_hear_port,
};

static int __init vib_init(void)
{
	int err = vib_odp_start();

	if (err)
		return err;
	err = vuhca_register_client(&vib_client);
	if (err)
		vib_odp_stop();
	return err;
}
module_init(vib_init);

static void __exit vib_exit(void)
{
	vuhca_unregister_client(&vib_client);
	vib_odp_stop();
}
module_exit(vib_exit);

MODULE_DESCRIPTION("InfiniBand device of the vuhca adapter");
MODULE_AUTHOR("The vuhca authors");
MODULE_LICENSE("Dual BSD/GPL");
