// SPDX-License-Identifier: Apache-2.0
/**
 * Limits of an mthca device, as QUERY_DEV_LIM returns them. The driver plans its tables in context
 * memory from them, and commands check numbers and sizes against them. Each table has at least the
 * entries that the Linux driver asks for by default.
 */
import { SGE_MAX } from '../../../../protocol/layout/gen/constants.gen.ts';
import { UAR_BAR_BYTES } from '../../../../protocol/mthca/gen/constants.gen.ts';
import { CQ_CONTEXT_SIZE } from '../../../../protocol/mthca/gen/cq-context.gen.ts';
import { type DeviceLimits, newDeviceLimits } from '../../../../protocol/mthca/gen/device-limits.gen.ts';
import { EQ_CONTEXT_SIZE } from '../../../../protocol/mthca/gen/eq-context.gen.ts';
import { MPT_ENTRY_SIZE } from '../../../../protocol/mthca/gen/mpt-entry.gen.ts';
import { MTT_ENTRY_SIZE } from '../../../../protocol/mthca/gen/mtt-entry.gen.ts';
import { QP_CONTEXT_SIZE } from '../../../../protocol/mthca/gen/qp-context.gen.ts';
import { DeviceFlag } from '../../../../protocol/mthca/gen/values.gen.ts';

/** Pages that the firmware and its auxiliary tables ask for; the device itself uses none. */
export const FIRMWARE_PAGES = 4;
export const AUXILIARY_PAGES = 1;

/** The firmware versions from which on drivers find nothing to complain about. */
export const FIRMWARE_VERSIONS = { 1: [1, 2, 0], 2: [5, 3, 0] } as const;

/** Largest EQ; the limits do not tell it. */
export const LOG_EQ_ENTRIES = 18;
/** Largest page of a memory region: 4096 bytes * 2^n. */
export const LOG_PAGE_MAX = 19;

/** MTU 2048, the largest of the original devices. */
export const MTU_CODE = 4;
const WIDTHS = 3;
const MIB = 2 ** 20;

const entryBytes = {
  eecBytes: 0x100,
  qpcBytes: QP_CONTEXT_SIZE,
  eeecBytes: 0x20,
  eqpcBytes: 0x20,
  eqcBytes: EQ_CONTEXT_SIZE,
  cqcBytes: CQ_CONTEXT_SIZE,
  srqcBytes: 0x20,
  uarScratchBytes: 0x20,
  mttBytes: MTT_ENTRY_SIZE,
  mptBytes: MPT_ENTRY_SIZE,
} as const;

export function makeLimits(ports: number): Readonly<DeviceLimits> {
  return {
    ...newDeviceLimits(),
    ...entryBytes,
    logSrqEntries: 14,
    logQpEntries: 14,
    logReservedQps: 4,
    logQps: 16,
    logReservedSrqs: 4,
    logSrqs: 16,
    logCqEntries: 17,
    logReservedCqs: 7,
    logCqs: 16,
    logMpts: 17,
    logReservedEqs: 1,
    logEqs: 5,
    logReservedMtts: 4,
    logRegionBytes: 30,
    logReservedMpts: 4,
    logMttSegments: 20,
    logReadsOut: 4,
    logReadsIn: 4,
    logReadsAll: 16,
    ackDelay: 15,
    mtu: MTU_CODE,
    width: WIDTHS,
    virtualLanes: 1,
    ports,
    logGids: 7,
    staticRates: 0xf,
    logPkeys: 7,
    flags:
      DeviceFlag.RC |
      DeviceFlag.UC |
      DeviceFlag.UD |
      DeviceFlag.SRQ |
      DeviceFlag.BAD_PKEY_COUNTER |
      DeviceFlag.BAD_QKEY_COUNTER |
      DeviceFlag.ATOMIC |
      DeviceFlag.UD_MULTICAST,
    reservedUars: 1,
    logUarMib: Math.log2(UAR_BAR_BYTES / MIB),
    logPageBytes: 12,
    sendEntries: SGE_MAX,
    sendRequestBytes: 1008,
    receiveEntries: SGE_MAX,
    receiveRequestBytes: 512,
    logGroupQps: 5,
    logGroups: 13,
    logPds: 15,
    icmBytes: 2 ** 32,
  };
}
