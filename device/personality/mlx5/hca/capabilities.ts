// SPDX-License-Identifier: Apache-2.0
/**
 * What the function can do, as QUERY_HCA_CAP tells it. A bit that is 0 promises nothing, and
 * software then does not ask for the feature.
 */
import { PKEY_TABLE_ENTRIES, SGE_MAX } from '../../../../protocol/layout/gen/constants.gen.ts';
import {
  getAtomicCapsAtomicReq8BEndiannessMode,
  setAtomicCapsAtomicOperations,
  setAtomicCapsAtomicReq8BEndiannessMode,
  setAtomicCapsAtomicSizeQp,
  setAtomicCapsSupportedAtomicReq8BEndiannessMode1,
} from '../../../../protocol/mlx5/gen/atomic-caps.gen.ts';
import {
  CMD_HCA_CAP_SIZE,
  getCmdHcaCapCqeVersion,
  setCmdHcaCapAtomic,
  setCmdHcaCapBlockLbMc,
  setCmdHcaCapCqEqRemap,
  setCmdHcaCapCqe128Always,
  setCmdHcaCapCqeVersion,
  setCmdHcaCapCqModeration,
  setCmdHcaCapCqOi,
  setCmdHcaCapCqResize,
  setCmdHcaCapDeviceFrequencyKhz,
  setCmdHcaCapFastTeardown,
  setCmdHcaCapForceTeardown,
  setCmdHcaCapGidTableSize,
  setCmdHcaCapIbVirt,
  setCmdHcaCapImaicl,
  setCmdHcaCapLogBfRegSize,
  setCmdHcaCapLogMaxCq,
  setCmdHcaCapLogMaxCqSz,
  setCmdHcaCapLogMaxEq,
  setCmdHcaCapLogMaxEqSz,
  setCmdHcaCapLogMaxKlmListSize,
  setCmdHcaCapLogMaxMcg,
  setCmdHcaCapLogMaxMkey,
  setCmdHcaCapLogMaxMrwSz,
  setCmdHcaCapLogMaxMsg,
  setCmdHcaCapLogMaxPd,
  setCmdHcaCapLogMaxQp,
  setCmdHcaCapLogMaxQpSz,
  setCmdHcaCapLogMaxRaReqQp,
  setCmdHcaCapLogMaxRaResQp,
  setCmdHcaCapLogMaxRmp,
  setCmdHcaCapLogMaxSrq,
  setCmdHcaCapLogMaxSrqSz,
  setCmdHcaCapLogMaxTransportDomain,
  setCmdHcaCapLogMaxXrcd,
  setCmdHcaCapLogPgSz,
  setCmdHcaCapMaxIndirection,
  setCmdHcaCapMaxQpMcg,
  setCmdHcaCapMaxWqeSzRq,
  setCmdHcaCapMaxWqeSzSq,
  setCmdHcaCapMcamReg,
  setCmdHcaCapNumPorts,
  setCmdHcaCapPkeyTableSize,
  setCmdHcaCapPkv,
  setCmdHcaCapPortType,
  setCmdHcaCapQkv,
  setCmdHcaCapRc,
  setCmdHcaCapUarSz,
  setCmdHcaCapUc,
  setCmdHcaCapUd,
  setCmdHcaCapUmrExtendedTranslationOffset,
  setCmdHcaCapXrc,
} from '../../../../protocol/mlx5/gen/cmd-hca-cap.gen.ts';
import { BAR_BYTES } from '../../../../protocol/mlx5/gen/constants.gen.ts';
import { DATA_SEG_SIZE } from '../../../../protocol/mlx5/gen/data-seg.gen.ts';
import { AtomicOperation, PortType } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { LOG_KEYS, MAX_INDIRECTION } from '../memory/memory-keys.ts';
import { LOG_LEAST_PAGE } from '../memory/page-list.ts';

