// SPDX-License-Identifier: Apache-2.0
/** Registers of probe-device.ts in BAR0. */

export const PROBE = {
  identity: 0x000,
  identityValue: 0x70726f62,
  counters: 0x010,
  throws: 0x100,
  dropClient: 0x108,
  dma: 0x200,
  dmaLength: 0x208,
  dmaOp: 0x20c,
  dmaValue: 0x210,
  dmaResult: 0x214,
  dmaOk: 0x218,
  trigger: 0x300,
  ram: 0x400,
  ramBytes: 0x400,
  vectorTable: 0x8000,
  pendingBits: 0x9000,
  vectors: 16,
} as const;

/** Indexes of the counters; the first three have the names of the reset kinds. */
export const COUNTER = {
  device: 0,
  'lost-connection': 1,
  'function-level': 2,
  dmaRegister: 3,
  dmaUnregister: 4,
  exceptions: 5,
  regions: 6,
  busMasterOn: 7,
  busMasterOff: 8,
  msixOn: 9,
  msixOff: 10,
  vectorsOn: 11,
  vectorsOff: 12,
  attached: 13,
  detached: 14,
  quiesce: 15,
  requests: 16,
  readBeforeUnmap: 17,
} as const;

export const DMA_OP = { sum: 1, fill: 2, read32: 3, write32: 4, write64: 5 } as const;
