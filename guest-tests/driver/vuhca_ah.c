// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Address handles: entries of a table in memory that the adapter reads for each
 * datagram. Creating and destroying an entry needs no command.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>

#include "vuhca_internal.h"

#define VUHCA_AH_COUNT 1024

int vuhca_ahs_alloc(struct vuhca_dev *dev)
{
	struct vuhca_ah_table *table = &dev->ahs;

	ida_init(&table->ida);
	table->count = VUHCA_AH_COUNT;
	table->entries = dma_alloc_coherent(&dev->pdev->dev,
					    table->count * sizeof(*table->entries),
					    &table->dma, GFP_KERNEL);
	return table->entries ? 0 : -ENOMEM;
}

void vuhca_ahs_free(struct vuhca_dev *dev)
{
	struct vuhca_ah_table *table = &dev->ahs;

	dma_free_coherent(&dev->pdev->dev,
			  table->count * sizeof(*table->entries),
			  table->entries, table->dma);
	ida_destroy(&table->ida);
}

/* Gives the adapter the table; a reset zeroes the registers. */
void vuhca_ahs_start(struct vuhca_dev *dev)
{
	vuhca_write_csr64(dev, VUHCA_CSR_ADDRESS_HANDLE_TABLE_OFF, dev->ahs.dma);
	vuhca_write_csr(dev, VUHCA_CSR_ADDRESS_HANDLE_COUNT_OFF, dev->ahs.count);
}

/**
 * vuhca_ah_entry() - Return the entry of an address handle in the table that
 *	the adapter reads.
 * @ah: Address handle.
 *
 * Context: Any context.
 * Return: The entry.
 */
struct vuhca_address_handle *vuhca_ah_entry(struct vuhca_ah *ah)
{
	return ah->dev->ahs.entries + ah->index;
}
EXPORT_SYMBOL_GPL(vuhca_ah_entry);

/* Fills in everything but the valid bit; without @route packets have no GRH. */
void vuhca_put_path(struct vuhca_address_handle *path, struct vuhca_pd *pd,
		    u8 port, u16 dlid, u8 service_level,
		    const struct vuhca_global_route *route)
{
	vuhca_address_handle_set_port(path, port);
	vuhca_address_handle_set_port_high(path, port >> 2);
	vuhca_address_handle_set_service_level(path, service_level);
	if (pd)
		vuhca_address_handle_set_pd(path, pd->pdn);
	vuhca_address_handle_set_dlid(path, dlid);
	if (!route)
		return;
	vuhca_address_handle_set_global_route(path, 1);
	vuhca_address_handle_set_source_gid_index(path, route->source_gid_index);
	vuhca_address_handle_set_flow_label(path, route->flow_label);
	path->traffic_class = route->traffic_class;
	path->hop_limit = route->hop_limit;
	memcpy(path->destination_gid, route->destination_gid,
	       sizeof(path->destination_gid));
}

/**
 * vuhca_create_ah() - Create an address handle.
 * @pd: PD of the address handle.
 * @port: Port that datagrams leave by.
 * @dlid: LID of the destination.
 * @service_level: Service level of packets.
 * @route: GRH of packets, NULL: none.
 *
 * Context: Any context.
 * Return: The address handle, or ERR_PTR() of -ENOMEM or -ENOSPC.
 */
struct vuhca_ah *vuhca_create_ah(struct vuhca_pd *pd, u8 port, u16 dlid,
				 u8 service_level,
				 const struct vuhca_global_route *route)
{
	struct vuhca_ah_table *table = &pd->dev->ahs;
	struct vuhca_address_handle entry = {};
	struct vuhca_ah *ah;
	int index;

	ah = kzalloc(sizeof(*ah), GFP_ATOMIC);
	if (!ah)
		return ERR_PTR(-ENOMEM);
	index = ida_alloc_max(&table->ida, table->count - 1, GFP_ATOMIC);
	if (index < 0) {
		kfree(ah);
		return ERR_PTR(index);
	}
	ah->dev = pd->dev;
	ah->index = index;
	ah->port = port;
	vuhca_put_path(&entry, pd, port, dlid, service_level, route);
	table->entries[index] = entry;
	/*
	 * Set the valid bit last: the adapter may read the entry at any time.
	 */
	dma_wmb();
	vuhca_address_handle_set_valid(&table->entries[index], 1);
	return ah;
}
EXPORT_SYMBOL_GPL(vuhca_create_ah);

/**
 * vuhca_destroy_ah() - Destroy an address handle.
 * @ah: Address handle; no datagram that names it is outstanding.
 *
 * Context: Any context.
 */
void vuhca_destroy_ah(struct vuhca_ah *ah)
{
	struct vuhca_ah_table *table = &ah->dev->ahs;

	vuhca_address_handle_set_valid(&table->entries[ah->index], 0);
	ida_free(&table->ida, ah->index);
	kfree(ah);
}
EXPORT_SYMBOL_GPL(vuhca_destroy_ah);