/** Bytes of a page of capabilities. */
export const CAPABILITY_BYTES = CMD_HCA_CAP_SIZE;
/** EQs of a function, and entries of the largest one, as 2^n. */
export const LOG_EVENT_QUEUES = 6;
export const LOG_EVENT_ENTRIES = 16;
/** Domains of a function, as 2^n. */
export const LOG_DOMAINS = 16;
export const LOG_TRANSPORT_DOMAINS = 16;
export const LOG_XRC_DOMAINS = 16;
/** QPs of a function; blocks of the largest send queue, entries of the largest receive queue. */
export const LOG_QUEUE_PAIRS = 15;
export const LOG_QUEUE_PAIR_BLOCKS = 15;
/** Bytes of the largest send request and of the largest receive. */
const SEND_REQUEST_MAX_BYTES = 1024;
export const RECEIVE_ENTRY_MAX_BYTES = SGE_MAX * DATA_SEG_SIZE;
/** Shared receive queues of a function, and entries of the largest one, as 2^n. */
export const LOG_SHARED_QUEUES = 15;
export const LOG_SHARED_ENTRIES = 15;
/** READs and atomics of a QP, in each direction, as 2^n. */
export const LOG_READS = 4;
/** Multicast groups, as 2^n, and most QPs in one. */
export const LOG_GROUPS = 13;
export const GROUP_MEMBERS = 248;
/**
 * Entries of the GID table of a port: drivers read each by a command, at every change of the port.
 */
export const PORT_GIDS = 8;
/** Entries of tables whose length has the code 0. */
const LEAST_GIDS = 8;
const LEAST_PKEYS = 128;
/** CQs of a function, and entries of the largest one, as 2^n. */
export const LOG_COMPLETION_QUEUES = 15;
export const LOG_COMPLETION_ENTRIES = 20;
/** Bytes of the largest key, and pieces of the longest list of keys, as 2^n. */
const LOG_KEY_BYTES = 40;
const LOG_KEY_PIECES = 16;
/** Kinds of pages. */
export const CapabilityKind = { GENERAL: 0, ATOMIC: 3 } as const;
/** Bytes of the operands of atomics. */
const ATOMIC_BYTES = 8;
const MEBIBYTE = 2 ** 20;

/** Pages of capabilities, by their number in the modifier of QUERY_HCA_CAP. */
export function makeCapabilities(portCount: number): ReadonlyMap<number, Uint8Array> {
  return new Map([
    [CapabilityKind.GENERAL, makeGeneral(portCount)],
    [CapabilityKind.ATOMIC, makeAtomic()],
  ]);
}

/**
 * The page that is in use after software has asked for `wanted`. Of atomics it can choose the byte
 * order alone, and leaves all other fields 0.
 */
export function chooseCapabilities(kind: number, wanted: Uint8Array): Uint8Array {
  if (kind !== CapabilityKind.ATOMIC) return wanted;
  const page = makeAtomic();
  const mode = getAtomicCapsAtomicReq8BEndiannessMode(new DataView(wanted.buffer), 0);
  setAtomicCapsAtomicReq8BEndiannessMode(new DataView(page.buffer), 0, mode);
  return page;
}

/** Software has taken the form of completions that carry the user index of their queue. */
export function hasUserIndices(general: Uint8Array | undefined): boolean {
  return general !== undefined && getCmdHcaCapCqeVersion(new DataView(general.buffer, general.byteOffset), 0) > 0;
}

