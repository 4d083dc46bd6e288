// SPDX-License-Identifier: Apache-2.0
/**
 * A requester with one QP, without an adapter (IBTA 9.7.2): records are appended by the test, and
 * the port keeps the packets. Used by `transport/requester.test.ts`.
 */
import { newParsedPacket, PacketCheck, parsePacket } from '../../protocol/infiniband/packet.ts';
import { newPacketFields, type PacketFields, readPacketFields } from '../../protocol/infiniband/packet-fields.ts';
import { FaultKind, QpState, type SendOpcode, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import { DmaTiming } from '../function/dma-timing.ts';
import { Lane } from '../lane/lane.ts';
import { LaneOwners, OwnerTurns } from '../lane/owner-turns.ts';
import { PacketRing } from '../port/packet-ring.ts';
import type { Port } from '../port/port.ts';
import type { KeyLookup } from '../protection/key-lookup.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { Requester } from '../transport/requester.ts';
import { requestKind } from '../transport/requester-opcodes.ts';
import type { RequesterPages } from '../transport/requester-pages.ts';
import { RequesterState } from '../transport/requester-state.ts';
import { ResendReads } from '../transport/resend-reads.ts';
import type { ResponderAnswers } from '../transport/responder-answers.ts';
import type { RetryTimers } from '../transport/retry-timers.ts';
import { SendRecord } from '../transport/send-record.ts';

/** Path MTU of the QP. */
export const MTU_BYTES = 256;
const NOW_NS = 1000;

export class RequesterBench {
  readonly ring = new PacketRing(64);
  readonly sent: PacketFields[] = [];
  readonly qp: QueuePair;
  readonly state: RequesterState;
  readonly requester: Requester;
  /** Calls of the parts, in order. */
  readonly calls: string[] = [];
  readonly local: FaultKind[] = [];
  /** The port is full behind so many packets. */
  room = 1000;
  /** The payload of so many packets can be read. */
  readable = 1000;
  timerRuns = false;
  readonly clock = { nowNs: NOW_NS, now: () => this.clock.nowNs, setAlarm: () => {} };
  readonly timing = new DmaTiming(this.clock, {});
  readonly resends = new ResendReads(this.timing);

  constructor(serviceType: ServiceType = ServiceType.RC, weights: readonly number[] = [1]) {
    const lanes = weights.map((weight, number) => Object.assign(new Lane(number, 8), { weight }));
    const groups = new LaneOwners();
    groups.recompute(lanes, () => -1);
    const attributes = { port: 1, maxReadsInitiated: 2, timeout: 10, pkeyIndex: 0, remoteQpn: 9, retryCount: 7 };
    this.qp = {
      number: 5,
      owner: { faults: { report: (fault: FaultKind) => this.calls.push(`fault ${fault}`) } },
      lane: -1,
      portIndex: 0,
      state: QpState.RTS,
      destroyed: false,
      serviceType,
      pathMtuBytes: MTU_BYTES,
      attributes: { ...attributes, rnrRetry: 7 },
    } as unknown as QueuePair;
    this.state = new RequesterState(this.qp);
    this.state.start(100);
    const timers = {
      isOff: () => !this.timerRuns,
      set: () => {
        this.calls.push('timer');
        this.timerRuns = true;
      },
    };
    this.requester = new Requester({
      ports: [this.#makePort()],
      portsOfFunction: 1,
      lanes,
      turns: new OwnerTurns(groups),
      timers: timers as unknown as RetryTimers,
      keys: {} as KeyLookup,
      now: () => this.clock.nowNs,
      releaseExecution: (record) => this.calls.push(`sent ${record.sequence}`),
      performLocal: () => this.local.shift() ?? FaultKind.NONE,
      completeDone: () => this.calls.push('complete'),
      returnUnbegun: () => this.calls.push('return'),
      answers: {} as ResponderAnswers,
      resends: this.resends,
      pages: { awaitPayload: () => false } as unknown as RequesterPages,
    });
  }

  #makePort(): Port {
    const { ring, sent } = this;
    const isFull = (): boolean => sent.length >= this.room;
    const port = {
      get congested() {
        return isFull();
      },
      pkeys: [0xffff],
      lid: 1,
      lmc: 0,
      ringFor: () => ring,
      transmit: (_ring: PacketRing, lengthBytes: number) => {
        const parsed = newParsedPacket();
        parsePacket(ring.view, ring.writeOffset, lengthBytes, parsed, PacketCheck.NONE);
        const fields = newPacketFields();
        readPacketFields(ring.view, parsed, fields);
        sent.push({ ...fields, payloadLengthBytes: parsed.payloadLengthBytes });
      },
    };
    return port as unknown as Port;
  }

  /** Appends a record. */
  add(opcode: SendOpcode, messageLength: number, fields: Partial<SendRecord> = {}): SendRecord {
    const record = new SendRecord();
    const list = { gatherPart: () => --this.readable >= 0, check: () => FaultKind.NONE };
    const kind = requestKind(this.qp.serviceType, opcode);
    Object.assign(record, { sequence: this.state.recordCount, opcode, kind, messageLength, list, ...fields });
    this.state.append(record);
    return record;
  }

  /** One turn of the QP; returns the units of work. */
  serve(): number {
    this.requester.wake(this.state);
    return this.requester.serve();
  }

  get psns(): number[] {
    return this.sent.map(({ psn }) => psn);
  }
}
