// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The PCI driver: probe, removal, resets and error recovery. Memory and
 * interrupts live from probe to removal; vuhca_start() repeats the set-up that
 * a reset undoes, vuhca_stop() prepares for a reset.
 */
#include <linux/module.h>

#include "vuhca_internal.h"

/* Hands events from the event queues, which know no objects, to the objects. */
static const struct vuhca_event_ops vuhca_event_ops = {
	.handlers = {
		[VUHCA_EVENT_TYPE_COMPLETION] = vuhca_cq_event,
		[VUHCA_EVENT_TYPE_MANAGEMENT_COMPLETE] = vuhca_admin_event,
		[VUHCA_EVENT_TYPE_CQ_ERROR] = vuhca_cq_event,
		[VUHCA_EVENT_TYPE_EQ_ERROR] = vuhca_device_error_event,
		[VUHCA_EVENT_TYPE_QP_FATAL] = vuhca_qp_event,
		[VUHCA_EVENT_TYPE_QP_REQUEST_ERROR] = vuhca_qp_event,
		[VUHCA_EVENT_TYPE_QP_ACCESS_ERROR] = vuhca_qp_event,
		[VUHCA_EVENT_TYPE_XRC_DOMAIN_VIOLATION] = vuhca_qp_event,
		[VUHCA_EVENT_TYPE_XRC_INVALID_HEADER] = vuhca_qp_event,
		[VUHCA_EVENT_TYPE_COMMUNICATION_ESTABLISHED] = vuhca_qp_event,
		[VUHCA_EVENT_TYPE_SEND_QUEUE_DRAINED] = vuhca_qp_event,
		[VUHCA_EVENT_TYPE_PATH_MIGRATED] = vuhca_qp_event,
		[VUHCA_EVENT_TYPE_LAST_WQE_REACHED] = vuhca_qp_event,
		[VUHCA_EVENT_TYPE_SRQ_LIMIT] = vuhca_srq_event,
		[VUHCA_EVENT_TYPE_SRQ_ERROR] = vuhca_srq_event,
		[VUHCA_EVENT_TYPE_PORT_ACTIVE] = vuhca_port_event,
		[VUHCA_EVENT_TYPE_PORT_ERROR] = vuhca_port_event,
		[VUHCA_EVENT_TYPE_LID_CHANGE] = vuhca_port_event,
		[VUHCA_EVENT_TYPE_PKEY_CHANGE] = vuhca_port_event,
		[VUHCA_EVENT_TYPE_GID_CHANGE] = vuhca_port_event,
		[VUHCA_EVENT_TYPE_SM_CHANGE] = vuhca_port_event,
		[VUHCA_EVENT_TYPE_CLIENT_REREGISTER] = vuhca_port_event,
		[VUHCA_EVENT_TYPE_PAGE_FAULT] = vuhca_page_event,
		[VUHCA_EVENT_TYPE_RESOURCES_CHANGED] = vuhca_shares_event,
		[VUHCA_EVENT_TYPE_SEND_CONTEXT_HALTED] = vuhca_pio_halt_event,
		[VUHCA_EVENT_TYPE_TRACE_STOPPED] = vuhca_qp_event,
		[VUHCA_EVENT_TYPE_DEVICE_FATAL] = vuhca_device_error_event,
	},
	.has_byte = vuhca_cq_has_byte,
	.marked = vuhca_cq_marked,
	.poll = vuhca_cq_poll_kept,
	.arm = vuhca_cq_arm_kept,
	.credit_interrupt = vuhca_pio_credit_interrupt,
	.deadman = vuhca_pio_deadman,
};

/* Allocates memory and interrupts; the device does not run yet. */
static int vuhca_alloc(struct vuhca_dev *dev)
{
	int err;

	err = vuhca_admin_init(dev);
	if (err)
		return err;
	err = vuhca_ahs_alloc(dev);
	if (err)
		goto admin;
	err = vuhca_vcbs_init(dev);
	if (err)
		goto ahs;
	err = vuhca_overflow_alloc(dev);
	if (err)
		goto vcbs;
	err = vuhca_pio_credits_alloc(dev);
	if (err)
		goto overflow;
	err = vuhca_eqs_alloc(dev);
	if (err)
		goto credits;
	return 0;

credits:
	vuhca_pio_credits_free(dev);
overflow:
	vuhca_overflow_free(dev);
vcbs:
	vuhca_vcbs_cleanup(dev);
ahs:
	vuhca_ahs_free(dev);
admin:
	vuhca_admin_cleanup(dev);
	return err;
}

static void vuhca_free(struct vuhca_dev *dev)
{
	vuhca_eqs_free(dev);
	vuhca_pio_credits_free(dev);
	vuhca_overflow_free(dev);
	vuhca_vcbs_cleanup(dev);
	vuhca_ahs_free(dev);
	vuhca_admin_cleanup(dev);
}

