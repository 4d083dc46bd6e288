/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Management datagrams of the host, and services that its software offers at a
 * port.
 */
#ifndef VUHCA_MAD_H
#define VUHCA_MAD_H

#include <linux/types.h>

#include "vuhca_hw.h"

struct vuhca_dev;

#define VUHCA_MAD_BYTES 256
#define VUHCA_NODE_DESCRIPTION_BYTES \
	sizeof_field(struct vuhca_adapter_changes, node_description)

/**
 * struct vuhca_mad_source - Requester of a management datagram.
 * @lid: LID of the requester.
 * @qpn: QPN of the requester.
 * @service_level: Service level of its packet.
 */
struct vuhca_mad_source {
	u16 lid;
	u32 qpn;
	u8 service_level;
};

int vuhca_execute_mad(struct vuhca_dev *dev, u8 port,
		      const struct vuhca_mad_source *source, bool ignore_mkey,
		      void *mad, u32 *result);
int vuhca_modify_port(struct vuhca_dev *dev, u8 port, u32 set, u32 clear,
		      bool reset_qkey_counter);
int vuhca_modify_device(struct vuhca_dev *dev, const char *description);

#endif /* VUHCA_MAD_H */
