// SPDX-License-Identifier: Apache-2.0
/**
 * The registers of doorbells (US 9,069,485 par. 67, 69, 92): policy, thresholds, overflow buffer,
 * counters. Called by function-registers.ts.
 */

import {
  CSR,
  getCsrDoorbellPolicyAdaptive,
  getCsrDoorbellPolicyExact,
  getCsrDoorbellPolicyHostQueue,
  getCsrDoorbellPolicyLinkCheck,
  getCsrDoorbellPolicyOverflow,
  getCsrDoorbellPolicySpillBuffered,
  getCsrDoorbellPolicySpillCommands,
  getCsrDoorbellThresholdsHigh,
  getCsrDoorbellThresholdsLow,
  getCsrOverflowControlEnable,
  getCsrOverflowControlEntriesLog2,
  getCsrShadowTailsEnable,
  getCsrShadowTailsWindowUs,
  setCsrDoorbellPolicyOverflow,
  setCsrDoorbellThresholdsHigh,
  setCsrDoorbellThresholdsLow,
  setCsrOverflowControlEnable,
  setCsrOverflowStatusSpilling,
  setCsrOverflowStatusStalled,
  setCsrOverflowStatusSweeping,
} from '../../../protocol/layout/gen/registers.gen.ts';
import { FaultKind, type LinkCheck, OverflowPolicy } from '../../../protocol/layout/gen/values.gen.ts';
import { OVERFLOW_BUFFER } from '../function/fault-log.ts';
import type { RegisterParts } from './register-parts.ts';

/** Free parts of the scheduler buffer, as divisors, when spilling begins and when it ends. */
const LOW_PART = 8;
const HIGH_PART = 2;
/** Time for which a send queue is watched unless SHADOW_TAILS says otherwise. */
const TAIL_WINDOW_US = 200;
const NS_PER_US = 1000;

export function attachDoorbellRegisters(parts: RegisterParts): void {
  attachOverflow(parts);
  attachPolicy(parts);
  attachTails(parts);
  attachState(parts);
}

/** Sets the registers to their values of power-on and reset, which depend on the options. */
export function resetDoorbellRegisters(parts: RegisterParts): void {
  const { registers, doorbells } = parts;
  const { entries } = doorbells.buffer;
  const low = Math.ceil(entries / LOW_PART);
  const high = Math.ceil(entries / HIGH_PART);
  registers.setStored(CSR.DOORBELL_POLICY, setCsrDoorbellPolicyOverflow(0, OverflowPolicy.NEWEST), 0);
  applyPolicy(parts, registers.getStored(CSR.DOORBELL_POLICY));
  doorbells.thresholds.set(low, high);
  parts.underlying.tailWindowNs = 0;
}

function attachOverflow(parts: RegisterParts): void {
  const { registers, doorbells } = parts;
  registers.attach(CSR.OVERFLOW_CONTROL, {
    read: () =>
      setCsrOverflowControlEnable(registers.getStored(CSR.OVERFLOW_CONTROL), Number(doorbells.overflow.enabled)),
    write: (_index, low) => {
      const base = registers.getStoredWide(CSR.OVERFLOW_BASE);
      const enable = getCsrOverflowControlEnable(low) === 1;
      const taken = doorbells.setOverflow(base, getCsrOverflowControlEntriesLog2(low), enable);
      if (enable && !taken) parts.underlying.faults.report(FaultKind.OVERFLOW_CONTROL, OVERFLOW_BUFFER, base);
    },
  });
  registers.attach(CSR.OVERFLOW_STATUS, {
    read: () => {
      let status = setCsrOverflowStatusSpilling(0, Number(doorbells.spilling));
      status = setCsrOverflowStatusSweeping(status, Number(doorbells.sweeping));
      return setCsrOverflowStatusStalled(status, Number(doorbells.stalled));
    },
  });
  registers.attach(CSR.OVERFLOW_WRITTEN, { read: () => doorbells.overflow.written });
  registers.attach(CSR.OVERFLOW_READ, { read: () => doorbells.overflow.read });
}

