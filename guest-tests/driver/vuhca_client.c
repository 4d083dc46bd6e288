// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Clients: modules that use the adapter's functions. Each client gets a call
 * for every function in service, including those probed before the client was
 * registered.
 */
#include <linux/module.h>

#include "vuhca_internal.h"

static DEFINE_MUTEX(vuhca_lists);	/* protects both lists */
/* Also protects the list of clients; held while they get events of ports. */
static DEFINE_MUTEX(vuhca_listeners);
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
	mutex_lock(&vuhca_listeners);
	list_add_tail(&client->list, &vuhca_clients);
	mutex_unlock(&vuhca_listeners);
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
	mutex_lock(&vuhca_listeners);
	list_del(&client->list);
	mutex_unlock(&vuhca_listeners);
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

/*
 * Keeps clients and functions as they are, for a reset; false when one is being
 * added or removed, which may wait for the caller.
 */
bool vuhca_clients_try_lock(void)
{
	return mutex_trylock(&vuhca_lists);
}

void vuhca_clients_unlock(void)
{
	mutex_unlock(&vuhca_lists);
}

/* Calls every client before @dev is reset. The caller holds the lists. */
void vuhca_clients_prepare(struct vuhca_dev *dev)
{
	struct vuhca_client *client;

	list_for_each_entry(client, &vuhca_clients, list)
		if (client->reset_prepare)
			client->reset_prepare(dev);
}

/* Calls every client when @dev is in service again. The caller holds the lists. */
void vuhca_clients_resume(struct vuhca_dev *dev)
{
	struct vuhca_client *client;

	list_for_each_entry(client, &vuhca_clients, list)
		if (client->reset_done)
			client->reset_done(dev);
}

/* Calls every client before @dev, if it is in service, is reset. */
void vuhca_client_reset_prepare(struct vuhca_dev *dev)
{
	mutex_lock(&vuhca_lists);
	vuhca_clients_prepare(dev);
	mutex_unlock(&vuhca_lists);
}

/* Calls every client when @dev is in service again. */
void vuhca_client_reset_done(struct vuhca_dev *dev)
{
	mutex_lock(&vuhca_lists);
	vuhca_clients_resume(dev);
	mutex_unlock(&vuhca_lists);
}

static void vuhca_report_lost(struct work_struct *work)
{
	struct vuhca_dev *dev = container_of(work, struct vuhca_dev, lost);
	struct vuhca_client *client;

	mutex_lock(&vuhca_listeners);
	list_for_each_entry(client, &vuhca_clients, list)
		if (client->lost)
			client->lost(dev);
	mutex_unlock(&vuhca_listeners);
}

static void vuhca_report_port_event(struct vuhca_dev *dev, u8 type, u8 port)
{
	struct vuhca_client *client;

	mutex_lock(&vuhca_listeners);
	list_for_each_entry(client, &vuhca_clients, list)
		if (client->port_event)
			client->port_event(dev, type, port);
	mutex_unlock(&vuhca_listeners);
}

static void vuhca_report_port_events(struct work_struct *work)
{
	struct vuhca_dev *dev = container_of(work, struct vuhca_dev,
					     port_events.work);
	unsigned int index, type;

	for (index = 0; index < VUHCA_PORT_MAX; index++)
		for (type = 0; type < VUHCA_EVENT_TYPES; type++)
			if (test_and_clear_bit(type,
					       &dev->port_events.pending[index]) &&
			    vuhca_is_up(dev))
				vuhca_report_port_event(dev, type, index + 1);
}

void vuhca_port_events_init(struct vuhca_dev *dev)
{
	BUILD_BUG_ON(VUHCA_EVENT_TYPES > BITS_PER_LONG);
	INIT_WORK(&dev->port_events.work, vuhca_report_port_events);
	INIT_WORK(&dev->lost, vuhca_report_lost);
}

/* Ends the reports before a reset or removal; no handler of events runs. */
void vuhca_port_events_stop(struct vuhca_dev *dev)
{
	cancel_work_sync(&dev->port_events.work);
	memset(dev->port_events.pending, 0, sizeof(dev->port_events.pending));
}

/* Event handler: an event of a port, which clients get in process context. */
void vuhca_port_event(struct vuhca_dev *dev,
		      const struct vuhca_event_entry *entry)
{
	if (!entry->port || entry->port > VUHCA_PORT_MAX)
		return;
	set_bit(entry->event_type, &dev->port_events.pending[entry->port - 1]);
	schedule_work(&dev->port_events.work);
}
