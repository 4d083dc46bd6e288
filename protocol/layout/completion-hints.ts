// SPDX-License-Identifier: Apache-2.0
/**
 * Advice for each fault that ends a WQE: what to check first. The table of faults in
 * docs/DEBUGGING.md and `vuhca explain` show it.
 */

/**
 * Faults that end a WQE, so that `vendorError` of its CQE has them, and the first checks for each.
 */
export const completionHints: Readonly<Record<string, string>> = {
  NONE: 'the peer, or an earlier failure, as said above',
  COLLECT_BAD_LENGTH: '`collectLength` of the command in the slot: from 64 to the stride',
  COMMAND_CHECKSUM: "the checksum, with the QP's key; a slot that was written again too early",
  COMMAND_BAD_QP: '`qpn` of the command in the slot',
  COMMAND_QOS: '`qosLevel`: that of the creation of the QP',
  COMMAND_OPCODE: 'the opcode; `maxReadsInitiated` above 0 for READs and atomics',
  COMMAND_SGE: '`sgeCount`, lengths of the SGEs, `messageLength`; atomics take one SGE of 8 bytes',
  COMMAND_LENGTH: '`messageLength`: datagrams fit the path MTU. With BAD_RESPONSE_ERROR: the answer of the peer',
  COMMAND_SEQUENCE: 'a tail that was published before its slot: a barrier is missing',
  DMA_READ: 'address of the WQE, SGE or page; bus mastering; memory that QEMU does not share',
  DMA_WRITE: 'as for DMA_READ: buffers of receives and READs',
  KEY_INVALID: 'all 32 bits of the L_Key or R_Key; whether the region still exists',
  KEY_PD: 'PDs of region and QP',
  KEY_BOUNDS: 'address and length, against those of the region',
  KEY_ACCESS: 'access flags of region, window and QP; LOCAL_WRITE for receives and READs',
  KEY_STATE: 'windows that are still bound; regions that are registered already',
  PAGE_FAULT: 'whether the process still has the memory, with the rights of the region',
  ADDRESS_HANDLE: 'valid bit, PD, port and GID index of the entry; ADDRESS_HANDLE_TABLE',
  RECEIVE_ENTRY: '`sgeCount` within 16 and the stride; `sequence`',
  RECEIVE_TOO_SHORT: 'length of the buffers; datagrams need 40 bytes more, for the GRH',
  PORT_DOWN: 'port attribute of the QP',
};