function attachPolicy(parts: RegisterParts): void {
  const { registers, doorbells } = parts;
  registers.attach(CSR.DOORBELL_POLICY, {
    read: () => setCsrDoorbellPolicyOverflow(registers.getStored(CSR.DOORBELL_POLICY), doorbells.policy),
    write: (_index, low) => applyPolicy(parts, low),
  });
  registers.attach(CSR.DOORBELL_THRESHOLDS, {
    read: () => {
      const { low, high } = doorbells.thresholds;
      return setCsrDoorbellThresholdsHigh(setCsrDoorbellThresholdsLow(0, low), high);
    },
    write: (_index, low) => {
      doorbells.thresholds.set(getCsrDoorbellThresholdsLow(low), getCsrDoorbellThresholdsHigh(low));
      doorbells.wake();
    },
  });
}

/** An unknown policy means the policy of power-on. */
function applyPolicy({ doorbells }: RegisterParts, value: number): void {
  const policy = getCsrDoorbellPolicyOverflow(value);
  doorbells.policy = policy <= OverflowPolicy.MOST_SPILLED ? (policy as OverflowPolicy) : OverflowPolicy.NEWEST;
  doorbells.linkCheck = getCsrDoorbellPolicyLinkCheck(value) as LinkCheck;
  doorbells.adaptive = getCsrDoorbellPolicyAdaptive(value) === 1;
  doorbells.spillBuffered = getCsrDoorbellPolicySpillBuffered(value) === 1;
  doorbells.spillCommands = getCsrDoorbellPolicySpillCommands(value) === 1;
  doorbells.spilled.exact = getCsrDoorbellPolicyExact(value) === 1;
  doorbells.spilled.hostQueue = getCsrDoorbellPolicyHostQueue(value) === 1;
  doorbells.wake();
}

/** Watches of a function that has turned them off end in the next pass. */
function attachTails({ registers, underlying }: RegisterParts): void {
  registers.attach(CSR.SHADOW_TAILS, {
    write: (_index, low) => {
      const windowUs = getCsrShadowTailsWindowUs(low) || TAIL_WINDOW_US;
      underlying.tailWindowNs = getCsrShadowTailsEnable(low) === 1 ? windowUs * NS_PER_US : 0;
    },
  });
}

function attachState(parts: RegisterParts): void {
  const { doorbells } = parts;
  const { counters } = parts.underlying;
  const { inbound, buffer, held } = doorbells;
  const sources: [number, () => number][] = [
    [CSR.DOORBELL_BUFFER_ENTRIES, () => buffer.entries],
    [CSR.DOORBELL_BUFFER_USED, () => buffer.used],
    [CSR.DOORBELLS_INBOUND, () => inbound.length + held.count],
    [CSR.BUS_READS_LIMIT, () => inbound.readsLimit],
    [CSR.BUS_READS, () => inbound.reads],
    [CSR.DOORBELLS_SPILLED, () => counters.doorbellsSpilled],
    [CSR.DOORBELLS_DRAINED, () => counters.doorbellsDrained],
    [CSR.DOORBELLS_LOST, () => counters.doorbellsLost],
    [CSR.DOORBELLS_STALE, () => counters.doorbellsStale],
    [CSR.SWEEPS, () => counters.sweeps],
    [CSR.DEADLOCKS_DETECTED, () => counters.deadlocksDetected],
    [CSR.QUEUE_TURNS, () => counters.queueTurns],
    [CSR.QUEUES_LINKED, () => counters.queuesLinked],
    [CSR.LINK_CHECKS, () => counters.linkChecks],
    [CSR.LINK_CHECKS_FAILED, () => counters.linkChecksFailed],
    [CSR.COMMANDS_QUEUED, () => counters.commandsQueued],
    [CSR.TAIL_WATCHES, () => counters.tailWatches],
    [CSR.TAILS_FOUND, () => counters.tailsFound],
  ];
  for (const [offset, read] of sources) parts.registers.attach(offset, { read });
}
