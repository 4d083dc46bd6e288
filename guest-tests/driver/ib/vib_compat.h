/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Operations of InfiniBand devices whose form differs between Linux 6.1
 * (Debian 12), 6.12 (Debian 13) and Debian's backports. Of the files of this
 * module only this header has conditions on the kernel.
 */
#ifndef VIB_COMPAT_H
#define VIB_COMPAT_H

#include <linux/version.h>
#include <rdma/ib_umem_odp.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "vuhca_hw.h"

/* Since Linux 6.11 the creation of a CQ gets all attributes of the call. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define VIB_CREATE_CQ_TAKES_ATTRIBUTES 1
#endif

/*
 * Since Linux 6.17 a registration may name a DMA handle, which this adapter
 * lacks.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 17, 0)
#define VIB_HAS_DMA_HANDLES 1
#endif

/* Since Linux 7.0 CQs of users have operations of their own. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
#define VIB_HAS_USER_CQ_OPERATIONS 1
#endif

/* Since Linux 6.3 the flags of a mapping are set by a function. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
#define vib_set_vm_flags vm_flags_set
#define vib_clear_vm_flags vm_flags_clear
#else
#define vib_set_vm_flags(vma, flags) ((vma)->vm_flags |= (flags))
#define vib_clear_vm_flags(vma, flags) ((vma)->vm_flags &= ~(flags))
#endif

/* Since Linux 7.0 memory can be pinned by attributes, too. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
#define vib_umem_get ib_umem_get_va
#else
#define vib_umem_get ib_umem_get
#endif

/*
 * FLUSH and ATOMIC WRITE exist since Linux 6.2; older kernels never request
 * them.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define IB_DEVICE_FLUSH_GLOBAL 0ULL
#define IB_DEVICE_FLUSH_PERSISTENT 0ULL
#define IB_DEVICE_ATOMIC_WRITE 0ULL
#define IB_ACCESS_FLUSH_GLOBAL (1 << 8)
#define IB_ACCESS_FLUSH_PERSISTENT (1 << 9)
#define IB_WR_ATOMIC_WRITE 15
#define IB_WC_FLUSH 8
#define IB_WC_ATOMIC_WRITE 9
#endif

/*
 * Pages of on-demand memory, with the bits of the adapter. Up to Linux 6.15 the
 * core keeps their bus addresses with such bits; later ones map pages on
 * request.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#include <linux/hmm.h>
#include <linux/hmm-dma.h>
#include <linux/pci-p2pdma.h>

static inline u64 vib_odp_access(bool write)
{
	return write ? HMM_PFN_WRITE : 0;
}

static inline bool vib_odp_is_mapped(struct ib_umem_odp *umem, size_t index)
{
	return umem->map.pfn_list[index] & HMM_PFN_DMA_MAPPED;
}

static inline u64 vib_odp_page(struct ib_umem_odp *umem, size_t index)
{
	struct device *device = umem->umem.ibdev->dma_device;
	unsigned long pfn = umem->map.pfn_list[index];
	struct pci_p2pdma_map_state state = {};
	dma_addr_t address;

	if (!(pfn & HMM_PFN_VALID))
		return 0;
	address = hmm_dma_map_pfn(device, &umem->map, index, &state);
	if (dma_mapping_error(device, address))
		return 0;
	return address | VUHCA_PAGE_FLAG_PRESENT |
	       (pfn & HMM_PFN_WRITE ? VUHCA_PAGE_FLAG_WRITABLE : 0);
}
#else
static_assert((int)VUHCA_PAGE_FLAG_PRESENT == ODP_READ_ALLOWED_BIT);
static_assert((int)VUHCA_PAGE_FLAG_WRITABLE == ODP_WRITE_ALLOWED_BIT);

static inline u64 vib_odp_access(bool write)
{
	return ODP_READ_ALLOWED_BIT | (write ? ODP_WRITE_ALLOWED_BIT : 0);
}

static inline bool vib_odp_is_mapped(struct ib_umem_odp *umem, size_t index)
{
	return umem->dma_list[index];
}

static inline u64 vib_odp_page(struct ib_umem_odp *umem, size_t index)
{
	return umem->dma_list[index];
}
#endif

#endif /* VIB_COMPAT_H */
