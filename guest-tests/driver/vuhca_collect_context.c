// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Collect contexts. The pages of a context can be mapped into a user process:
 * they act only on the QPs and CQs that were created with the context.
 */
#include <linux/slab.h>

#include "vuhca_internal.h"

/* Gives a page to the context; number 0 takes it back. */
static int vuhca_assign_page(struct vuhca_dev *dev, unsigned int page,
			     u32 number)
{
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_ASSIGN_COLLECT_PAGE,
		.object = number,
		.modifier = page,
	};
	struct vuhca_answer answer;

	return vuhca_admin_execute(dev, &command, &answer);
}

/**
 * vuhca_create_collect_context() - Create a collect context without pages.
 * @dev: Function of the adapter.
 *
 * Context: May sleep.
 * Return: The context, or ERR_PTR() of -ENOMEM or the error of
 *	vuhca_admin_execute().
 */
struct vuhca_collect_context *
vuhca_create_collect_context(struct vuhca_dev *dev)
{
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_CREATE_COLLECT_CONTEXT,
	};
	struct vuhca_collect_context *context;
	struct vuhca_answer answer;
	int err;

	context = kzalloc(sizeof(*context), GFP_KERNEL);
	if (!context)
		return ERR_PTR(-ENOMEM);
	context->dev = dev;
	context->generation = READ_ONCE(dev->generation);
	command.token = (uintptr_t)context;
	err = vuhca_admin_execute(dev, &command, &answer);
	if (err) {
		kfree(context);
		return ERR_PTR(err);
	}
	context->number = answer.object;
	return context;
}
EXPORT_SYMBOL_GPL(vuhca_create_collect_context);

/**
 * vuhca_destroy_collect_context() - Destroy a collect context.
 * @context: Context; stays when the call fails.
 *
 * Context: May sleep.
 * Return: 0; -EBUSY while it has pages, QPs or CQs; or the error of
 *	vuhca_admin_execute().
 */
int vuhca_destroy_collect_context(struct vuhca_collect_context *context)
{
	int err;

	err = vuhca_admin_destroy(context->dev,
				  VUHCA_MANAGEMENT_OPCODE_DESTROY_COLLECT_CONTEXT,
				  context->number, context->generation);
	if (!err)
		kfree(context);
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_destroy_collect_context);

/**
 * vuhca_query_collect_context() - Count the pages and queues of a collect
 *	context, and the stores to its pages that were refused.
 * @context: Context.
 * @attributes: Receives the counts.
 *
 * Context: May sleep.
 * Return: 0; -ESTALE: a reset has destroyed the context; or the error of
 *	vuhca_admin_execute().
 */
int vuhca_query_collect_context(struct vuhca_collect_context *context,
				struct vuhca_collect_context_attributes *attributes)
{
	struct vuhca_command command = {
		.opcode = VUHCA_MANAGEMENT_OPCODE_QUERY_COLLECT_CONTEXT,
		.object = context->number,
	};
	struct vuhca_answer answer;
	int err;

	if (!vuhca_is_current(context->dev, context->generation))
		return -ESTALE;
	err = vuhca_admin_execute(context->dev, &command, &answer);
	if (!err)
		memcpy(attributes, answer.payload, sizeof(*attributes));
	return err;
}
EXPORT_SYMBOL_GPL(vuhca_query_collect_context);

/**
 * vuhca_give_vcb() - Allocate a collect buffer and give its page to a collect
 *	context.
 * @context: Context.
 * @qos_level: QoS level, 0 or 1.
 *
 * From now on the page acts only on the QPs and CQs of the context, even for
 * the kernel. It can be mapped into a process (vuhca_vcb_phys()).
 *
 * Context: May sleep.
 * Return: The buffer, or ERR_PTR() of -ESTALE (a reset has destroyed the
 *	context), of vuhca_alloc_vcb(), or of vuhca_admin_execute().
 */
struct vuhca_vcb *vuhca_give_vcb(struct vuhca_collect_context *context,
				 u8 qos_level)
{
	struct vuhca_dev *dev = context->dev;
	struct vuhca_vcb *vcb;
	int err;

	if (!vuhca_is_current(dev, context->generation))
		return ERR_PTR(-ESTALE);
	vcb = vuhca_alloc_vcb(dev, qos_level);
	if (IS_ERR(vcb))
		return vcb;
	err = vuhca_assign_page(dev, vcb->index, context->number);
	if (err) {
		vuhca_free_vcb(dev, vcb);
		return ERR_PTR(err);
	}
	return vcb;
}
EXPORT_SYMBOL_GPL(vuhca_give_vcb);

/**
 * vuhca_take_back_vcb() - Take a page back from a collect context, and free its
 *	collect buffer.
 * @context: Context.
 * @vcb: Buffer of vuhca_give_vcb(), which no process has mapped any more; stays
 *	when the call fails.
 *
 * Context: May sleep.
 * Return: 0, or the error of vuhca_admin_execute().
 */
int vuhca_take_back_vcb(struct vuhca_collect_context *context,
			struct vuhca_vcb *vcb)
{
	struct vuhca_dev *dev = context->dev;
	int err = 0;

	/* After a reset all pages are the kernel's again. */
	if (vuhca_is_current(dev, context->generation))
		err = vuhca_assign_page(dev, vcb->index, 0);
	/* A reset or a removal during the wait has taken it back, too. */
	if (err && err != -EIO && err != -ENODEV)
		return err;
	vuhca_free_vcb(dev, vcb);
	return 0;
}
EXPORT_SYMBOL_GPL(vuhca_take_back_vcb);

/**
 * vuhca_vcb_phys() - Physical address of a collect buffer's page, for mmap.
 * @dev: Function of the adapter.
 * @vcb: Buffer of vuhca_give_vcb().
 *
 * Context: Any context.
 * Return: The address of VUHCA_PAGE_BYTES bytes.
 */
phys_addr_t vuhca_vcb_phys(struct vuhca_dev *dev, const struct vuhca_vcb *vcb)
{
	return pci_resource_start(dev->pdev, VUHCA_BAR_COLLECT) +
	       (phys_addr_t)vcb->index * VUHCA_PAGE_BYTES;
}
EXPORT_SYMBOL_GPL(vuhca_vcb_phys);
