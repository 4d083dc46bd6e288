// SPDX-License-Identifier: Apache-2.0
/**
 * Log of the actions of an adapter's units, taken from calls of the units themselves: packets at
 * ports, states of requesters, entries of queues in guest memory, vectors at the host. It uses
 * neither traces nor timeline, so it can judge the output of `vuhca trace show`. Tests only.
 */

import type { DriverCompletionQueue } from '../../../device/rig/driver/completion-queue.ts';
import type { AdapterFixture } from '../../../device/rig/fixtures/adapter-fixture.ts';
import { getAethSyndromeKind, getAethSyndromeValue } from '../../../protocol/infiniband/gen/aeth.gen.ts';
import { getRethDmaLength } from '../../../protocol/infiniband/gen/reth.gen.ts';
import { OpcodeFlag } from '../../../protocol/infiniband/opcodes.ts';
import { newParsedPacket, PacketCheck, parsePacket } from '../../../protocol/infiniband/packet.ts';
import { syndromeOf } from '../../../protocol/infiniband/syndrome.ts';
import { decodeCompletionEntry, newCompletionEntry } from '../../../protocol/layout/gen/completion-entry.gen.ts';
import { getSendCommandSequence } from '../../../protocol/layout/gen/send-command.gen.ts';
import { watchCommands, watchEventQueues } from './command-log.ts';
import { wrap } from './wrap-method.ts';

const MTU_BYTES = 256;

/** One action of a unit. Numbers that a kind does not have are absent. */
export interface Fact {
  readonly order: number;
  readonly timeNs: number;
  readonly kind: string;
  readonly [name: string]: number | string | boolean | undefined;
}

type Numbers = Readonly<Record<string, number | string | boolean | undefined>>;

export class ModelLog {
  readonly facts: Fact[] = [];
  readonly #byTime = new Map<number, Fact[]>();
  readonly #fixture: AdapterFixture;
  readonly #packet = newParsedPacket();
  /** Reason why an event is posted, while software's request or the clock is served. */
  #cause = 'completion';
  #arrival: Numbers = {};

  constructor(fixture: AdapterFixture) {
    this.#fixture = fixture;
    this.#watchPorts();
    this.#watchTransport();
    this.#watchLanes();
    this.#watchPages();
    this.#watchInterrupts();
    watchCommands(fixture, (kind, numbers) => this.note(kind, numbers));
  }

  /** Facts of this time, in their order. */
  at(timeNs: number): readonly Fact[] {
    return this.#byTime.get(timeNs) ?? [];
  }

  note(kind: string, numbers: Numbers): void {
    const timeNs = this.#fixture.machine.clock.now();
    const fact: Fact = { ...numbers, order: this.facts.length, timeNs, kind };
    this.facts.push(fact);
    const same = this.#byTime.get(timeNs);
    if (same === undefined) this.#byTime.set(timeNs, [fact]);
    else same.push(fact);
  }

