// SPDX-License-Identifier: Apache-2.0
/**
 * The queue pairs of service MLX that act as QP0 and QP1 of the ports: software builds the headers
 * of their packets. Sends leave by the port of the QP; datagrams that arrive go to the QP while it
 * receives, and else to the agents of the node. `MthcaAdapter` calls it in each pass.
 */

import { PERMISSIVE_LID, SUBNET_MANAGEMENT_QPN } from '../../../protocol/infiniband/addresses.ts';
import { GRH_SIZE } from '../../../protocol/infiniband/gen/grh.gen.ts';
import { setLrhSlid } from '../../../protocol/infiniband/gen/lrh.gen.ts';
import { BthOpcode } from '../../../protocol/infiniband/gen/values.gen.ts';
import { pKeysMatch } from '../../../protocol/infiniband/keys.ts';
import { MAD_BYTES } from '../../../protocol/infiniband/mad/mad-headers.ts';
import { TRANSPORT_MASK, Transport } from '../../../protocol/infiniband/opcodes.ts';
import type { ParsedPacket } from '../../../protocol/infiniband/packet.ts';
import { VCRC_SIZE } from '../../../protocol/infiniband/vcrc.ts';
import { COMPLETION_SIZE, encodeCompletion, newCompletion } from '../../../protocol/mthca/gen/completion.gen.ts';
import { encodeErrorCompletion, newErrorCompletion } from '../../../protocol/mthca/gen/error-completion.gen.ts';
import { getQpContextUar, QP_CONTEXT_PRIMARY_PATH_OFFSET } from '../../../protocol/mthca/gen/qp-context.gen.ts';
import { getQpPathPort } from '../../../protocol/mthca/gen/qp-path.gen.ts';
import { decodeRawSegment, newRawSegment } from '../../../protocol/mthca/gen/raw-segment.gen.ts';
import type { SendDoorbell } from '../../../protocol/mthca/gen/send-doorbell.gen.ts';
import { CompletionSyndrome, ErrorOpcode, QpContextState, WorkOpcode } from '../../../protocol/mthca/gen/values.gen.ts';
import type { DatagramTaker, MadInterface } from '../../fabric/agents/mad-interface.ts';
import { type MadAddress, newMadAddress, readMadPacket } from '../../fabric/agents/mad-packet.ts';
import { RawEgress, RawPacket } from '../../fabric/port/raw-packet.ts';
import { MANAGEMENT_VL } from '../../fabric/port/transmit-queues.ts';
import { COUNTER_MASK } from '../shared/receive-queue.ts';
import type { Hca, QueuePairUnit } from './hca/hca.ts';
import { REQUEST_UNIT_BYTES } from './memory/queue-buffer.ts';
import type { MthcaQueuePair } from './queues/queue-pair.ts';
import { WorkQueues } from './work-queues.ts';

const P_KEY_SHIFT = 16;
/** Places in `specialQpns`. */
const SMI = 0;
const GSI = 1;
const { RTR, RTS, SQD, SQE, ERR } = QpContextState;
const receiving: readonly number[] = [RTR, RTS, SQD, SQE];

export class RawQueuePairs implements QueuePairUnit, DatagramTaker {
  /** Packets of software that are no datagram, and datagrams that met no receive. */
  malformed = 0;
  noReceive = 0;
  readonly #hca: Hca;
  readonly #mads: MadInterface;
  readonly #queues: WorkQueues;
  readonly #waiting = new Set<MthcaQueuePair>();
  readonly #packet = new RawPacket();
  readonly #entry = new Uint8Array(COMPLETION_SIZE);
  readonly #entryView = new DataView(this.#entry.buffer);
  readonly #payload = new Uint8Array(GRH_SIZE + MAD_BYTES);
  readonly #raw = newRawSegment();

  constructor(hca: Hca, mads: MadInterface) {
    this.#hca = hca;
    this.#mads = mads;
    this.#queues = new WorkQueues(hca);
  }

  /**
   * Takes a send doorbell of a page. Returns false when the QP does not belong to the page, is none
   * of these, or has no such requests.
   */
  ring(page: number, { qpn, count, head, size }: Readonly<SendDoorbell>): boolean {
    const qp = this.#hca.queuePairs.get(qpn);
    if (qp?.number !== qpn || !qp.isRaw) return false;
    if (getQpContextUar(qp.view, 0) !== page) return false;
    const { logSendEntries } = this.#queues.load(qp);
    const waiting = (qp.posted - qp.sent) & COUNTER_MASK;
    if (count === 0 || head !== qp.posted || waiting + count > 2 ** logSendEntries) return false;
    qp.posted = (qp.posted + count) & COUNTER_MASK;
    qp.doorbells.push({ left: count, size });
    this.#waiting.add(qp);
    return true;
  }

