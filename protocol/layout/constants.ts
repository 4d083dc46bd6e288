// SPDX-License-Identifier: Apache-2.0
/** Numbers that device, driver and provider must agree on. */
import type { ConstantTable } from './table.ts';

export const pciConstants: ConstantTable = {
  name: 'pci',
  doc: 'Identity and BARs of one PCIe function (DESIGN.md 4.2).',
  constants: [
    { name: 'VENDOR_ID', value: 0x1af4, doc: 'Vendor id; the range 0x1af4 hands out to experimental devices.' },
    { name: 'DEVICE_ID_PF', value: 0x10f5, doc: 'Device id of the physical function (UF0).' },
    { name: 'DEVICE_ID_VF', value: 0x10f6, doc: 'Device id of a virtual function (UF1 and up).' },
    { name: 'SUBSYSTEM_ID', value: 0x7568, doc: 'Subsystem id: "uh".' },
    {
      name: 'CLASS_CODE',
      value: 0x020700,
      doc: 'Network controller, InfiniBand.',
      source: 'PCI Code and ID Assignment 1.9',
    },
    { name: 'BAR_REGISTERS', value: 0, doc: 'BAR of control and status registers, MSI-X table and PBA.' },
    { name: 'BAR_COLLECT', value: 2, doc: 'BAR of the collect buffers, one 4 KiB page each.' },
    { name: 'BAR_PIO', value: 4, doc: 'BAR of the PIO send memory.' },
    { name: 'BAR_REGISTERS_BYTES', value: 0x10000, doc: 'Size of the register BAR.' },
    {
      name: 'BAR_PIO_BYTES',
      value: 0x2000000,
      doc: 'Size of the PIO BAR: 16 MiB of send blocks and their start-of-packet alias.',
    },
    { name: 'MSIX_TABLE_OFFSET', value: 0x8000, doc: 'MSI-X table in the register BAR.' },
    { name: 'MSIX_PBA_OFFSET', value: 0xc000, doc: 'MSI-X pending bit array in the register BAR.' },
    { name: 'VECTOR_COUNT', value: 64, doc: 'MSI-X vectors of a function.' },
  ],
};

