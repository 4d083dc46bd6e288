// SPDX-License-Identifier: Apache-2.0
/**
 * The transport put together (US 8,484,392 par. 39-47): send pipeline, connections, datagrams and
 * packet receiver, over the lanes and ports of a front end. `TransportParts` is all that front ends
 * differ in (docs/verbs/PERSONALITIES.md). `Adapter` makes one, and so does each personality that
 * has a data path.
 */

import type { Port } from '../../../fabric/port/port.ts';
import type { AdapterClock } from '../../../host.ts';
import type { LoanBook } from '../../../loan-book.ts';
import type { DmaTiming } from '../../function/dma-timing.ts';
import type { TransmitVirtualLanes } from '../../lane/transmit-virtual-lanes.ts';
import type { KeyLookup } from '../../protection/key-lookup.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import type { SendSource } from '../../queues/send-source.ts';
import type { AddressSource } from '../datagrams/address-source.ts';
import { ReceiveStage } from '../datagrams/receive-stage.ts';
import { UdRequester } from '../datagrams/ud-requester.ts';
import { UdResponder } from '../datagrams/ud-responder.ts';
import { ReceiveQueueReader } from '../receive-queue.ts';
import { ConnectedTransport } from './connected-transport.ts';
import { PacketReceiver, type Receivers } from './packet-receiver.ts';
import { PipelineStage } from './pipeline-stage.ts';
import { QueuePairLifeCycle } from './queue-pair-life.ts';
import { SendPipeline } from './send-pipeline.ts';

/** Packets of connections that are sent before commands are launched, in every other pass. */
const TRANSMIT_TURN = 16;

/** The parts that a front end gives to the transport. */
export interface TransportParts extends Receivers {
  readonly clock: AdapterClock;
  readonly ports: readonly Port[];
  /** Payload of `ports` that waits in guest memory. */
  readonly loans: LoanBook;
  /** Ports of one function. */
  readonly portsOfFunction: number;
  readonly lanes: TransmitVirtualLanes;
  /** Latency of reads of guest memory. */
  readonly timing: DmaTiming;
  readonly functionCount: number;
  readonly keys: KeyLookup;
  readonly addresses: AddressSource;
  readonly sends: SendSource;
  /** A queue pair has left all units and is released: it leaves the tables of the front end. */
  removed(qp: QueuePair): void;
}

export class TransportEngine {
  readonly connected: ConnectedTransport;
  readonly pipeline: SendPipeline;
  readonly responder: UdResponder;
  readonly receiver: PacketReceiver;
  /** `QueuePairParts.life` of each queue pair. */
  readonly life: QueuePairLifeCycle;
  readonly #lanes: TransmitVirtualLanes;
  readonly #receiveQueue = new ReceiveQueueReader();
  readonly #clock: AdapterClock;
  #connectionsFirst = false;

  constructor(parts: TransportParts) {
    const { clock, ports, loans, portsOfFunction, lanes, timing, keys, sends } = parts;
    const receiveQueue = this.#receiveQueue;
    const schedule = (qp: QueuePair): void => sends.schedule(qp);
    const receiveStage = new ReceiveStage(timing);
    this.#lanes = lanes;
    this.#clock = clock;
    lanes.onRoom = schedule;
    this.connected = new ConnectedTransport({
      ...{ clock, ports, portsOfFunction, lanes, keys, timing, schedule },
      takeLoans: () => loans.end(),
      reader: receiveQueue,
    });
    this.life = new QueuePairLifeCycle({
      lanes,
      sends,
      connected: this.connected,
      receiveQueue,
      receiveStage,
      pageFaults: keys.pageFaults,
      removed: (qp) => parts.removed(qp),
    });
    const datagrams = new UdRequester(keys, parts.addresses, parts.groups, schedule);
    const stage = new PipelineStage(timing, parts.functionCount);
    this.pipeline = new SendPipeline(lanes, ports, datagrams, this.connected, stage);
    this.responder = new UdResponder(keys, receiveQueue, receiveStage);
    this.receiver = new PacketReceiver(parts, this.responder, this.connected, receiveStage);
  }

  /** Takes in data that has arrived and fires expired timers: at the start of a pass. */
  expire(): void {
    this.connected.expire();
    if (this.receiver.stage.busy) this.#landPackets();
  }

  /** Takes in data that has arrived and sets the alarms: at the end of a pass. */
  settle(): void {
    this.connected.settle();
    if (this.receiver.stage.busy) this.#landPackets();
  }

  #landPackets(): void {
    this.receiver.land();
    const { nextNs } = this.receiver.stage;
    if (nextNs !== Number.POSITIVE_INFINITY) this.#clock.setAlarm(nextNs);
  }

  /**
   * Launches commands and sends packets of connections, about `limit` in all, and flushes WQEs;
   * returns the units of work done. The first two change places from pass to pass: otherwise the
   * second could always find the port full. `halted`: only commands that were launched before go
   * on.
   */
  transmit(limit: number, halted = false): number {
    this.#lanes.turns.beginPass();
    this.#connectionsFirst = !this.#connectionsFirst;
    let done = this.#connectionsFirst ? this.connected.run(Math.min(limit, TRANSMIT_TURN)) : 0;
    done += this.#launch(limit - done, halted);
    if (done < limit) done += this.connected.run(limit - done);
    // Of a limit of its own: a flush that does not end must leave room for sends.
    return done + this.#receiveQueue.flushMore(limit);
  }

  #launch(limit: number, halted: boolean): number {
    const { pipeline } = this;
    if (pipeline.stage.busy) pipeline.stage.land();
    let launched = 0;
    while (launched < limit && (halted ? pipeline.finish() : pipeline.advance())) launched++;
    return launched;
  }
}