  /** Watches the existing queue pairs and event queues, and these completion queues. */
  watchQueues(queues: readonly DriverCompletionQueue[]): void {
    const { tables } = this.#fixture.machine.device;
    tables.queuePairs.forEach((qp) => {
      const { number } = qp;
      const state = qp.requester as { wait: number } | undefined;
      if (state !== undefined) this.#watchWait(number, state);
      wrap(qp, 'rewind', (call, sequence) => {
        this.note('return', { qp: number, sequence });
        return call();
      });
    });
    tables.eventQueues.forEach((eq) => {
      wrap(eq, 'postCompletion', (call, event) => {
        const { objectNumber: cq, completionSequence: count } = event as never as Record<string, number>;
        const isPosted = call();
        if (isPosted) this.note('event', { eq: eq.number, cq, count, cause: this.#cause });
        return isPosted;
      });
    });
    for (const queue of queues) this.#watchCompletions(queue);
    watchEventQueues(this.#fixture, (kind, numbers) => this.note(kind, numbers));
  }

  #watchWait(qp: number, state: { wait: number }): void {
    let wait = state.wait;
    Object.defineProperty(state, 'wait', {
      get: () => wait,
      set: (next: number) => {
        wait = next;
        if (next !== 0) this.note('wait', { qp, reason: next });
      },
    });
  }

  #watchCompletions(queue: DriverCompletionQueue): void {
    const cq = this.#fixture.machine.device.tables.completionQueues.get(queue.cqn);
    if (cq === undefined) throw new Error(`there is no CQ ${queue.cqn}`);
    wrap(cq, 'post', (call) => {
      const { notifyState, eqPending, producerCount } = cq;
      const place = this.facts.length;
      const isPosted = call();
      if (isPosted) {
        const { qpn, queueSequence, receive, status } = decodeCompletionEntry(
          queue.buffer.slot(producerCount),
          0,
          newCompletionEntry(),
        );
        const hasEvent = this.facts.slice(place).some(({ kind }) => kind === 'event');
        const numbers = { cq: queue.cqn, qp: qpn, sequence: queueSequence, receive, status };
        this.note('cqe', { ...numbers, count: cq.producerCount, notifyState, eqPending, hasEvent });
      }
      return isPosted;
    });
    for (const [name, cause] of [
      ['requestNotify', 'arming'],
      ['clearPending', 'clearing'],
      ['postHeld', 'time'],
      ['offerDue', undefined],
    ] as const)
      wrap(cq, name, (call) => {
        const before = this.#cause;
        // `offerDue` serves the others, and MODIFY_CQ.
        this.#cause = cause ?? (before === 'completion' ? 'change' : before);
        if (name === 'requestNotify') this.note('arm', { cq: queue.cqn });
        const result = call();
        this.#cause = before;
        return result;
      });
  }

  #watchPorts(): void {
    const { device } = this.#fixture.machine;
    for (const port of device.ports) {
      port.observer = (end, outgoing, bytes, offset, lengthBytes) => {
        const packet = this.#packet;
        const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
        parsePacket(view, offset, lengthBytes, packet, PacketCheck.NONE);
        const { opcode, psn, destQpn: to, slid, dlid, payloadLengthBytes, aethOffset } = packet;
        const kind = aethOffset < 0 ? -1 : getAethSyndromeKind(view, aethOffset);
        const syndrome = aethOffset < 0 ? -1 : syndromeOf(kind, getAethSyndromeValue(view, aethOffset));
        // Packets of the answer to a READ.
        const isRead = (packet.flags & OpcodeFlag.READ_REQUEST) !== 0;
        const asked = isRead ? Math.ceil(getRethDmaLength(view, packet.rethOffset) / MTU_BYTES) : 1;
        const numbers = { port: end.number, opcode, psn, to, slid, dlid, asked, bytes: payloadLengthBytes, syndrome };
        if (!outgoing) this.#arrival = numbers;
        this.note(outgoing ? 'out' : 'in', numbers);
      };
    }
    wrap(device.engine.receiver, 'receive', (call, port) => {
      const { receiveDrops: before } = port as never as { receiveDrops: number };
      const causes = this.#countDrops();
      const result = call();
      if ((port as never as { receiveDrops: number }).receiveDrops > before) {
        const cause = Object.entries(this.#countDrops()).find(([name, count]) => count !== causes[name])?.[0];
        this.note('drop', { ...this.#arrival, cause });
      }
      return result;
    });
  }

  #countDrops(): Record<string, number> {
    const { ports, engine } = this.#fixture.machine.device;
    const { receiver, responder, connected } = engine;
    const sum = (values: Iterable<number>): number => [...values].reduce((all, one) => all + one, 0);
    return {
      ...responder.drops,
      qkey: sum(ports.map(({ badQkeys }) => badQkeys)),
      pkey: sum(ports.map(({ badPkeys }) => badPkeys)),
      malformed: sum(receiver.malformed),
      ghosts: connected.completer.ghosts,
      requests: connected.responder.dropped,
    };
  }

  #watchTransport(): void {
    const { completer, requester, responder } = this.#fixture.machine.device.engine.connected;
    wrap(completer, 'expire', (call, state) => {
      const { qp, unackedPsn: psn } = state as never as { qp: { number: number }; unackedPsn: number };
      const { timeouts } = completer;
      const place = this.facts.length;
      const result = call();
      // The timeout comes before its effects.
      if (completer.timeouts > timeouts) this.#insert(place, 'timeout', { qp: qp.number, psn });
      return result;
    });
    wrap(requester, 'rewind', (call, state, psn) => {
      const { qp, retriesLeft } = state as never as { qp: { number: number }; retriesLeft: number };
      this.note('again', { qp: qp.number, psn, retriesLeft });
      return call();
    });
    wrap(responder, 'receive', (call, state) => {
      const { receiverNotReady } = responder;
      const { qp, expectedPsn: psn } = state as never as { qp: { number: number }; expectedPsn: number };
      const result = call();
      if (responder.receiverNotReady > receiverNotReady) this.note('no entry', { qp: qp.number, psn });
      return result;
    });
  }

  #insert(place: number, kind: string, numbers: Numbers): void {
    this.note(kind, { ...numbers, before: place });
  }

  #watchLanes(): void {
    const { lanes } = this.#fixture.machine.device;
    wrap(lanes, 'launch', (call) => {
      const buffer = call() as never as Buffer;
      const sequence = getSendCommandSequence(buffer.view, 0);
      this.note('launch', { qp: buffer.queuePair.number, sequence, lane: buffer.hold.lane });
      return buffer;
    });
    wrap(lanes, 'peek', (call) => {
      const found = call();
      if (found === undefined) this.#noteStarved();
      return found;
    });
  }

  #noteStarved(): void {
    const { lanes, execution, completion } = this.#fixture.machine.device.lanes;
    for (const { number: lane, head } of lanes) {
      const hasCompletion = completion.has(lane);
      if (hasCompletion && execution.has(lane)) continue;
      const credit = hasCompletion ? 'execution' : 'completion';
      for (let buffer = head as never as Buffer | undefined; buffer !== undefined; buffer = buffer.nextKicked)
        this.note('starved', {
          qp: buffer.queuePair.number,
          sequence: getSendCommandSequence(buffer.view, 0),
          lane,
          credit,
        });
    }
  }

  #watchPages(): void {
    const { pageFaults } = this.#fixture.machine.device.tables.keys;
    wrap(pageFaults, 'wait', (call, holder) => {
      this.note('page wait', { qp: (holder as never as { number: number }).number });
      return call();
    });
    wrap(pageFaults, 'answer', (call, region) => {
      this.note('page answer', { region: (region as never as { number: number }).number });
      return call();
    });
  }

  #watchInterrupts(): void {
    const { host } = this.#fixture;
    wrap(host, 'raiseVector', (call, vector) => {
      const isSent = call();
      this.note(isSent ? 'interrupt' : 'no interrupt', { vector });
      return isSent;
    });
  }
}

interface Buffer {
  readonly view: DataView;
  readonly queuePair: { readonly number: number };
  readonly hold: { readonly lane: number };
  readonly nextKicked: Buffer | undefined;
}