export const limitConstants: ConstantTable = {
  name: 'limit',
  doc: 'Architectural limits: field widths decide them, options only choose below them.',
  constants: [
    { name: 'PAGE_BYTES', value: 4096, doc: 'Page of a collect buffer, smallest page of queues and memory regions.' },
    { name: 'COMMAND_HEADER_BYTES', value: 64, doc: 'Header of every command.', source: 'US8484392, command' },
    { name: 'COMMAND_MAX_BYTES', value: 320, doc: 'Header and the longest inline payload or SGE list.' },
    { name: 'INLINE_MAX_BYTES', value: 256, doc: 'Longest inline payload.' },
    { name: 'SGE_MAX', value: 16, doc: 'Scatter/gather elements of one work request.' },
    { name: 'SEND_QUEUE_MAX_LOG2', value: 15, doc: 'log2 of the longest send queue.' },
    { name: 'RECEIVE_QUEUE_MAX_LOG2', value: 15, doc: 'log2 of the longest receive queue.' },
    { name: 'COMPLETION_QUEUE_MAX_LOG2', value: 22, doc: 'log2 of the longest completion queue.' },
    { name: 'EVENT_QUEUE_MAX_LOG2', value: 16, doc: 'log2 of the longest event queue.' },
    { name: 'PORT_MAX', value: 2, doc: 'Ports of an adapter.' },
    { name: 'VCB_MAX', value: 16384, doc: 'Virtual collect buffers of the adapter.', source: 'real-hardware 1.2' },
    { name: 'PCB_MAX', value: 1024, doc: 'Physical collect buffers of the adapter.', source: 'real-hardware 1.2' },
    {
      name: 'FUNCTION_MAX',
      value: 34,
      doc: 'Underlying functions: one physical, 33 virtual.',
      source: 'real-hardware 1.2',
    },
    { name: 'TVL_MAX', value: 128, doc: 'Transmit virtual lanes of the adapter.', source: 'real-hardware 1.2' },
    {
      name: 'OVERFLOW_ENTRY_BYTES',
      value: 8,
      doc: 'Entry of the doorbell overflow buffer: a doorbell.',
      source: 'US9069485',
    },
    { name: 'OVERFLOW_MIN_LOG2', value: 3, doc: 'log2 of the shortest doorbell overflow buffer.' },
    { name: 'OVERFLOW_MAX_LOG2', value: 20, doc: 'log2 of the longest doorbell overflow buffer.' },
    { name: 'RESOURCE_CHANGES_MAX', value: 32, doc: 'Changes of one resource request.' },
    { name: 'RESOURCE_NO_LEVEL', value: 15, doc: 'qosLevel of a resource change that is about a whole function.' },
    { name: 'SEND_CONTEXT_MAX', value: 160, doc: 'Send contexts of the adapter.', source: 'real-hardware 2.1' },
    { name: 'SEND_BLOCK_BYTES', value: 64, doc: 'Send block: one credit.', source: 'US2015378953' },
    { name: 'SEND_CONTEXT_BLOCKS_MAX', value: 1024, doc: 'Send blocks of a context.', source: 'real-hardware 2.1' },
    { name: 'SEND_CONTEXT_WINDOW_BYTES', value: 0x10000, doc: 'Window of a context in the PIO BAR.' },
    {
      name: 'SEND_START_OF_PACKET_OFFSET',
      value: 0x1000000,
      doc: 'Distance of the start-of-packet alias: the first block of a packet is written there.',
    },
    {
      name: 'SEND_COUNTER_MASK',
      value: 0x7ff,
      doc: 'Absolute credit counters are modulo 2048.',
      source: 'real-hardware 2.1',
    },
    {
      name: 'TRACE_SNAP_LENGTH',
      value: 4096,
      doc: 'Payload bytes a command block keeps unless told.',
      source: 'IPCOM000010133D',
    },
    { name: 'TRACE_SNAP_LENGTH_MAX', value: 65536, doc: 'Most payload bytes a command block keeps.' },
    { name: 'TRACE_BLOCKS_MAX_LOG2', value: 16, doc: 'log2 of the most command blocks of a QP.' },
    { name: 'QOS_LEVELS', value: 2, doc: 'QoS levels of an underlying function: 0 high bandwidth, 1 low latency.' },
    { name: 'GRH_AREA_BYTES', value: 40, doc: 'Area in front of every received datagram.', source: 'IBTA 11.4.1.2' },
    { name: 'MESSAGE_MAX_BYTES', value: 0x80000000, doc: 'Longest message.', source: 'IBTA 9.7.7' },
    { name: 'PKEY_TABLE_ENTRIES', value: 128, doc: 'P_Key table entries of a port.' },
    { name: 'GID_TABLE_ENTRIES', value: 128, doc: 'GID table entries of a port.' },
    { name: 'IDENTITY_MAGIC', value: 0x41434856, doc: 'Value of the IDENTITY register: "VHCA" in memory order.' },
    {
      name: 'ENTRY_SEQUENCE_FIRST',
      value: 1,
      doc: 'Sequence word of the first CQE and EQE; zeroed memory is therefore never valid.',
    },
    {
      name: 'RESPONSE_VALID',
      value: 0x80000000,
      doc: 'Bit of the management response sequence word that makes it valid.',
    },
    {
      name: 'CANCEL_VALUE_HIGH',
      value: 0xff000000,
      doc: 'High dword of the cancel value: the top byte is all ones.',
      source: 'real-hardware 1.3',
    },
  ],
};

export const collectPageConstants: ConstantTable = {
  name: 'collect-page',
  doc: 'Offsets in a collect-buffer page; a page can be mapped into one process.',
  constants: [
    { name: 'DATA_OFFSET', value: 0x000, doc: 'Command header, then inline payload or SGE list.' },
    { name: 'DATA_BYTES', value: 0x140, doc: 'Size of the data area.' },
    { name: 'NOTIFY_OFFSET', value: 0xf00, doc: '8-byte completion notification request (cq-notify).' },
    { name: 'KICK_OFFSET', value: 0xf40, doc: '8-byte explicit kick: the command is whole as written.' },
    { name: 'STOP_OFFSET', value: 0xf80, doc: '8-byte stop doorbell: takes the QP off the scheduler.' },
    { name: 'DOORBELL_OFFSET', value: 0xfc0, doc: '8-byte explicit doorbell: the first 8 bytes of the command.' },
    { name: 'CANCEL_OFFSET', value: 0xff8, doc: '8-byte cancel: frees a half-written command.' },
  ],
};

export const constantTables = [pciConstants, limitConstants, collectPageConstants];