  add(): void {}

  /** One in ERR is flushed, and one in RTS sends what waits. */
  move(qp: MthcaQueuePair, next: QpContextState): void {
    qp.state = next;
    if (next === ERR || qp.doorbells.length > 0) this.#waiting.add(qp);
  }

  drop(qp: MthcaQueuePair): void {
    this.#waiting.delete(qp);
  }

  discard(qp: MthcaQueuePair): void {
    this.drop(qp);
  }

  /**
   * Gives a packet to QP0 or QP1 of software, or else to the agents. Returns false when it is
   * dropped.
   */
  receivePacket(portNumber: number, view: DataView, offset: number, lengthBytes: number): boolean {
    const address = newMadAddress();
    const mad = new Uint8Array(MAD_BYTES);
    if (!readMadPacket(view, offset, lengthBytes, address, mad)) return false;
    if (this.deliver(portNumber, address, mad)) return true;
    return this.#mads.receivePacket(portNumber, view, offset, lengthBytes);
  }

  /**
   * Sends what waits, and flushes the queues of QPs in ERR, at most `limit` requests. A QP whose
   * port has no room waits for the next pass. Returns how many requests were executed.
   */
  run(limit: number): number {
    let left = limit;
    for (const qp of this.#waiting) {
      while (left > 0 && this.#serveNext(qp)) left--;
      if (left === 0) break;
      const isBlocked = this.#exists(qp) && qp.state === RTS && qp.doorbells.length > 0;
      if (!isBlocked) this.#waiting.delete(qp);
    }
    return limit - left;
  }

  /**
   * Gives a datagram that arrived at a port to QP0 or QP1 of software. Returns false when software
   * does not receive there.
   */
  deliver(portNumber: number, address: Readonly<MadAddress>, mad: Uint8Array): boolean {
    const { specialQpns, queuePairs } = this.#hca;
    const first = specialQpns[address.isVl15 ? SMI : GSI];
    const qp = first === 0 ? undefined : queuePairs.get(first + portNumber - 1);
    if (qp === undefined || !receiving.includes(qp.state)) return false;
    const { qkey } = this.#queues.load(qp);
    const port = this.#hca.ports[portNumber - 1];
    if (!address.isVl15 && address.qKey !== qkey) port.badQkeys++;
    else if (this.#queues.hasReceive(qp, qp.received)) this.#receive(qp, address, mad);
    else this.noReceive++;
    return true;
  }

  /** Executes the next request of the QP. Returns false when there is none, or no room for it. */
  #serveNext(qp: MthcaQueuePair): boolean {
    if (!this.#exists(qp)) return false;
    if (qp.state === ERR && this.#flushReceive(qp)) return true;
    return qp.doorbells.length > 0 && (qp.state === RTS || qp.state === ERR) && this.#sendNext(qp);
  }

  #exists(qp: MthcaQueuePair): boolean {
    return this.#hca.queuePairs.get(qp.number) === qp;
  }

  /** Executes the oldest send. Returns false when the port has no room for it. */
  #sendNext(qp: MthcaQueuePair): boolean {
    const queues = this.#queues;
    const { sendStride } = queues.load(qp);
    const sizeBytes = qp.doorbells[0].size * REQUEST_UNIT_BYTES;
    if (qp.state === ERR) return this.#failSend(qp, CompletionSyndrome.FLUSHED);
    const fits = sizeBytes > 0 && sizeBytes <= REQUEST_UNIT_BYTES * 2 ** sendStride;
    if (!fits || !queues.read(qp, queues.sendOffset(qp.sent), sizeBytes))
      return this.#failSend(qp, CompletionSyndrome.LOCAL_QP_OPERATION);
    const raw = decodeRawSegment(queues.request.view, 0, this.#raw);
    const packet = this.#packet;
    const room = packet.bytes.subarray(0, packet.bytes.length - VCRC_SIZE);
    const lengthBytes = queues.gather(qp, sizeBytes, room);
    if (lengthBytes === undefined) return this.#failSend(qp, CompletionSyndrome.LOCAL_PROTECTION);
    if (!packet.parse(lengthBytes)) this.malformed++;
    else if (!this.#transmit(qp, raw.permissiveSource === 1)) return false;
    const isSignaled = raw.signaled === 1 || queues.load(qp).signalsAll === 1;
    this.#finishSend(qp, raw.nextSize, isSignaled);
    return true;
  }

  /**
   * Sends the packet as software has composed it, with the LID of the port. Returns false when the
   * port has no room. A port that may not send drops the packet.
   */
  #transmit(qp: MthcaQueuePair, isPermissive: boolean): boolean {
    const port = this.#hca.portAt(getQpPathPort(qp.view, QP_CONTEXT_PRIMARY_PATH_OFFSET));
    if (port === undefined) return true;
    const { headers, view } = this.#packet;
    if (!isDatagram(headers) || headers.payloadLengthBytes > port.mtuBytes) {
      this.malformed++;
      return true;
    }
    setLrhSlid(view, 0, isPermissive ? PERMISSIVE_LID : port.lid);
    return this.#packet.send(port, headers.virtualLane) !== RawEgress.BLOCKED;
  }

  /** The oldest send is done; the next one of the same doorbell has the size that it named. */
  #finishSend(qp: MthcaQueuePair, nextSize: number, isSignaled: boolean): void {
    const { sendCqn } = this.#queues.load(qp);
    const request = this.#queues.sendOffset(qp.sent);
    qp.takeSend(nextSize);
    if (!isSignaled) return;
    const opcode = WorkOpcode.SEND;
    encodeCompletion(this.#entryView, 0, { ...newCompletion(), qpn: qp.number, request, opcode, isSend: 1 });
    this.#post(sendCqn);
  }

  /** The oldest send has failed, and with it the QP. */
  #failSend(qp: MthcaQueuePair, syndrome: CompletionSyndrome): true {
    const { sendCqn } = this.#queues.load(qp);
    const request = this.#queues.sendOffset(qp.sent);
    qp.takeSend(0);
    this.#postError(sendCqn, qp, request, syndrome, ErrorOpcode.SEND);
    this.#fail(qp);
    return true;
  }

  #receive(qp: MthcaQueuePair, address: Readonly<MadAddress>, mad: Uint8Array): void {
    const queues = this.#queues;
    const { receiveCqn } = queues.context;
    const request = queues.receiveOffset(qp.received);
    qp.received = (qp.received + 1) & COUNTER_MASK;
    const payload = this.#payload.fill(0, 0, GRH_SIZE);
    if (address.grh !== undefined) payload.set(address.grh);
    payload.set(mad, GRH_SIZE);
    if (!queues.read(qp, request, queues.receiveBytes) || !queues.scatter(qp, payload)) {
      this.#postError(receiveCqn, qp, request, CompletionSyndrome.LOCAL_LENGTH, ErrorOpcode.RECEIVE);
      this.#fail(qp);
      return;
    }
    const port = this.#hca.ports[getQpPathPort(qp.view, QP_CONTEXT_PRIMARY_PATH_OFFSET) - 1];
    const pkeyIndex = Math.max(0, port?.pkeys.findIndex((pkey) => pKeysMatch(pkey, address.pKey)) ?? 0);
    encodeCompletion(this.#entryView, 0, {
      ...newCompletion(),
      qpn: qp.number,
      remoteQpn: address.sourceQpn,
      serviceLevel: address.serviceLevel,
      hasRoute: address.grh === undefined ? 0 : 1,
      remoteLid: address.slid,
      immediate: pkeyIndex << P_KEY_SHIFT,
      byteCount: payload.length,
      request,
      opcode: BthOpcode.UD_SEND_ONLY,
    });
    this.#post(receiveCqn);
  }

  #fail(qp: MthcaQueuePair): void {
    if (qp.state === ERR) return;
    this.move(qp, ERR);
  }

  /** Completes the oldest receive as flushed; false when there is none. */
  #flushReceive(qp: MthcaQueuePair): boolean {
    const queues = this.#queues;
    const { receiveCqn } = queues.load(qp);
    if (!queues.hasReceive(qp, qp.received)) return false;
    const request = queues.receiveOffset(qp.received);
    qp.received = (qp.received + 1) & COUNTER_MASK;
    this.#postError(receiveCqn, qp, request, CompletionSyndrome.FLUSHED, ErrorOpcode.RECEIVE);
    return true;
  }

  #postError(
    cqn: number,
    qp: MthcaQueuePair,
    request: number,
    syndrome: CompletionSyndrome,
    opcode: ErrorOpcode,
  ): void {
    encodeErrorCompletion(this.#entryView, 0, { ...newErrorCompletion(), qpn: qp.number, request, syndrome, opcode });
    this.#post(cqn, true);
  }

  #post(cqn: number, isError = false): void {
    this.#hca.completionQueues.get(cqn)?.post(this.#entry, isError);
  }
}

/** Subnet management is for QP0 on VL15; all other datagrams are for data lanes (IBTA 7.6.3). */
function isDatagram({ opcode, virtualLane, destQpn }: Readonly<ParsedPacket>): boolean {
  if ((opcode & TRANSPORT_MASK) !== Transport.UD) return false;
  return (virtualLane === MANAGEMENT_VL) === (destQpn === SUBNET_MANAGEMENT_QPN);
}
