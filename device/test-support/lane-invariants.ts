// SPDX-License-Identifier: Apache-2.0
/**
 * Invariants of lanes and credits after every step (US 8,484,392 par. 42-46): credits are
 * conserved, and those in use are the ones that commands hold, by lane, by function and in total;
 * the commands of a QP wait in one list, in order, without gap or repetition. Called millions of
 * times: it reuses its tables.
 */
import { FUNCTION_MAX, QOS_LEVELS, TVL_MAX } from '../../protocol/layout/gen/constants.gen.ts';
import { getSendCommandSequence, SEND_COMMAND_SEQUENCE_MASK } from '../../protocol/layout/gen/send-command.gen.ts';
import type { Adapter } from '../adapter/adapter.ts';
import { type CreditHold, CreditSource } from '../collect/credit-hold.ts';
import { PcbState, type PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import type { CreditAccounts } from '../lane/credit-accounts.ts';
import { classOf, type Lane } from '../lane/lane.ts';
import type { TransmitVirtualLanes } from '../lane/transmit-virtual-lanes.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { requesterOf } from '../transport/connected-states.ts';

/** Credits of one kind that commands hold, counted from the commands. */
class HeldCredits {
  all = 0;
  shared = 0;
  readonly private = new Int32Array(TVL_MAX);
  readonly laneShared = new Int32Array(TVL_MAX);
  readonly byFunction = new Int32Array(FUNCTION_MAX);
  readonly sharedByFunction = new Int32Array(FUNCTION_MAX);

  clear(): void {
    this.all = 0;
    this.shared = 0;
    for (const counts of [this.private, this.laneShared, this.byFunction, this.sharedByFunction]) counts.fill(0);
  }

  add(hold: CreditHold, source: CreditSource): void {
    if (source === CreditSource.NONE) return;
    this.all++;
    this.byFunction[hold.functionNumber]++;
    if (source === CreditSource.PRIVATE) {
      this.private[hold.lane]++;
      return;
    }
    this.shared++;
    this.laneShared[hold.lane]++;
    this.sharedByFunction[hold.functionNumber]++;
  }

  /** Describes a count of `accounts` that differs; undefined if there is none. */
  compare(accounts: CreditAccounts, laneCount: number, functionCount: number): string | undefined {
    if (accounts.used > accounts.total) return `${accounts.used} of ${accounts.total} are in use`;
    if (accounts.used !== this.all) return `${accounts.used} are in use, commands hold ${this.all}`;
    if (accounts.sharedUsed !== this.shared) return `${accounts.sharedUsed} shared are in use, not ${this.shared}`;
    let [own, promised] = [0, 0];
    for (let lane = 0; lane < laneCount; lane++) {
      const used = accounts.privateUsed[lane];
      if (used !== this.private[lane] || accounts.laneSharedUsed[lane] !== this.laneShared[lane])
        return `lane ${lane} counts ${used}+${accounts.laneSharedUsed[lane]}, not ${this.private[lane]}+${this.laneShared[lane]}`;
      own += accounts.private[lane];
      promised += Math.max(0, accounts.private[lane] - used);
    }
    if (accounts.shared !== Math.max(0, accounts.total - own))
      return `${own} private and ${accounts.shared} shared are not ${accounts.total} in all`;
    // While use is above a limit that shrank, returned credits go to the guarantees first.
    const isConverging = accounts.sharedUsed > accounts.shared || promised + this.all - this.shared > own;
    if (!isConverging && accounts.total - accounts.used < promised)
      return `${accounts.total - accounts.used} are free, ${promised} private ones are promised`;
    return this.#compareFunctions(accounts, functionCount);
  }

  #compareFunctions(accounts: CreditAccounts, functionCount: number): string | undefined {
    for (let number = 0; number < functionCount; number++) {
      if (accounts.functionUsed[number] !== this.byFunction[number])
        return `function ${number} counts ${accounts.functionUsed[number]}, not ${this.byFunction[number]}`;
      if (accounts.functionSharedUsed[number] !== this.sharedByFunction[number])
        return `function ${number} counts ${accounts.functionSharedUsed[number]} shared, not ${this.sharedByFunction[number]}`;
    }
    return undefined;
  }
}

const execution = new HeldCredits();
const completion = new HeldCredits();
const launched = new Set<PhysicalCollectBuffer>();

