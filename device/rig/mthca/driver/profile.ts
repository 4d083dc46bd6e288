// SPDX-License-Identifier: Apache-2.0
/**
 * The small profile with which tests start an mthca device, and the mailboxes of its objects. Used
 * by the test driver and by tests.
 */
import { encodeEqContext, newEqContext } from '../../../../protocol/mthca/gen/eq-context.gen.ts';
import {
  encodeHcaSetup,
  HCA_SETUP_SIZE,
  type HcaSetup,
  newHcaSetup,
} from '../../../../protocol/mthca/gen/hca-setup.gen.ts';
import { encodeMptEntry, type MptEntry, newMptEntry } from '../../../../protocol/mthca/gen/mpt-entry.gen.ts';
import { NotificationState } from '../../../../protocol/mthca/gen/values.gen.ts';

export const LOG_EQ_ENTRIES = 6;
export const PD = 3;
/** Tables of the profile in context memory, which is mapped as a whole. */
export const ICM_BYTES = 0x40000;
export const EQC_BASE = 0x16000;
export const MTT_BASE = 0x1b000;
export const UARC_BASE = 0x30000;
export const profile: Readonly<HcaSetup> = {
  ...newHcaSetup(),
  shortKeys: 1,
  qpcBaseLow: 0,
  logQpcEntries: 8,
  srqcBaseLow: 0x10000 / 0x100,
  logSrqcEntries: 8,
  cqcBaseLow: 0x12000 / 0x100,
  logCqcEntries: 8,
  eqcBaseLow: EQC_BASE / 0x100,
  logEqcEntries: 5,
  mptBase: 0x17000,
  logMpts: 8,
  mttBase: MTT_BASE,
  groupBase: 0x2b000,
  logGroupBytes: 8,
  groupHashSize: 8,
  logGroups: 4,
  eqpcBase: 0x2c000,
  readBufferBase: 0x2e000,
  logUars: 3,
  uarContextBase: UARC_BASE,
};

export function setupBytes(setup: Readonly<HcaSetup>): Uint8Array {
  const bytes = new Uint8Array(HCA_SETUP_SIZE);
  encodeHcaSetup(new DataView(bytes.buffer), 0, setup);
  return bytes;
}

/** A region of a test; without a translation it is physical. */
export function regionBytes(entry: Partial<MptEntry>): Uint8Array {
  const bytes = new Uint8Array(0x40);
  const rights = { localRead: 1, localWrite: 1, region: 1, memoryAccess: 1, softwareOwner: 15, pd: PD };
  encodeMptEntry(new DataView(bytes.buffer), 0, { ...newMptEntry(), ...rights, ...entry });
  return bytes;
}

export function eventQueueBytes(key: number, vector: number, logEntries = LOG_EQ_ENTRIES): Uint8Array {
  const bytes = new Uint8Array(0x40);
  const state = { notification: NotificationState.ARMED, withoutAttachedMemory: 1, translated: 1, owner: 1 };
  encodeEqContext(new DataView(bytes.buffer), 0, {
    ...newEqContext(),
    ...state,
    logEntries,
    interrupt: 128 + vector,
    pd: PD,
    key,
  });
  return bytes;
}

/** Input of INIT_IB with the limits of the device. */
export function portSetup(mtu = 4): Uint8Array {
  const bytes = new Uint8Array(0x38);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, (mtu << 12) | (3 << 8) | (1 << 4));
  view.setUint16(6, 128);
  view.setUint16(10, 128);
  return bytes;
}
