/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* Protection and XRC domains, device memory, memory regions and windows, address handles. */
#ifndef VUHCA_MEMORY_H
#define VUHCA_MEMORY_H

#include <linux/bits.h>
#include <linux/idr.h>
#include <linux/limits.h>

#include "vuhca_hw.h"

struct vuhca_buffer;
struct vuhca_dev;
struct vuhca_qp;

/* A DMA MR covers every address that the device can be given. */
#define VUHCA_DMA_MR_BYTES BIT_ULL(52)

/**
 * typedef vuhca_page_handler - Handles a page fault of an on-demand region.
 * @context: Context given at creation of the region.
 * @address: First virtual address of the access.
 * @length: Length from there on that the message will access.
 * @write: The access writes.
 *
 * Context: Any context, under the lock of an event queue.
 */
typedef void (*vuhca_page_handler)(void *context, u64 address, u32 length,
				   bool write);

/**
 * struct vuhca_pd - Protection domain.
 * @dev: Function of the PD.
 * @pdn: Number of the PD.
 * @generation: dev->generation at creation.
 */
struct vuhca_pd {
	struct vuhca_dev *dev;
	u32 pdn;
	u32 generation;
};

/**
 * struct vuhca_xrcd - XRC domain.
 * @dev: Function of the domain.
 * @number: Number of the domain.
 * @generation: dev->generation at creation.
 */
struct vuhca_xrcd {
	struct vuhca_dev *dev;
	u32 number;
	u32 generation;
};

/**
 * struct vuhca_mr - Memory region.
 * @dev: Function of the MR.
 * @number: Number of the MR.
 * @generation: dev->generation at creation.
 * @lkey: Key of local accesses.
 * @rkey: Key of remote accesses.
 * @page_fault: Handler of page faults of an on-demand region.
 * @context: First argument of @page_fault.
 */
struct vuhca_mr {
	struct vuhca_dev *dev;
	u32 number;
	u32 generation;
	u32 lkey;
	u32 rkey;
	vuhca_page_handler page_fault;
	void *context;
};

/**
 * struct vuhca_dm - Device memory.
 * @dev: Function of the memory.
 * @number: Number of the memory.
 * @generation: dev->generation at creation.
 * @offset: Offset in the device memory of the function.
 * @length: Length in bytes.
 */
struct vuhca_dm {
	struct vuhca_dev *dev;
	u32 number;
	u32 generation;
	u32 offset;
	u32 length;
};

/**
 * struct vuhca_mw - Memory window.
 * @dev: Function of the window.
 * @number: Number of the window.
 * @generation: dev->generation at creation.
 * @rkey: Key after the last bind that vuhca_bind_mw() posted.
 * @kind: VUHCA_MW_KIND_*.
 */
struct vuhca_mw {
	struct vuhca_dev *dev;
	u32 number;
	u32 generation;
	u32 rkey;
	u8 kind;
};

/**
 * struct vuhca_user_memory - Memory of a queue that a user process allocated.
 * @pages: Bus addresses of the lists of pages of 4 KiB, for a QP first that of
 *	sends; the adapter reads a list only while it creates the queue.
 * @stride_log2: log2 of the slot length of each.
 * @record: The record, which the process writes.
 * @record_dma: Bus address of @record.
 */
struct vuhca_user_memory {
	dma_addr_t pages[2];
	u8 stride_log2[2];
	void *record;
	dma_addr_t record_dma;
};

/**
 * struct vuhca_ah_table - Table of address handles that the adapter reads.
 * @entries: The table.
 * @dma: Bus address of @entries.
 * @count: Entries of the table.
 * @ida: Entries in use.
 */
struct vuhca_ah_table {
	struct vuhca_address_handle *entries;
	dma_addr_t dma;
	unsigned int count;
	struct ida ida;
};

/**
 * struct vuhca_ah - Address handle.
 * @dev: Function of the address handle.
 * @index: Entry of the table; send requests name it.
 * @port: Port that datagrams leave by.
 */
