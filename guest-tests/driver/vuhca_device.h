/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/* A function of the adapter, its registers, and the clients of functions. */
#ifndef VUHCA_DEVICE_H
#define VUHCA_DEVICE_H

#include <linux/io.h>
#include <linux/list.h>
#include <linux/pci.h>
#include <linux/timer.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "vuhca_command.h"
#include "vuhca_compat.h"
#include "vuhca_hw.h"
#include "vuhca_memory.h"
#include "vuhca_shares.h"
#include "vuhca_vcb.h"

#define VUHCA_NAME "vuhca"

struct dentry;
struct vuhca_eq;
struct vuhca_event_ops;

/**
 * enum vuhca_dev_state - State of a function.
 * @VUHCA_DEV_DOWN: Accepts no commands: not started, or being reset.
 * @VUHCA_DEV_STARTING: Takes management commands only.
 * @VUHCA_DEV_UP: In service.
 * @VUHCA_DEV_GONE: Reads return all ones, or a reset failed.
 */
enum vuhca_dev_state {
	VUHCA_DEV_DOWN,
	VUHCA_DEV_STARTING,
	VUHCA_DEV_UP,
	VUHCA_DEV_GONE,
};

/**
 * struct vuhca_port_events - Events of ports that clients have not received
 *	yet.
 * @work: Reports them.
 * @pending: Bit of each event type, by port less 1.
 */
struct vuhca_port_events {
	struct work_struct work;
	unsigned long pending[VUHCA_PORT_MAX];
};

/**
 * struct vuhca_dev - A function of the adapter.
 * @pdev: PCI device.
 * @csr: Registers (BAR 0).
 * @collect: Collect buffers (BAR 2), write-combining.
 * @collect_bytes: Length of @collect.
 * @dedicated: Collect buffers of management commands, in @collect.
 * @pio: Windows of send contexts (BAR 4), write-combining.
 * @state: State of the function.
 * @asleep: The clients have been told of a sleep, and not yet of its end.
 * @generation: Counts resets; objects of an older generation no longer exist.
 * @attributes: Limits of the adapter.
 * @port_count: Ports.
 * @function: Number of the function, 0: the physical one.
 * @admin: Management commands.
 * @eqs: Event queues; number 0 takes asynchronous and management events.
 * @eq_count: Event queues.
 * @event_ops: Upcalls of the event queues.
 * @deadman: Timer that looks for lost events.
 * @cqs: CQs by number.
 * @qps: QPs by number.
 * @srqs: SRQs by number.
 * @send_contexts: Send contexts by number.
 * @on_demand: On-demand regions by local key.
 * @credits: Credit words of the send contexts, by number: lines of eight.
 * @credits_dma: Bus address of @credits.
 * @vcb_lock: Protects @vcb_ida, @vcbs_split and the layout of @vcbs.
 * @vcb_ida: Pages of @collect in use.
 * @vcbs_split: A request, not the driver, has split the pages between levels.
 * @vcbs: Collect buffers of each QoS level.
 * @posting: Measured costs of a collect buffer and of a doorbell.
 * @shadow_tails: The adapter watches the tails of active send queues.
 * @overflow: Doorbell overflow buffer.
 * @shares: Changes of the function's share.
 * @ahs: Address handles.
 * @eq_recovery: Recovers event queues that have failed.
 * @eq_overruns: Overruns of event queues that the deadman has seen.
 * @port_events: Pending events of ports for the clients.
 * @lost: Tells the clients that the function is gone.
 * @list: Entry in the list of devices.
 * @debugfs: Folder in debugfs.
 */