function makeGeneral(portCount: number): Uint8Array {
  const page = new Uint8Array(CAPABILITY_BYTES);
  const view = new DataView(page.buffer);
  setCmdHcaCapPortType(view, 0, PortType.INFINIBAND);
  setCmdHcaCapNumPorts(view, 0, portCount);
  setCmdHcaCapGidTableSize(view, 0, Math.log2(PORT_GIDS / LEAST_GIDS));
  setCmdHcaCapPkeyTableSize(view, 0, Math.log2(PKEY_TABLE_ENTRIES / LEAST_PKEYS));
  setCmdHcaCapQkv(view, 0, 1);
  setCmdHcaCapPkv(view, 0, 1);
  setCmdHcaCapLogMaxMcg(view, 0, LOG_GROUPS);
  setCmdHcaCapMaxQpMcg(view, 0, GROUP_MEMBERS);
  setCmdHcaCapBlockLbMc(view, 0, 1);
  setCmdHcaCapIbVirt(view, 0, 1);
  setCmdHcaCapMcamReg(view, 0, 1);
  setCmdHcaCapDeviceFrequencyKhz(view, 0, 1_000_000);
  setCmdHcaCapLogPgSz(view, 0, LOG_LEAST_PAGE);
  setCmdHcaCapUarSz(view, 0, Math.log2(BAR_BYTES / MEBIBYTE));
  setCmdHcaCapLogBfRegSize(view, 0, 9);
  setCmdHcaCapLogMaxMsg(view, 0, 30);
  setCmdHcaCapLogMaxEq(view, 0, LOG_EVENT_QUEUES);
  setCmdHcaCapLogMaxEqSz(view, 0, LOG_EVENT_ENTRIES);
  setCmdHcaCapLogMaxCq(view, 0, LOG_COMPLETION_QUEUES);
  setCmdHcaCapLogMaxCqSz(view, 0, LOG_COMPLETION_ENTRIES);
  setCmdHcaCapCqOi(view, 0, 1);
  setCmdHcaCapCqResize(view, 0, 1);
  setCmdHcaCapCqe128Always(view, 0, 1);
  setCmdHcaCapCqModeration(view, 0, 1);
  setCmdHcaCapCqEqRemap(view, 0, 1);
  setCmdHcaCapLogMaxQp(view, 0, LOG_QUEUE_PAIRS);
  setCmdHcaCapLogMaxQpSz(view, 0, LOG_QUEUE_PAIR_BLOCKS);
  setCmdHcaCapLogMaxSrq(view, 0, LOG_SHARED_QUEUES);
  setCmdHcaCapLogMaxRmp(view, 0, LOG_SHARED_QUEUES);
  setCmdHcaCapLogMaxSrqSz(view, 0, LOG_SHARED_ENTRIES);
  setCmdHcaCapLogMaxRaReqQp(view, 0, LOG_READS);
  setCmdHcaCapLogMaxRaResQp(view, 0, LOG_READS);
  setCmdHcaCapLogMaxPd(view, 0, LOG_DOMAINS);
  setCmdHcaCapLogMaxXrcd(view, 0, LOG_XRC_DOMAINS);
  setCmdHcaCapLogMaxTransportDomain(view, 0, LOG_TRANSPORT_DOMAINS);
  setCmdHcaCapMaxWqeSzSq(view, 0, SEND_REQUEST_MAX_BYTES);
  setCmdHcaCapMaxWqeSzRq(view, 0, RECEIVE_ENTRY_MAX_BYTES);
  setCmdHcaCapCqeVersion(view, 0, 1);
  setCmdHcaCapForceTeardown(view, 0, 1);
  setCmdHcaCapFastTeardown(view, 0, 1);
  setCmdHcaCapAtomic(view, 0, 1);
  setCmdHcaCapRc(view, 0, 1);
  setCmdHcaCapUc(view, 0, 1);
  setCmdHcaCapUd(view, 0, 1);
  setCmdHcaCapXrc(view, 0, 1);
  describeKeys(view);
  return page;
}

/** Operands and results are in the byte order of the host. */
function makeAtomic(): Uint8Array {
  const page = new Uint8Array(CAPABILITY_BYTES);
  const view = new DataView(page.buffer);
  setAtomicCapsAtomicReq8BEndiannessMode(view, 0, 1);
  setAtomicCapsSupportedAtomicReq8BEndiannessMode1(view, 0, 1);
  setAtomicCapsAtomicOperations(view, 0, (1 << AtomicOperation.COMPARE_SWAP) | (1 << AtomicOperation.FETCH_ADD));
  setAtomicCapsAtomicSizeQp(view, 0, ATOMIC_BYTES);
  return page;
}

function describeKeys(view: DataView): void {
  setCmdHcaCapLogMaxMkey(view, 0, LOG_KEYS);
  setCmdHcaCapLogMaxMrwSz(view, 0, LOG_KEY_BYTES);
  setCmdHcaCapMaxIndirection(view, 0, MAX_INDIRECTION);
  setCmdHcaCapLogMaxKlmListSize(view, 0, LOG_KEY_PIECES);
  setCmdHcaCapUmrExtendedTranslationOffset(view, 0, 1);
  setCmdHcaCapImaicl(view, 0, 1);
}
