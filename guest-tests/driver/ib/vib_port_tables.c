// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * P_Key and GID tables of ports (IBTA 10.9, 4.1.1). The core reads them entry by
 * entry at each event of the port; the adapter gives whole blocks, so the tables
 * are read once for each event, and entries are taken from there.
 */
#include "vib.h"

void vib_port_tables_init(struct vib_dev *dev)
{
	struct vib_port_tables *tables;

	for (tables = dev->port_tables;
	     tables < dev->port_tables + VUHCA_PORT_MAX; tables++) {
		mutex_init(&tables->lock);
		atomic_set(&tables->changes, 1);
	}
}

/* Notes an event of the port. Any context. */
void vib_port_tables_changed(struct vib_dev *dev, u32 port)
{
	atomic_inc(&dev->port_tables[port - 1].changes);
}

/*
 * An answer tells which entries of the whole table are in use, with a byte for
 * each block.
 */
static_assert(VUHCA_GID_BLOCK_ENTRIES == BITS_PER_BYTE);

static int vib_read_gids(struct vib_dev *dev, u32 port,
			 struct vuhca_gid_block *gids)
{
	unsigned int block;
	int err = vuhca_query_gids(dev->hw, port, 0, gids);

	for (block = 1; !err && block < VIB_GID_BLOCKS; block++)
		if (gids->present[block])
			err = vuhca_query_gids(dev->hw, port, block,
					       &gids[block]);
		else
			memset(&gids[block], 0, sizeof(gids[block]));
	return err;
}

static int vib_read_port_tables(struct vib_dev *dev, u32 port,
				struct vib_port_tables *tables)
{
	/* A change while the tables are read raises an event of its own. */
	int changes = atomic_read(&tables->changes);
	unsigned int block;
	int err = 0;

	if (tables->read_at == changes)
		return 0;
	for (block = 0; !err && block < VIB_PKEY_BLOCKS; block++)
		err = vuhca_query_pkeys(dev->hw, port, block,
					&tables->pkeys[block]);
	if (!err)
		err = vib_read_gids(dev, port, tables->gids);
	tables->read_at = err ? 0 : changes;
	return err;
}

/* Returns the present tables, locked; ERR_PTR() when they could not be read. */
static struct vib_port_tables *vib_lock_port_tables(struct ib_device *ibdev,
						    u32 port)
{
	struct vib_dev *dev = to_vdev(ibdev);
	struct vib_port_tables *tables = &dev->port_tables[port - 1];
	int err;

	mutex_lock(&tables->lock);
	err = vib_read_port_tables(dev, port, tables);
	if (!err)
		return tables;
	mutex_unlock(&tables->lock);
	return ERR_PTR(err);
}

int vib_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey)
{
	struct vib_port_tables *tables;

	if (index >= VUHCA_PKEY_TABLE_ENTRIES)
		return -EINVAL;
	tables = vib_lock_port_tables(ibdev, port);
	if (IS_ERR(tables))
		return PTR_ERR(tables);
	*pkey = get_unaligned_le16(tables->pkeys[index /
						 VUHCA_PKEY_BLOCK_ENTRIES].pkeys +
				   index % VUHCA_PKEY_BLOCK_ENTRIES *
				   sizeof(u16));
	mutex_unlock(&tables->lock);
	return 0;
}

int vib_query_gid(struct ib_device *ibdev, u32 port, int index,
		  union ib_gid *gid)
{
	struct vib_port_tables *tables;

	if (index < 0 || index >= VUHCA_GID_TABLE_ENTRIES)
		return -EINVAL;
	tables = vib_lock_port_tables(ibdev, port);
	if (IS_ERR(tables))
		return PTR_ERR(tables);
	memcpy(gid->raw, tables->gids[index / VUHCA_GID_BLOCK_ENTRIES].gids +
	       index % VUHCA_GID_BLOCK_ENTRIES * sizeof(gid->raw),
	       sizeof(gid->raw));
	mutex_unlock(&tables->lock);
	return 0;
}