/** Describes the first violation; undefined if there is none. */
export function findLaneFault(adapter: Adapter): string | undefined {
  const { lanes, functions, tables } = adapter;
  for (const held of [execution, completion]) held.clear();
  launched.clear();
  for (const pool of [adapter.collectBuffers, adapter.schedulerBuffers])
    for (const buffer of pool.buffers) {
      if (buffer.state === PcbState.FREE) continue;
      add(buffer.hold);
      if (buffer.state === PcbState.LAUNCHED) launched.add(buffer);
    }
  for (let slot = 0; slot < tables.queuePairs.slotCount; slot++) {
    const qp = tables.queuePairs.at(slot);
    const wrong = qp === undefined ? undefined : addRecords(qp);
    if (wrong !== undefined) return wrong;
  }
  const { stage } = adapter.pipeline;
  if (launched.size !== stage.count)
    return `${launched.size} launched PCBs belong to no record, ${stage.count} commands are in the send pipeline`;
  const count = functions.length;
  const credits =
    execution.compare(lanes.execution, lanes.count, count) ?? completion.compare(lanes.completion, lanes.count, count);
  return credits ?? findListFault(lanes, count);
}

function add(hold: CreditHold): void {
  execution.add(hold, hold.execution);
  completion.add(hold, hold.completion);
}

function addRecords(qp: QueuePair): string | undefined {
  for (let record = requesterOf(qp)?.oldest; record !== undefined; record = record.next) {
    add(record.hold);
    const executing = record.hold.execution !== CreditSource.NONE;
    if (executing !== (record.buffer !== undefined))
      return `a record of QP ${qp.number} has a PCB or an execution credit without the other`;
    if (record.buffer !== undefined && !launched.delete(record.buffer))
      return `a record of QP ${qp.number} has a PCB that is not launched, or another record's`;
  }
  return undefined;
}

/** Commands of a QP in lists: their number, and the sequence number of the last valid one. */
interface Listed {
  commands: number;
  sequence: number;
}

const listed = new Map<QueuePair, Listed>();
const waiting = new Int32Array(FUNCTION_MAX);
const lengths = new Int32Array(FUNCTION_MAX * QOS_LEVELS);

function findListFault(lanes: TransmitVirtualLanes, functionCount: number): string | undefined {
  listed.clear();
  waiting.fill(0);
  for (const lane of lanes.lanes) {
    const wrong = lane.length === 0 && lane.head === undefined ? undefined : findFaultOf(lane, functionCount);
    if (wrong !== undefined) return wrong;
  }
  for (const [qp, { commands, sequence }] of listed) {
    if (qp.kicked !== commands) return `QP ${qp.number} counts ${qp.kicked} kicked commands of ${commands}`;
    if (sequence >= 0 && ((sequence + 1) & SEND_COMMAND_SEQUENCE_MASK) !== qp.nextSequence)
      return `QP ${qp.number} expects command ${qp.nextSequence}; the last one listed is ${sequence}`;
  }
  for (let number = 0; number < functionCount; number++)
    if (lanes.functionWaiting[number] !== waiting[number])
      return `function ${number} counts ${lanes.functionWaiting[number]} kicked commands of ${waiting[number]}`;
  return undefined;
}

function findFaultOf(lane: Lane, functionCount: number): string | undefined {
  let length = 0;
  lengths.fill(0);
  for (let buffer = lane.head; buffer !== undefined; buffer = buffer.nextKicked) {
    const qp = buffer.queuePair;
    if (buffer.state !== PcbState.KICKED || qp === undefined) return `lane ${lane.number} lists a PCB not kicked`;
    if (qp.lane !== lane.number) return `QP ${qp.number} is on lane ${qp.lane}, a command of it on ${lane.number}`;
    const wrong = noteListed(qp, buffer);
    if (wrong !== undefined) return wrong;
    waiting[qp.owner.number]++;
    const level = buffer.vcb < 0 ? qp.qosLevel : buffer.qosLevel;
    if (buffer.laneClass !== classOf(qp.owner.number, level))
      return `lane ${lane.number} counts a command of QP ${qp.number} in class ${buffer.laneClass}`;
    lengths[buffer.laneClass]++;
    length++;
  }
  if (length !== lane.length) return `lane ${lane.number} has ${length} commands and counts ${lane.length}`;
  for (let index = 0; index < functionCount * QOS_LEVELS; index++)
    if (lengths[index] !== lane.lengths[index])
      return `lane ${lane.number} counts ${lane.lengths[index]} of ${lengths[index]} commands of class ${index}`;
  return undefined;
}

/** Notes a listed command. Sequence numbers have no gap; commands of an old epoch are void. */
function noteListed(qp: QueuePair, buffer: PhysicalCollectBuffer): string | undefined {
  const known = listed.get(qp);
  const entry = known ?? { commands: 0, sequence: -1 };
  if (known === undefined) listed.set(qp, entry);
  entry.commands++;
  if (buffer.epoch !== qp.epoch) return undefined;
  const sequence = getSendCommandSequence(buffer.view, 0);
  if (entry.sequence >= 0 && sequence !== ((entry.sequence + 1) & SEND_COMMAND_SEQUENCE_MASK))
    return `command ${sequence} of QP ${qp.number} is listed behind ${entry.sequence}`;
  entry.sequence = sequence;
  return undefined;
}
