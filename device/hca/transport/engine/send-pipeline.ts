// SPDX-License-Identifier: Apache-2.0
/**
 * The send pipeline behind the arbitrator (US 8,484,392 par. 39, 117-124; US 9,069,485 par. 47):
 * passes launched commands to the requester of their service type, and completes datagrams. A
 * command holds its execution credit until its packets are with the port, and its completion credit
 * until its CQE is written. When reads take time, commands stay in `PipelineStage` meanwhile.
 * `Adapter.run` calls `advance`.
 */
import {
  getSendCommandMessageLength,
  getSendCommandOpcode,
  getSendCommandSequence,
  getSendCommandSignaled,
} from '../../../../protocol/layout/gen/send-command.gen.ts';
import {
  CompletionStatus,
  FaultKind,
  QpState,
  SendOpcode,
  ServiceType,
} from '../../../../protocol/layout/gen/values.gen.ts';
import type { Port } from '../../../fabric/port/port.ts';
import type { KickedCollectBuffer } from '../../collect/physical-collect-buffer.ts';
import type { UnderlyingFunction } from '../../function/underlying-function.ts';
import { PACKET_COST_BYTES } from '../../lane/owner-turns.ts';
import type { TransmitVirtualLanes } from '../../lane/transmit-virtual-lanes.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import { FailureCause } from '../../queues/queue-pair-failure.ts';
import { postSendCompletion } from '../completions.ts';
import type { UdRequester } from '../datagrams/ud-requester.ts';
import { sendStatus } from '../fault-status.ts';
import { countPayloadReads } from '../payload-reads.ts';
import { requesterOf } from '../state/connected-states.ts';
import type { RequesterState } from '../state/requester-state.ts';
import type { ConnectedTransport } from './connected-transport.ts';
import type { PipelineStage } from './pipeline-stage.ts';

export class SendPipeline {
  /** Commands whose reads take time. */
  readonly stage: PipelineStage;
  readonly #lanes: TransmitVirtualLanes;
  readonly #ports: readonly Port[];
  readonly #datagrams: UdRequester;
  readonly #connected: ConnectedTransport;

  constructor(
    lanes: TransmitVirtualLanes,
    ports: readonly Port[],
    datagrams: UdRequester,
    connected: ConnectedTransport,
    stage: PipelineStage,
  ) {
    this.stage = stage;
    this.#lanes = lanes;
    this.#ports = ports;
    this.#datagrams = datagrams;
    this.#connected = connected;
  }

  /**
   * Launches the next command, or executes one whose reads are complete. Returns false when there
   * is none, and no lane has a command with credits and a port with room.
   */
  advance(): boolean {
    if (this.finish()) return true;
    for (let buffer = this.#lanes.peek(); buffer !== undefined; buffer = this.#lanes.peek()) {
      const qp = buffer.queuePair;
      const index = qp.portIndex;
      const port = this.#ports[index];
      if (port?.congested && needsPort(qp, buffer)) this.#lanes.block(index);
      else {
        this.#launch(qp, buffer, port);
        return true;
      }
    }
    return false;
  }

  /** Executes the next command whose reads are complete. Returns false when there is none. */
  finish(): boolean {
    if (this.stage.count === 0) return false;
    const buffer = this.stage.take(this.#hasRoom);
    if (buffer === undefined) return false;
    const qp = buffer.queuePair;
    const connection = connectionOf(qp, buffer);
    if (connection === undefined) this.#execute(qp, buffer, this.#ports[qp.portIndex]);
    else if (connection.acceptsCommands) this.#connected.launch(connection, buffer);
    else this.#giveBack(qp, buffer);
    return true;
  }

  /** Drops the commands of a function at its reset. */
  drop(owner: UnderlyingFunction): void {
    this.stage.drop(owner, (buffer) => this.#release(buffer));
  }

  /** True when a command that leaves the stage finds room at its port, or needs none. */
  readonly #hasRoom = (buffer: KickedCollectBuffer): boolean => {
    const qp = buffer.queuePair;
    return qp.connected || !this.#ports[qp.portIndex]?.congested || !needsPort(qp, buffer);
  };

  #launch(qp: QueuePair, buffer: KickedCollectBuffer, port: Port | undefined): void {
    if (!this.stage.isPassed) return this.#enter(qp, buffer);
    const connection = connectionOf(qp, buffer);
    if (connection !== undefined) return this.#launchConnected(connection, buffer);
    this.#lanes.launch();
    this.#execute(qp, buffer, port);
  }

