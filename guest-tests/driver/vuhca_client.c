// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Clients: modules that use the adapter's functions. Each client is told of
 * every function that is in service, also of those probed before it came.
 */
#include <linux/module.h>

#include "vuhca.h"

static DEFINE_MUTEX(vuhca_lists);	/* devices and clients */
static LIST_HEAD(vuhca_devices);
static LIST_HEAD(vuhca_clients);

int vuhca_register_client(struct vuhca_client *client)
{
	struct vuhca_dev *dev;

	mutex_lock(&vuhca_lists);
	list_add_tail(&client->list, &vuhca_clients);
	list_for_each_entry(dev, &vuhca_devices, list)
		client->add(dev);
	mutex_unlock(&vuhca_lists);
	return 0;
}
EXPORT_SYMBOL_GPL(vuhca_register_client);

void vuhca_unregister_client(struct vuhca_client *client)
{
	struct vuhca_dev *dev;

	mutex_lock(&vuhca_lists);
	list_for_each_entry(dev, &vuhca_devices, list)
		client->remove(dev);
	list_del(&client->list);
	mutex_unlock(&vuhca_lists);
}
EXPORT_SYMBOL_GPL(vuhca_unregister_client);

/* Tells every client that @dev is in service. */
void vuhca_client_add_device(struct vuhca_dev *dev)
{
	struct vuhca_client *client;

	mutex_lock(&vuhca_lists);
	list_add_tail(&dev->list, &vuhca_devices);
	list_for_each_entry(client, &vuhca_clients, list)
		client->add(dev);
	mutex_unlock(&vuhca_lists);
}

/* Tells every client that @dev is about to be removed. */
void vuhca_client_remove_device(struct vuhca_dev *dev)
{
	struct vuhca_client *client;

	mutex_lock(&vuhca_lists);
	list_for_each_entry(client, &vuhca_clients, list)
		client->remove(dev);
	list_del(&dev->list);
	mutex_unlock(&vuhca_lists);
}
