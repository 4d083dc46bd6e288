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

#endif /* VIB_COMPAT_H */