struct vuhca_dev {
	struct pci_dev *pdev;
	void __iomem *csr;
	u8 __iomem *collect;
	resource_size_t collect_bytes;
	u8 __iomem *dedicated;
	u8 __iomem *pio;
	enum vuhca_dev_state state;
	bool asleep;
	u32 generation;
	struct vuhca_adapter_attributes attributes;
	unsigned int port_count;
	u16 function;
	struct vuhca_admin admin;
	struct vuhca_eq *eqs;
	unsigned int eq_count;
	const struct vuhca_event_ops *event_ops;
	struct timer_list deadman;
	struct xarray cqs;
	struct xarray qps;
	struct xarray srqs;
	struct xarray send_contexts;
	struct xarray on_demand;
	struct vuhca_credit_return *credits;
	dma_addr_t credits_dma;
	struct mutex vcb_lock;	/* collect pages */
	struct ida vcb_ida;
	bool vcbs_split;
	struct vuhca_vcb_set vcbs[VUHCA_QOS_LEVELS];
	struct vuhca_posting posting;
	bool shadow_tails;
	struct vuhca_overflow overflow;
	struct vuhca_shares shares;
	struct vuhca_ah_table ahs;
	struct work_struct eq_recovery;
	u32 eq_overruns;
	struct vuhca_port_events port_events;
	struct work_struct lost;
	struct list_head list;
	struct dentry *debugfs;
};

/**
 * struct vuhca_client - A module that uses functions while they are in service.
 * @list: Entry in the list of clients.
 * @add: A function is in service. May sleep.
 * @remove: A function is about to be removed. May sleep.
 * @reset_prepare: A function is about to be reset, or to sleep with the system;
 *	both destroy its objects. Or NULL. May sleep.
 * @reset_done: A function is in service again after a reset or a sleep, or NULL.
 *	Processes may still be frozen. May sleep.
 * @lost: A function no longer answers, or NULL. Its objects never complete
 *	work again; @remove may follow much later. May sleep; must not register or
 *	unregister clients, or reset the function.
 * @port_event: An event of a port, VUHCA_EVENT_TYPE_*, or NULL. Events of one
 *	type that come while others are reported become one, so the client
 *	queries the port. It may come before @add and after @remove. May sleep;
 *	must not register or unregister clients, or reset the function.
 */
struct vuhca_client {
	struct list_head list;
	void (*add)(struct vuhca_dev *dev);
	void (*remove)(struct vuhca_dev *dev);
	void (*reset_prepare)(struct vuhca_dev *dev);
	void (*reset_done)(struct vuhca_dev *dev);
	void (*lost)(struct vuhca_dev *dev);
	void (*port_event)(struct vuhca_dev *dev, u8 type, u8 port);
};

static inline u32 vuhca_read_csr(struct vuhca_dev *dev, unsigned int offset)
{
	return readl(dev->csr + offset);
}

static inline u64 vuhca_read_csr64(struct vuhca_dev *dev, unsigned int offset)
{
	return readq(dev->csr + offset);
}

static inline void vuhca_write_csr(struct vuhca_dev *dev, unsigned int offset,
				   u32 value)
{
	writel(value, dev->csr + offset);
}

static inline void vuhca_write_csr64(struct vuhca_dev *dev, unsigned int offset,
				     u64 value)
{
	writeq(value, dev->csr + offset);
}

/* Stores eight bytes, which are in the adapter's byte order, at once. */
static inline void vuhca_write_eight(void __iomem *at, const void *bytes)
{
	writeq(get_unaligned_le64(bytes), at);
}

static inline bool vuhca_is_up(struct vuhca_dev *dev)
{
	return READ_ONCE(dev->state) == VUHCA_DEV_UP;
}

/* False when a reset has destroyed the object; only its memory is left then. */
static inline bool vuhca_is_current(struct vuhca_dev *dev, u32 generation)
{
	return READ_ONCE(dev->generation) == generation;
}

int vuhca_register_client(struct vuhca_client *client);
void vuhca_unregister_client(struct vuhca_client *client);
bool vuhca_adapter_disabled(struct vuhca_dev *dev);
int vuhca_reset(struct vuhca_dev *dev);

#endif /* VUHCA_DEVICE_H */