struct vuhca_ah {
	struct vuhca_dev *dev;
	u32 index;
	u8 port;
};

/**
 * struct vuhca_global_route - GRH fields of packets that may leave the subnet.
 * @destination_gid: GID of the destination.
 * @source_gid_index: Entry of the port's GID table.
 * @hop_limit: Hop limit.
 * @traffic_class: Traffic class.
 * @flow_label: Flow label.
 */
struct vuhca_global_route {
	u8 destination_gid[16];
	u8 source_gid_index;
	u8 hop_limit;
	u8 traffic_class;
	u32 flow_label;
};

/* Returns @key with another low byte, which the owner of the key chooses. */
static inline u32 vuhca_set_key_byte(u32 key, u8 key_byte)
{
	return (key & ~(u32)U8_MAX) | key_byte;
}

struct vuhca_pd *vuhca_alloc_pd(struct vuhca_dev *dev);
int vuhca_dealloc_pd(struct vuhca_pd *pd);

struct vuhca_xrcd *vuhca_alloc_xrcd(struct vuhca_dev *dev);
int vuhca_dealloc_xrcd(struct vuhca_xrcd *xrcd);

struct vuhca_mr *vuhca_get_dma_mr(struct vuhca_pd *pd, u32 access);
struct vuhca_mr *vuhca_reg_pages(struct vuhca_pd *pd, u32 access, u64 start,
				 u64 length, dma_addr_t page_list,
				 u32 page_count, u8 page_shift);
struct vuhca_mr *vuhca_reg_indirect(struct vuhca_pd *pd, u32 access, u64 start,
				    u64 length, dma_addr_t directory,
				    u32 page_count, u8 page_shift);
struct vuhca_mr *vuhca_alloc_fast_mr(struct vuhca_pd *pd, u32 max_pages);
int vuhca_rereg_mr(struct vuhca_mr *mr,
		   const struct vuhca_mr_attributes *attributes);
int vuhca_dereg_mr(struct vuhca_mr *mr);

struct vuhca_dm *vuhca_alloc_dm(struct vuhca_dev *dev, u64 length,
				u8 alignment_log2);
void __iomem *vuhca_dm_io(const struct vuhca_dm *dm);
phys_addr_t vuhca_dm_phys(const struct vuhca_dm *dm);
struct vuhca_mr *vuhca_reg_dm(struct vuhca_pd *pd, u32 access, u64 start,
			      const struct vuhca_dm *dm, u32 offset,
			      u64 length);
int vuhca_free_dm(struct vuhca_dm *dm);

struct vuhca_mr *vuhca_reg_on_demand(struct vuhca_pd *pd, u32 access, u64 start,
				     u64 length, u8 page_shift,
				     vuhca_page_handler page_fault,
				     void *context);
void vuhca_stop_faults(struct vuhca_mr *mr);
int vuhca_resolve_pages(struct vuhca_mr *mr, u64 address, u64 length,
			dma_addr_t list);
int vuhca_refuse_pages(struct vuhca_mr *mr, u64 address, u64 length);
int vuhca_invalidate_pages(struct vuhca_mr *mr, u64 address, u64 length);

struct vuhca_mw *vuhca_alloc_mw(struct vuhca_pd *pd, enum vuhca_mw_kind kind);
int vuhca_query_mw(struct vuhca_mw *mw, struct vuhca_mw_attributes *attributes);
int vuhca_bind_mw(struct vuhca_qp *qp, struct vuhca_mw *mw, u64 wr_id,
		  const struct vuhca_buffer *range, u32 access);
int vuhca_dealloc_mw(struct vuhca_mw *mw);

struct vuhca_ah *vuhca_create_ah(struct vuhca_pd *pd, u8 port, u16 dlid,
				 u8 service_level,
				 const struct vuhca_global_route *route);
void vuhca_destroy_ah(struct vuhca_ah *ah);
struct vuhca_address_handle *vuhca_ah_entry(struct vuhca_ah *ah);

#endif /* VUHCA_MEMORY_H */
