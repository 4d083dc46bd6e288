// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Clients: modules that use the adapter's functions. Each client gets a call
 * for every function in service, also for those probed before the client was
 * registered.
 */
#include <linux/module.h>

#include "vuhca_internal.h"

static DEFINE_MUTEX(vuhca_lists);	/* protects both lists */
static LIST_HEAD(vuhca_devices);
static LIST_HEAD(vuhca_clients);

/**
 * vuhca_register_client() - Register a user of the adapter's functions.
 * @client: Callbacks; add is called for every function that is in service, also
 *	before this call returns.
 *
 * Context: May sleep.
 * Return: 0.
 */
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

/**
 * vuhca_unregister_client() - Unregister a user of the adapter's functions.
 * @client: Client; remove is called for every function that is in service.
 *
 * Context: May sleep.
 */
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

/* Calls every client for @dev, which is in service now. */
void vuhca_client_add_device(struct vuhca_dev *dev)
{
	struct vuhca_client *client;

	mutex_lock(&vuhca_lists);
	list_add_tail(&dev->list, &vuhca_devices);
	list_for_each_entry(client, &vuhca_clients, list)
		client->add(dev);
	mutex_unlock(&vuhca_lists);
}

/* Calls every client for @dev, which is about to be removed. */
void vuhca_client_remove_device(struct vuhca_dev *dev)
{
	struct vuhca_client *client;

	mutex_lock(&vuhca_lists);
	list_for_each_entry(client, &vuhca_clients, list)
		client->remove(dev);
	list_del(&dev->list);
	mutex_unlock(&vuhca_lists);
}
