// SPDX-License-Identifier: Apache-2.0
/**
 * Admission of commands: only the one that its send queue expects next is admitted, so each command
 * executes once although it may come as collect copy, implicit doorbell and explicit doorbell
 * (US 8,484,392 par. 99-101; US 9,069,485 par. 24, 66; docs/DOCUMENTS.md decision 6). A copy that
 * cannot be admitted now becomes a doorbell: the send queue in guest memory always holds the
 * command. Commands and doorbells from a page of a collect context reach its queue pairs alone.
 * Called by the collect unit and the register file through the function.
 */
import { DOORBELL_QPN_SHIFT } from '../../../protocol/layout/gen/doorbell.gen.ts';
import {
  getSendCommandQpn,
  getSendCommandSequence,
  SEND_COMMAND_SEQUENCE_MASK,
} from '../../../protocol/layout/gen/send-command.gen.ts';
import { FaultKind, FaultObject, QpState } from '../../../protocol/layout/gen/values.gen.ts';
import type { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import type { ObjectTable } from '../function/object-table.ts';
import { Step } from '../function/timeline.ts';
import { DoorbellSource } from '../function/timeline-values.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { TransmitVirtualLanes } from '../lane/transmit-virtual-lanes.ts';
import type { ContextOrKernel } from '../queues/collect-context.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { announceCommands, compareCopy } from './announced-commands.ts';
import { checkCommand } from './command-check.ts';
import type { DoorbellUnit } from './doorbell-unit.ts';
import type { ShadowTails } from './shadow-tails.ts';

const HALF_SEQUENCE = (SEND_COMMAND_SEQUENCE_MASK + 1) / 2;

export class CommandAdmission {
  readonly #queuePairs: ObjectTable<QueuePair>;
  readonly #lanes: TransmitVirtualLanes;
  readonly #tails: ShadowTails;

  constructor(queuePairs: ObjectTable<QueuePair>, lanes: TransmitVirtualLanes, tails: ShadowTails) {
    this.#queuePairs = queuePairs;
    this.#tails = tails;
    this.#lanes = lanes;
  }

  /**
   * Takes a complete command from a collect buffer of the unit's function. Stale copies are
   * dropped; early, damaged and refused ones become doorbells.
   */
  kick(unit: DoorbellUnit, buffer: PhysicalCollectBuffer, context?: ContextOrKernel): void {
    const { owner } = unit;
    const qpn = getSendCommandQpn(buffer.view, 0);
    const sequence = getSendCommandSequence(buffer.view, 0);
    owner.timeline?.note(Step.KICK, owner.number, qpn, sequence, buffer.vcb);
    const qp = this.#find(owner, qpn, context);
    if (qp === undefined) return buffer.release();
    if (qp.state !== QpState.RTS) return this.#drop(unit, qp, buffer);
    const ahead = (sequence - qp.nextSequence) & SEND_COMMAND_SEQUENCE_MASK;
    if (ahead !== 0) {
      if (ahead < HALF_SEQUENCE) return this.#drop(unit, qp, buffer);
      owner.counters.commandsStale++;
      return buffer.release();
    }
    const fault = checkCommand(qp, buffer);
    if (fault !== FaultKind.NONE) {
      owner.faults.report(fault, qp, buffer.vcb);
      return this.#drop(unit, qp, buffer);
    }
    const { announced } = owner;
    if (announced !== undefined) announceCommands(announced, qp, sequence);
    if (unit.prune(qp, sequence)) {
      owner.counters.doorbellsImplicit++;
      return buffer.release();
    }
    if (!this.#lanes.hasRoomForCollected(qp, buffer.qosLevel)) return this.#drop(unit, qp, buffer);
    if (announced !== undefined) compareCopy(announced, qp, buffer);
    owner.counters.commandsCollected++;
    this.#lanes.admit(qp, buffer);
  }

  /** Takes a doorbell, as the two dwords of the layout `doorbell`. */
  ring(unit: DoorbellUnit, low: number, high: number, context?: ContextOrKernel): void {
    const qp = this.#find(unit.owner, low >>> DOORBELL_QPN_SHIFT, context);
    if (qp === undefined) return;
    this.#ring(unit, qp, high & SEND_COMMAND_SEQUENCE_MASK, DoorbellSource.SOFTWARE);
    if (unit.owner.tailWindowNs > 0) this.#tails.ask(qp);
  }

  /** Takes a tail that was found without a doorbell; `sequence`: of the last posted command. */
  ringFound(unit: DoorbellUnit, qp: QueuePair, sequence: number): void {
    this.#ring(unit, qp, sequence, DoorbellSource.TAIL);
  }

  /**
   * Takes the first 8 bytes of a command that found no PCB, laid out as a doorbell. They wait in
   * the FIFO in host memory if it is chosen and has room (US 8,484,392 par. 101), or on the bus.
   */
  ringRefused(unit: DoorbellUnit, low: number, high: number, context?: ContextOrKernel): void {
    const { owner } = unit;
    const qp = this.#find(owner, low >>> DOORBELL_QPN_SHIFT, context);
    if (qp === undefined) return;
    const sequence = high & SEND_COMMAND_SEQUENCE_MASK;
    owner.timeline?.note(Step.DOORBELL, owner.number, qp.number, sequence, DoorbellSource.NO_PCB);
    if (owner.announced !== undefined) announceCommands(owner.announced, qp, sequence);
    if (!unit.spilled.takesRefused(qp)) unit.ring(qp, sequence);
    else if (unit.spilled.queue(qp, sequence)) unit.wake();
    else unit.lose();
  }

  /** Takes a stop doorbell: the QP leaves the scheduler until it is reset. */
  stop(unit: DoorbellUnit, low: number, context?: ContextOrKernel): void {
    const qp = this.#find(unit.owner, low >>> DOORBELL_QPN_SHIFT, context);
    if (qp === undefined) return;
    this.#tails.drop(qp);
    unit.stop(qp);
  }

  /**
   * The QP when it belongs to the function and to the context of the page, and can send. Otherwise
   * undefined, with a fault.
   */
  #find(owner: UnderlyingFunction, qpn: number, context: ContextOrKernel): QueuePair | undefined {
    const qp = this.#queuePairs.get(qpn);
    if (qp === undefined || qp.owner !== owner || !owner.enabled) {
      owner.faults.reportNumber(FaultKind.COMMAND_BAD_QP, FaultObject.QP, qpn, 0);
      return undefined;
    }
    if (context !== undefined && qp.collectContext !== context) {
      context.refuse();
      owner.faults.reportNumber(FaultKind.COLLECT_CONTEXT, FaultObject.QP, qpn, 0);
      return undefined;
    }
    if (qp.sendsAreTaken || (qp.state === QpState.SQD && !qp.isXrcTarget)) return qp;
    owner.faults.reportNumber(FaultKind.COMMAND_BAD_QP, FaultObject.QP, qpn, 0);
    return undefined;
  }

  /** Replaces a copy by an implicit doorbell (US 8,484,392 par. 99). */
  #drop(unit: DoorbellUnit, qp: QueuePair, buffer: PhysicalCollectBuffer): void {
    const sequence = getSendCommandSequence(buffer.view, 0);
    buffer.release();
    qp.owner.counters.doorbellsImplicit++;
    this.#ring(unit, qp, sequence, DoorbellSource.COPY);
  }

  #ring(unit: DoorbellUnit, qp: QueuePair, sequence: number, source: DoorbellSource): void {
    const { owner } = qp;
    owner.timeline?.note(Step.DOORBELL, owner.number, qp.number, sequence, source);
    if (owner.announced !== undefined) announceCommands(owner.announced, qp, sequence);
    unit.ring(qp, sequence);
  }
}
