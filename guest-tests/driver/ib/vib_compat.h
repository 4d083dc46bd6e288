/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Operations of InfiniBand devices whose form differs between Linux 6.1
 * (Debian 12), 6.12 (Debian 13) and Debian's backports. Of the files of this
 * module only this header has conditions on the kernel.
 */
#ifndef VIB_COMPAT_H
#define VIB_COMPAT_H

#include <linux/version.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

/* Since Linux 6.11 the creation of a CQ gets all attributes of the call. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define VIB_CREATE_CQ_TAKES_ATTRIBUTES 1
#endif

/* Since Linux 6.17 a registration may name a DMA handle, which this adapter has not. */
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

#endif /* VIB_COMPAT_H */