static int vuhca_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct vuhca_dev *dev;
	int err;

	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	dev->pdev = pdev;
	xa_init_flags(&dev->cqs, XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&dev->qps, XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&dev->srqs, XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&dev->send_contexts, XA_FLAGS_LOCK_IRQ);
	xa_init_flags(&dev->on_demand, XA_FLAGS_LOCK_IRQ);
	vuhca_shares_init(dev);
	vuhca_port_events_init(dev);
	vuhca_eqs_recovery_init(dev);
	dev->event_ops = &vuhca_event_ops;
	vuhca_deadman_init(dev);
	err = vuhca_pci_enable(pdev);
	if (err)
		goto free_dev;
	err = vuhca_pci_map(dev);
	if (err)
		goto pci_disable;
	err = vuhca_identify(dev);
	if (!err)
		err = vuhca_find_dedicated(dev);
	/* An earlier kernel may have left the function running. */
	if (!err)
		err = vuhca_soft_reset(dev);
	if (err)
		goto unmap;
	err = vuhca_alloc(dev);
	if (err)
		goto unmap;
	dev->function = vuhca_read_csr(dev, VUHCA_CSR_FUNCTION_NUMBER_OFF);
	pci_set_drvdata(pdev, dev);
	err = vuhca_start(dev);
	if (err)
		goto quiet;
	vuhca_debugfs_add(dev);
	vuhca_client_add_device(dev);
	dev_info(&pdev->dev,
		 "%s function %u, %u ports, %u event queues, %u collect buffers\n",
		 dev->function ? "virtual" : "physical", dev->function,
		 dev->port_count, dev->eq_count,
		 dev->vcbs[0].count + dev->vcbs[1].count);
	return 0;

quiet:
	vuhca_soft_reset(dev);
	pci_clear_master(pdev);
	vuhca_free(dev);
unmap:
	vuhca_pci_unmap(dev);
pci_disable:
	vuhca_pci_disable(pdev);
free_dev:
	cancel_work_sync(&dev->lost);
	kfree(dev);
	return err;
}

static void vuhca_remove(struct pci_dev *pdev)
{
	struct vuhca_dev *dev = pci_get_drvdata(pdev);

	vuhca_client_remove_device(dev);
	vuhca_debugfs_remove(dev);
	vuhca_quiesce(dev);
	cancel_work_sync(&dev->lost);
	vuhca_free(dev);
	vuhca_pci_unmap(dev);
	vuhca_pci_disable(pdev);
	xa_destroy(&dev->cqs);
	xa_destroy(&dev->srqs);
	xa_destroy(&dev->send_contexts);
	xa_destroy(&dev->on_demand);
	xa_destroy(&dev->qps);
	kfree(dev);
}

static void vuhca_shutdown(struct pci_dev *pdev)
{
	vuhca_quiesce(pci_get_drvdata(pdev));
}

static void vuhca_reset_prepare(struct pci_dev *pdev)
{
	struct vuhca_dev *dev = pci_get_drvdata(pdev);

	vuhca_client_reset_prepare(dev);
	vuhca_stop(dev);
}

static void vuhca_reset_done(struct pci_dev *pdev)
{
	vuhca_resume(pci_get_drvdata(pdev));
}

static pci_ers_result_t vuhca_error_detected(struct pci_dev *pdev,
					     pci_channel_state_t channel)
{
	struct vuhca_dev *dev = pci_get_drvdata(pdev);

	if (channel == pci_channel_io_perm_failure)
		WRITE_ONCE(dev->state, VUHCA_DEV_GONE);
	vuhca_stop(dev);
	/* The objects are gone, and the function does not answer. */
	vuhca_client_reset_prepare(dev);
	return channel == pci_channel_io_perm_failure ?
	       PCI_ERS_RESULT_DISCONNECT : PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t vuhca_slot_reset(struct pci_dev *pdev)
{
	if (pci_enable_device_mem(pdev))
		return PCI_ERS_RESULT_DISCONNECT;
	pci_restore_state(pdev);
	pci_save_state(pdev);
	return PCI_ERS_RESULT_RECOVERED;
}

static void vuhca_error_resume(struct pci_dev *pdev)
{
	vuhca_resume(pci_get_drvdata(pdev));
}

static const struct pci_error_handlers vuhca_err_handler = {
	.error_detected = vuhca_error_detected,
	.slot_reset = vuhca_slot_reset,
	.resume = vuhca_error_resume,
	.reset_prepare = vuhca_reset_prepare,
	.reset_done = vuhca_reset_done,
};

static const struct pci_device_id vuhca_ids[] = {
	{ PCI_DEVICE(VUHCA_VENDOR_ID, VUHCA_DEVICE_ID_PF) },
	{ PCI_DEVICE(VUHCA_VENDOR_ID, VUHCA_DEVICE_ID_VF) },
	{ }
};
MODULE_DEVICE_TABLE(pci, vuhca_ids);

static struct pci_driver vuhca_driver = {
	.name = VUHCA_NAME,
	.id_table = vuhca_ids,
	.probe = vuhca_probe,
	.remove = vuhca_remove,
	.shutdown = vuhca_shutdown,
	.err_handler = &vuhca_err_handler,
	.driver.pm = &vuhca_pm_ops,
};

static int __init vuhca_init(void)
{
	int err;

	vuhca_debugfs_init();
	err = pci_register_driver(&vuhca_driver);
	if (err)
		vuhca_debugfs_exit();
	return err;
}
module_init(vuhca_init);

static void __exit vuhca_exit(void)
{
	pci_unregister_driver(&vuhca_driver);
	vuhca_debugfs_exit();
}
module_exit(vuhca_exit);

MODULE_DESCRIPTION("vuhca InfiniBand host channel adapter");
MODULE_AUTHOR("The vuhca authors");
MODULE_LICENSE("Dual BSD/GPL");
