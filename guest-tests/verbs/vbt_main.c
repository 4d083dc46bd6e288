// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The module: runs all cases on the first InfiniBand device when it is loaded,
 * and prints KTAP to the kernel's log.
 */
#include <linux/module.h>

#include "vbt.h"

static const struct {
	const struct vbt_case *cases;
	const unsigned int *count;
} vbt_parts[] = {
	{ vbt_message_cases, &vbt_message_count },
	{ vbt_key_cases, &vbt_key_count },
	{ vbt_queue_cases, &vbt_queue_count },
};

static bool vbt_is_done;

static void vbt_run_case(struct vbt *t, const struct vbt_case *one,
			 unsigned int number)
{
	t->failed = false;
	if (vbt_pair_create(t, one->type, NULL))
		one->run(t);
	vbt_pair_destroy(t);
	pr_info(VBT_PREFIX "  %sok %u %s\n", t->failed ? "not " : "", number,
		one->name);
}

static void vbt_run(struct vbt *t)
{
	unsigned int part, i, number = 0;

	pr_info(VBT_PREFIX "KTAP version 1\n");
	pr_info(VBT_PREFIX "  KTAP version 1\n");
	pr_info(VBT_PREFIX "  # Subtest: kernel-verbs\n");
	for (part = 0; part < ARRAY_SIZE(vbt_parts); part++)
		for (i = 0; i < *vbt_parts[part].count; i++)
			vbt_run_case(t, &vbt_parts[part].cases[i], ++number);
	pr_info(VBT_PREFIX "  1..%u\n", number);
	pr_info(VBT_PREFIX "ok 1 kernel-verbs\n");
	pr_info(VBT_PREFIX "1..1\n");
}

static int vbt_add(struct ib_device *dev)
{
	struct vbt t = { .dev = dev };

	if (vbt_is_done || rdma_port_get_link_layer(dev, 1) !=
			   IB_LINK_LAYER_INFINIBAND)
		return -EOPNOTSUPP;
	vbt_is_done = true;
	t.pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(t.pd))
		return PTR_ERR(t.pd);
	vbt_run(&t);
	ib_dealloc_pd(t.pd);
	return 0;
}

static void vbt_remove(struct ib_device *dev, void *data)
{
}

static struct ib_client vbt_client = {
	.name = "vbt",
	.add = vbt_add,
	.remove = vbt_remove,
};

static int __init vbt_init(void)
{
	return ib_register_client(&vbt_client);
}
module_init(vbt_init);

static void __exit vbt_exit(void)
{
	ib_unregister_client(&vbt_client);
}
module_exit(vbt_exit);

MODULE_DESCRIPTION("Tests of an InfiniBand device by kernel verbs");
MODULE_AUTHOR("The vuhca authors");
MODULE_LICENSE("Dual BSD/GPL");
