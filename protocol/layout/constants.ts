// SPDX-License-Identifier: Apache-2.0
/**
 * Constants that device, driver and user-space provider share: PCI identity, architectural limits,
 * offsets in a collect-buffer page. `npm run generate` emits them for TypeScript and for C.
 */
import type { ConstantTable } from './table.ts';

const pciConstants: ConstantTable = {
  name: 'pci',
  doc: 'PCI identity and BARs of one function (docs/DOCUMENTS.md decision 16).',
  constants: [
    {
      name: 'VENDOR_ID',
      value: 0x1af4,
      doc: 'Vendor ID: Red Hat, which leaves device IDs 0x10f0 to 0x10ff to experiments.',
      source: 'QEMU, docs/specs/pci-ids.rst',
    },
    { name: 'DEVICE_ID_PF', value: 0x10f5, doc: 'Device ID of the physical function (UF0).' },
    { name: 'DEVICE_ID_VF', value: 0x10f6, doc: 'Device ID of a virtual function (UF1 and up).' },
    { name: 'SUBSYSTEM_ID', value: 0x7568, doc: 'Subsystem ID: "uh" in ASCII.' },
    {
      name: 'CLASS_CODE',
      value: 0x020700,
      doc: 'Network controller, InfiniBand.',
      source: 'PCI Code and ID Assignment 1.9',
    },
    { name: 'BAR_REGISTERS', value: 0, doc: 'BAR of the registers, the MSI-X table, the PBA and device memory.' },
    { name: 'BAR_COLLECT', value: 2, doc: 'BAR of the collect buffers, a page of 4 KiB each.' },
    { name: 'BAR_PIO', value: 4, doc: 'BAR of the PIO send memory.' },
    {
      name: 'BAR_REGISTERS_BYTES',
      value: 0x100000,
      doc: 'Size of the register BAR: registers, and device memory in its upper half.',
    },
    { name: 'DEVICE_MEMORY_OFFSET', value: 0x80000, doc: 'Device memory in the register BAR.' },
    { name: 'DEVICE_MEMORY_MAX_BYTES', value: 0x80000, doc: 'Room for device memory, the maximum of a function.' },
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

const limitConstants: ConstantTable = {
  name: 'limit',
  doc: 'Architectural limits. Field widths set them; options can only choose lower ones.',
  constants: [
    {
      name: 'PAGE_BYTES',
      value: 4096,
      doc: 'Page of a collect buffer, and smallest page of queues and memory regions.',
    },
    {
      name: 'COMMAND_HEADER_BYTES',
      value: 64,
      doc: 'Header of every command.',
      source: 'docs/DOCUMENTS.md decision 1',
    },
    {
      name: 'COMMAND_MAX_BYTES',
      value: 320,
      doc: 'Longest command: header and inline payload, or header and SGE list.',
    },
    { name: 'INLINE_MAX_BYTES', value: 256, doc: 'Longest inline payload.' },
    {
      name: 'DEVICE_MEMORY_GRANULE_BYTES',
      value: 64,
      doc: 'Ranges of device memory begin at multiples of it, and their lengths are rounded up to it.',
    },
    { name: 'SGE_MAX', value: 16, doc: 'Most scatter/gather elements of a work request.' },
    { name: 'SEND_QUEUE_MAX_LOG2', value: 15, doc: 'log2 of the entries in the longest send queue.' },
    { name: 'RECEIVE_QUEUE_MAX_LOG2', value: 15, doc: 'log2 of the entries in the longest receive queue.' },
    { name: 'COMPLETION_QUEUE_MAX_LOG2', value: 22, doc: 'log2 of the entries in the longest completion queue.' },
    { name: 'EVENT_QUEUE_MAX_LOG2', value: 16, doc: 'log2 of the entries in the longest event queue.' },
    { name: 'PORT_MAX', value: 4, doc: 'Most ports of an adapter.' },
    {
      name: 'DEDICATED_MAX',
      value: 8,
      doc: 'Most dedicated collect buffers of a function for management commands.',
      source: 'US 8,484,392 par. 49',
    },
    {
      name: 'VCB_MAX',
      value: 16384,
      doc: 'Most virtual collect buffers of an adapter.',
      source: 'docs/DOCUMENTS.md decision 12',
    },
    {
      name: 'PCB_MAX',
      value: 1024,
      doc: 'Most physical collect buffers of an adapter.',
      source: 'docs/DOCUMENTS.md decision 12',
    },
    {
      name: 'FUNCTION_MAX',
      value: 34,
      doc: 'Most underlying functions: one physical, 33 virtual.',
      source: 'docs/DOCUMENTS.md decision 12',
    },
    {
      name: 'TVL_MAX',
      value: 128,
      doc: 'Most transmit virtual lanes of an adapter.',
      source: 'docs/DOCUMENTS.md decision 12',
    },
    {
      name: 'OVERFLOW_ENTRY_BYTES',
      value: 8,
      doc: 'Entry of the doorbell overflow buffer: one doorbell.',
      source: 'US 9,069,485 par. 29',
    },
    { name: 'OVERFLOW_MIN_LOG2', value: 3, doc: 'log2 of the entries in the shortest doorbell overflow buffer.' },
    { name: 'OVERFLOW_MAX_LOG2', value: 20, doc: 'log2 of the entries in the longest doorbell overflow buffer.' },
    { name: 'RESOURCE_CHANGES_MAX', value: 32, doc: 'Most changes in one resource allocation request.' },
    { name: 'RESOURCE_NO_LEVEL', value: 15, doc: 'qosLevel of a resource change that names no QoS level.' },
    {
      name: 'SEND_CONTEXT_MAX',
      value: 160,
      doc: 'Most send contexts of an adapter.',
      source: 'docs/DOCUMENTS.md decision 12',
    },
    {
      name: 'SEND_BLOCK_BYTES',
      value: 64,
      doc: 'Send block; one credit stands for one block.',
      source: 'US 2015/0378953 abstract',
    },
    {
      name: 'SEND_MEMORY_BLOCKS_MAX',
      value: 163840,
      doc: 'Most blocks of the PIO send memory of an adapter: 160 contexts of 1024 blocks.',
      source: 'US 2015/0378953 claim 1; docs/DOCUMENTS.md decision 12',
    },
    {
      name: 'SEND_CONTEXT_BLOCKS_MAX',
      value: 1024,
      doc: 'Most send blocks of a context: half the range of the credit counters.',
      source: 'docs/DOCUMENTS.md decision 12',
    },
    { name: 'SEND_CONTEXT_WINDOW_BYTES', value: 0x10000, doc: 'Window of a context in the PIO BAR.' },
    {
      name: 'SEND_START_OF_PACKET_OFFSET',
      value: 0x1000000,
      doc: 'Distance from a block to its start-of-packet alias, which takes the first block of a packet.',
    },
    {
      name: 'SEND_COUNTER_MASK',
      value: 0x7ff,
      doc: 'Mask of the absolute credit counters, which count modulo 2048.',
      source: 'docs/DOCUMENTS.md decision 9',
    },
    {
      name: 'TRACE_SNAP_LENGTH',
      value: 4096,
      doc: 'Payload bytes that a command block keeps by default.',
      source: 'IPCOM000010133D par. 4',
    },
    { name: 'TRACE_SNAP_LENGTH_MAX', value: 65536, doc: 'Most payload bytes that a command block can keep.' },
    { name: 'TRACE_BLOCKS_MAX_LOG2', value: 16, doc: 'log2 of the most command blocks of a QP.' },
    { name: 'QOS_LEVELS', value: 2, doc: 'QoS levels of an underlying function: 0 high bandwidth, 1 low latency.' },
    {
      name: 'GRH_AREA_BYTES',
      value: 40,
      doc: 'Area for the GRH before every received datagram.',
      source: 'IBTA 11.4.1.2',
    },
    { name: 'MESSAGE_MAX_BYTES', value: 0x80000000, doc: 'Longest message.', source: 'IBTA 9.7.7' },
    { name: 'PKEY_TABLE_ENTRIES', value: 128, doc: 'Entries in the P_Key table of a port.' },
    { name: 'PKEY_BLOCK_ENTRIES', value: 32, doc: 'Entries in the answer to QUERY_PKEYS.' },
    { name: 'GID_BLOCK_ENTRIES', value: 8, doc: 'Entries in the answer to QUERY_GIDS.' },
    { name: 'GID_TABLE_ENTRIES', value: 128, doc: 'Entries in the GID table of a port.' },
    { name: 'IDENTITY_MAGIC', value: 0x41434856, doc: 'Value of the IDENTITY register: "VHCA" in memory order.' },
    {
      name: 'ENTRY_SEQUENCE_FIRST',
      value: 1,
      doc: 'Sequence word of the first CQE and EQE; not 0, so zeroed memory holds no valid entry.',
    },
    {
      name: 'RESPONSE_VALID',
      value: 0x80000000,
      doc: 'Bit in the sequence word of a management response that marks it valid.',
    },
    {
      name: 'CANCEL_VALUE_HIGH',
      value: 0xff000000,
      doc: 'High dword of the cancel value; its top byte is all ones.',
      source: 'docs/DOCUMENTS.md decision 3',
    },
  ],
};

const collectPageConstants: ConstantTable = {
  name: 'collect-page',
  doc: 'Offsets in a collect-buffer page, which can be mapped into one process.',
  constants: [
    { name: 'DATA_OFFSET', value: 0x000, doc: 'Command header, then inline payload or SGE list.' },
    { name: 'DATA_BYTES', value: 0x140, doc: 'Size of the data area.' },
    { name: 'NOTIFY_OFFSET', value: 0xf00, doc: '8-byte completion notification request (cq-notify).' },
    { name: 'KICK_OFFSET', value: 0xf40, doc: '8-byte explicit kick: the command is complete as written.' },
    { name: 'STOP_OFFSET', value: 0xf80, doc: '8-byte stop doorbell: takes the QP off the scheduler.' },
    { name: 'DOORBELL_OFFSET', value: 0xfc0, doc: '8-byte explicit doorbell: the first 8 bytes of the command.' },
    { name: 'CANCEL_OFFSET', value: 0xff8, doc: '8-byte cancel: drops an incomplete command.' },
  ],
};

export const constantTables = [pciConstants, limitConstants, collectPageConstants];