  /** When the QP takes no more commands now, the command returns to the send queue. */
  #launchConnected(connection: RequesterState, buffer: KickedCollectBuffer): void {
    if (connection.acceptsCommands) {
      this.#lanes.launch();
      return this.#connected.launch(connection, buffer);
    }
    this.#lanes.discard();
    this.#giveBack(connection.qp, buffer);
  }

  /**
   * Launches a command whose reads take time. Behind a staged command of its QP it keeps its place:
   * the first command that cannot go on returns all behind it to the send queue.
   */
  #enter(qp: QueuePair, buffer: KickedCollectBuffer): void {
    const isLive = buffer.epoch === qp.epoch && qp.isRequesting;
    if (isLive && qp.staged === 0 && connectionOf(qp, buffer)?.acceptsCommands === false) {
      this.#lanes.discard();
      return this.#giveBack(qp, buffer);
    }
    this.#lanes.launch();
    const isRead = isLive && buffer.fault === FaultKind.NONE;
    this.stage.enter(buffer, isRead ? countPayloadReads(qp.connected, buffer.view) : 0);
  }

  /** The QP waits: its commands from this one on return to the send queue, and hold no credit. */
  #giveBack(qp: QueuePair, buffer: KickedCollectBuffer): void {
    qp.rewind(getSendCommandSequence(buffer.view, 0));
    qp.inFlight = qp.requester?.recordCount ?? 0;
    this.#release(buffer);
  }

  /** Returns PCB and credits of a command that is over. Credits that it does not hold stay. */
  #release(buffer: KickedCollectBuffer): void {
    this.#lanes.releaseExecution(buffer.hold);
    this.#lanes.releaseCompletion(buffer.hold);
    buffer.release();
  }

  #execute(qp: QueuePair, buffer: KickedCollectBuffer, port: Port | undefined): void {
    const isVoid = buffer.epoch !== qp.epoch;
    if (!isVoid) qp.trace?.beginCommand();
    const fault = isVoid ? FaultKind.NONE : this.#perform(qp, buffer, port);
    if (fault === FaultKind.DMA_READ && this.#datagrams.awaitPage(qp, buffer)) {
      this.#giveBack(qp, buffer);
      if (qp.drainNotify) qp.life.noteDrained(qp);
      return;
    }
    // A datagram is complete when its packet is with the port (par. 122). Its completion credit
    // returns behind the CQE.
    this.#lanes.releaseExecution(buffer.hold);
    if (!isVoid) this.#complete(qp, buffer, fault);
    this.#release(buffer);
  }

  #perform(qp: QueuePair, buffer: KickedCollectBuffer, port: Port | undefined): FaultKind {
    if (!qp.isRequesting) return FaultKind.NONE;
    if (buffer.fault !== FaultKind.NONE) return buffer.fault;
    if (getSendCommandOpcode(buffer.view, 0) === SendOpcode.NOP) return FaultKind.NONE;
    if (port === undefined) return FaultKind.PORT_DOWN;
    // A port that is not active discards the packet, and the command completes (IBTA 7.2.7).
    const fault = this.#datagrams.send(qp, buffer, port);
    if (fault === FaultKind.NONE)
      this.#lanes.turns.charge(buffer.hold.lane, PACKET_COST_BYTES + getSendCommandMessageLength(buffer.view, 0));
    return fault;
  }

  #complete(qp: QueuePair, buffer: KickedCollectBuffer, fault: FaultKind): void {
    const { view } = buffer;
    const opcode = getSendCommandOpcode(view, 0);
    const sequence = getSendCommandSequence(view, 0);
    qp.inFlight--;
    if (qp.state === QpState.ERR || qp.state === QpState.SQE) {
      qp.trace?.endCommand(view, CompletionStatus.FLUSHED, FaultKind.NONE);
      return postSendCompletion(qp, sequence, opcode, CompletionStatus.FLUSHED, FaultKind.NONE);
    }
    if (fault === FaultKind.NONE) {
      qp.trace?.endCommand(view, CompletionStatus.SUCCESS, FaultKind.NONE);
      if (qp.signalAll || getSendCommandSignaled(view, 0))
        postSendCompletion(qp, sequence, opcode, CompletionStatus.SUCCESS, FaultKind.NONE);
      if (qp.drainNotify) qp.life.noteDrained(qp);
      return;
    }
    reportCommandFault(qp, buffer, fault);
    const status = sendStatus(fault, opcode);
    qp.trace?.endCommand(view, status, fault);
    qp.failure.note(qp, FailureCause.SEND, status, fault, sequence);
    postSendCompletion(qp, sequence, opcode, status, fault);
    qp.life.failSends(qp);
  }
}

/** The requester of which the command is to become a record; undefined for other commands. */
function connectionOf(qp: QueuePair, buffer: KickedCollectBuffer): RequesterState | undefined {
  return qp.state === QpState.RTS && buffer.epoch === qp.epoch ? requesterOf(qp) : undefined;
}

/**
 * True when the command needs room at the port: it is not void, flushed or to be returned. QP0 does
 * not wait, because its lane has no flow control.
 */
function needsPort(qp: QueuePair, buffer: KickedCollectBuffer): boolean {
  if (qp.serviceType === ServiceType.SMI) return false;
  return buffer.epoch === qp.epoch && qp.isRequesting && qp.acceptsCommands;
}

/** Faults of the command itself are reported here; those of keys and DMA where they are found. */
const commandFaults: readonly FaultKind[] = [
  FaultKind.COMMAND_OPCODE,
  FaultKind.COMMAND_SGE,
  FaultKind.COMMAND_LENGTH,
  FaultKind.ADDRESS_HANDLE,
  FaultKind.PORT_DOWN,
];

function reportCommandFault(qp: QueuePair, buffer: KickedCollectBuffer, fault: FaultKind): void {
  if (commandFaults.includes(fault)) qp.owner.faults.report(fault, qp, getSendCommandSequence(buffer.view, 0));
}
