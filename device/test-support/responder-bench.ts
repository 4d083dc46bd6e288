// SPDX-License-Identifier: Apache-2.0
/**
 * A responder with one QP, without an adapter (IBTA 9.7.4): its parts only note what they are
 * asked. Used by `transport/responder.test.ts`.
 */
import { setIethRKey } from '../../protocol/infiniband/gen/ieth.gen.ts';
import { setImmDtImmediate } from '../../protocol/infiniband/gen/imm-dt.gen.ts';
import {
  setRethDmaLength,
  setRethRKey,
  setRethVirtualAddressHigh,
  setRethVirtualAddressLow,
} from '../../protocol/infiniband/gen/reth.gen.ts';
import { AethKind, BthOpcode } from '../../protocol/infiniband/gen/values.gen.ts';
import { opcodeFlags } from '../../protocol/infiniband/opcodes.ts';
import { newParsedPacket, type ParsedPacket } from '../../protocol/infiniband/packet.ts';
import {
  type CompletionEntry,
  decodeCompletionEntry,
  newCompletionEntry,
} from '../../protocol/layout/gen/completion-entry.gen.ts';
import { AccessFlag, type EventType, FaultKind, QpState, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import { PacketRing } from '../port/packet-ring.ts';
import type { Port } from '../port/port.ts';
import { PageFaults } from '../protection/page-faults.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { Path } from '../transport/path.ts';
import { Responder, type ResponderParts } from '../transport/responder.ts';
import { type ResponderResource, ResponderState } from '../transport/responder-state.ts';

/** Path MTU of the QP. */
export const MTU_BYTES = 256;
const [RETH_AT, IMM_AT, IETH_AT] = [64, 96, 112];
const op = BthOpcode;
const ALL = AccessFlag.REMOTE_READ | AccessFlag.REMOTE_WRITE | AccessFlag.REMOTE_ATOMIC;

/** A request packet as far as it is not the default. */
export interface Request {
  readonly psn?: number;
  readonly bytes?: number;
  readonly ack?: number;
  readonly address?: number;
  readonly length?: number;
  readonly value?: number;
  readonly fields?: Partial<ParsedPacket>;
}

export class ResponderBench {
  readonly state = new ResponderState(new Path());
  readonly qp: QueuePair;
  readonly responder: Responder;
  /** What the parts were asked, in order. */
  readonly calls: unknown[][] = [];
  readonly completions: CompletionEntry[] = [];
  readonly placed: number[][] = [];
  hasWqe = true;
  wqeFault: FaultKind = FaultKind.NONE;
  hasKey = true;
  isWritable = true;
  mayInvalidate = true;
  atomicFault: FaultKind = FaultKind.NONE;
  /** Called when a CQE is posted. */
  onPost = (): void => {};
  readonly #ring = new PacketRing(1);

  constructor(serviceType: ServiceType = ServiceType.RC, wqeBytes = 1000) {
    this.state.start(0, 2);
    const list = {
      totalBytes: wqeBytes,
      check: () => FaultKind.NONE,
      scatter: (_qp: unknown, done: number, _from: unknown, _at: number, length: number) => {
        this.placed.push([done, length]);
        return this.isWritable;
      },
    };
    Object.assign(this.state, { list });
    const view = new DataView(new ArrayBuffer(64));
    const receiveCq = {
      begin: () => view,
      post: () => {
        this.completions.push({ ...decodeCompletionEntry(view, 0, newCompletionEntry()) });
        this.onPost();
        return true;
      },
    };
    this.qp = {
      number: 5,
      owner: {},
      serviceType,
      state: QpState.RTS,
      receives: true,
      pathMtuBytes: MTU_BYTES,
      attributes: { access: ALL, minRnrTimer: 7, remoteQpn: 9, pkeyIndex: 0 },
      failure: { note: (...note: unknown[]) => this.calls.push(['note', note[2], note[4]]) },
      receiveCq,
    } as unknown as QueuePair;
    this.responder = new Responder(this.#makeParts());
  }

  #makeParts(): ResponderParts {
    const { calls } = this;
    const region = {
      owner: { dma: { at: (address: number) => ({ address }) } },
      isPresent: () => true,
      write: ({ address }: { address: number }, _qp: unknown, length: number) => {
        this.placed.push([address, length]);
        return this.isWritable;
      },
    };
    const keys = {
      fault: FaultKind.KEY_BOUNDS,
      pageFaults: new PageFaults(),
      address: 0,
      at(address: number) {
        this.address = address;
        return this;
      },
      checkRemote: (_qp: unknown, rkey: number, length: number, right: number) => {
        calls.push(['key', keys.address, rkey, length, right]);
        return this.hasKey ? region : undefined;
      },
      invalidate: (_qp: unknown, key: number) => {
        calls.push(['invalidate', key]);
        return this.mayInvalidate;
      },
    };
    const parts = {
      keys,
      reader: { number: 33, available: () => this.hasWqe, take: () => this.wqeFault },
      answers: {
        acknowledge: (_qp: unknown, _state: unknown, psn: number) => calls.push(['ack', psn]),
        queueSyndrome: (_qp: unknown, _state: unknown, kind: number, value: number, psn: number) =>
          calls.push([kind === AethKind.NAK ? 'nak' : 'rnr', value, psn]),
        enqueue: (_qp: unknown, _state: unknown, resource: ResponderResource) => {
          resource.active = true;
          calls.push(['answer', resource.firstPsn, resource.lastPsn]);
        },
        repeat: (_qp: unknown, _state: unknown, resource: ResponderResource, offset: number) =>
          calls.push(['repeat', resource.firstPsn, offset]),
      },
      atomics: { perform: () => this.atomicFault, address: 77, originalHigh: 1, originalLow: 2 },
      fail: (_qp: unknown, event: EventType | undefined, fault: FaultKind, detail: number) =>
        calls.push(['fail', event, fault, detail]),
      established: () => calls.push(['established']),
    };
    return parts as unknown as ResponderParts;
  }

  /** A request packet, with the expected PSN by default. Returns whether it was taken. */
  receive(opcode: BthOpcode, { psn, bytes = 0, ack = 1, address = 4096, length = 0, value = 0, fields }: Request = {}) {
    const { view } = this.#ring;
    setRethVirtualAddressHigh(view, RETH_AT, 0);
    setRethVirtualAddressLow(view, RETH_AT, address);
    setRethRKey(view, RETH_AT, 0x55);
    setRethDmaLength(view, RETH_AT, length);
    setImmDtImmediate(view, IMM_AT, value);
    setIethRKey(view, IETH_AT, value);
    const name = Object.entries(op).find(([, code]) => code === opcode)?.[0] ?? '';
    const packet = {
      ...newParsedPacket(),
      opcode,
      flags: opcodeFlags[opcode],
      psn: psn ?? this.state.expectedPsn,
      ackRequest: ack,
      payloadLengthBytes: bytes,
      rethOffset: RETH_AT,
      immDtOffset: name.includes('IMMEDIATE') ? IMM_AT : -1,
      iethOffset: name.includes('INVALIDATE') ? IETH_AT : -1,
      ...fields,
    };
    return this.responder.receive(this.qp, this.state, { number: 1 } as Port, this.#ring, packet);
  }

  /** The calls since the last time. */
  take(): unknown[][] {
    return this.calls.splice(0);
  }
}
