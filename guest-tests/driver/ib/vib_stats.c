// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Counters of the adapter and of its driver (`rdma statistic`, hw_counters in
 * sysfs). The counters of performance management come by vib_process_mad().
 */
#include "vib.h"

enum vib_port_stat {
	VIB_TRANSMIT_PACKETS,
	VIB_RECEIVE_PACKETS,
	VIB_RECEIVE_DROPS,
	VIB_PORT_STATS,
};

enum vib_device_stat {
	VIB_FAULTS,
	VIB_COMMANDS,
	VIB_COMMAND_REFUSALS,
	VIB_COMMAND_TIMEOUTS,
	VIB_EVENTS,
	VIB_INTERRUPTS,
	VIB_STRANDED_EVENTS,
	VIB_PAGE_FAULTS,
	VIB_PAGE_INVALIDATIONS,
	VIB_DOORBELLS,
	VIB_TAILS_FOUND,
	VIB_DEVICE_STATS,
};

static const struct rdma_stat_desc vib_port_descs[] = {
	[VIB_TRANSMIT_PACKETS].name = "transmit_packets",
	[VIB_RECEIVE_PACKETS].name = "receive_packets",
	[VIB_RECEIVE_DROPS].name = "receive_drops",
};
static_assert(ARRAY_SIZE(vib_port_descs) == VIB_PORT_STATS);

static const struct rdma_stat_desc vib_device_descs[] = {
	[VIB_FAULTS].name = "faults",
	[VIB_COMMANDS].name = "commands",
	[VIB_COMMAND_REFUSALS].name = "command_refusals",
	[VIB_COMMAND_TIMEOUTS].name = "command_timeouts",
	[VIB_EVENTS].name = "events",
	[VIB_INTERRUPTS].name = "interrupts",
	[VIB_STRANDED_EVENTS].name = "stranded_events",
	[VIB_PAGE_FAULTS].name = "page_faults",
	[VIB_PAGE_INVALIDATIONS].name = "page_invalidations",
	[VIB_DOORBELLS].name = "doorbells",
	[VIB_TAILS_FOUND].name = "tails_found",
};
static_assert(ARRAY_SIZE(vib_device_descs) == VIB_DEVICE_STATS);

/* Registers of ports 1 and 2, and of ports 3 and 4. */
static const unsigned int vib_port_registers[][2] = {
	[VIB_TRANSMIT_PACKETS] = { VUHCA_CSR_PORT_TRANSMIT_PACKETS_OFF,
				   VUHCA_CSR_UPPER_PORT_TRANSMIT_PACKETS_OFF },
	[VIB_RECEIVE_PACKETS] = { VUHCA_CSR_PORT_RECEIVE_PACKETS_OFF,
				  VUHCA_CSR_UPPER_PORT_RECEIVE_PACKETS_OFF },
	[VIB_RECEIVE_DROPS] = { VUHCA_CSR_PORT_RECEIVE_DROPS_OFF,
				VUHCA_CSR_UPPER_PORT_RECEIVE_DROPS_OFF },
};
static_assert(ARRAY_SIZE(vib_port_registers) == VIB_PORT_STATS);

struct rdma_hw_stats *vib_alloc_port_stats(struct ib_device *ibdev, u32 port)
{
	return rdma_alloc_hw_stats_struct(vib_port_descs, VIB_PORT_STATS,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

struct rdma_hw_stats *vib_alloc_device_stats(struct ib_device *ibdev)
{
	return rdma_alloc_hw_stats_struct(vib_device_descs, VIB_DEVICE_STATS,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

static void vib_get_port_stats(struct vuhca_dev *hw, u64 *value, u32 port)
{
	unsigned int index = port - 1, stat;

	for (stat = 0; stat < VIB_PORT_STATS; stat++)
		value[stat] = vuhca_read_csr64(hw,
			vib_port_registers[stat][index / 2] +
			index % 2 * VUHCA_CSR_PORT_TRANSMIT_PACKETS_STRIDE);
}

static void vib_get_device_stats(struct vib_dev *dev, u64 *value)
{
	struct vuhca_dev *hw = dev->hw;
	unsigned int i;

	memset(value, 0, VIB_DEVICE_STATS * sizeof(*value));
	for (i = 0; i < VUHCA_CSR_FAULT_COUNT_COUNT; i++)
		value[VIB_FAULTS] += vuhca_read_csr(hw,
			VUHCA_CSR_FAULT_COUNT_OFF +
			i * VUHCA_CSR_FAULT_COUNT_STRIDE);
	value[VIB_COMMANDS] = hw->admin.commands;
	value[VIB_COMMAND_REFUSALS] = hw->admin.refusals;
	value[VIB_COMMAND_TIMEOUTS] = hw->admin.timeouts;
	for (i = 0; i < hw->eq_count; i++) {
		value[VIB_EVENTS] += hw->eqs[i].events;
		value[VIB_INTERRUPTS] += hw->eqs[i].interrupts;
		value[VIB_STRANDED_EVENTS] += hw->eqs[i].stranded;
	}
	value[VIB_PAGE_FAULTS] = atomic64_read(&dev->page_faults);
	value[VIB_PAGE_INVALIDATIONS] =
		atomic64_read(&dev->page_invalidations);
	value[VIB_DOORBELLS] =
		vuhca_read_csr(hw, VUHCA_CSR_DOORBELLS_EXPLICIT_OFF);
	value[VIB_TAILS_FOUND] =
		vuhca_read_csr(hw, VUHCA_CSR_TAILS_FOUND_OFF);
}

int vib_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		     u32 port, int index)
{
	struct vuhca_dev *hw = to_vdev(ibdev)->hw;

	/* All registers would read as all ones. */
	if (!vuhca_is_up(hw))
		return -EIO;
	if (port)
		vib_get_port_stats(hw, stats->value, port);
	else
		vib_get_device_stats(to_vdev(ibdev), stats->value);
	return stats->num_counters;
}
