// SPDX-License-Identifier: Apache-2.0
/**
 * Receives datagrams (IBTA 9.8.3, 9.6.1): drops and counts packets that the QP may not take, and
 * puts the others into the next receive WQE, behind the GRH area. Called by `PacketReceiver`.
 */
import { getDethQKey, getDethSrcQpn } from '../../../../protocol/infiniband/gen/deth.gen.ts';
import { GRH_SIZE } from '../../../../protocol/infiniband/gen/grh.gen.ts';
import { getImmDtImmediate } from '../../../../protocol/infiniband/gen/imm-dt.gen.ts';
import { pKeysMatch } from '../../../../protocol/infiniband/keys.ts';
import type { ParsedPacket } from '../../../../protocol/infiniband/packet.ts';
import { GRH_AREA_BYTES } from '../../../../protocol/layout/gen/constants.gen.ts';
import { AccessFlag, CompletionStatus, FaultKind, ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import type { PacketRing } from '../../../fabric/port/packet-ring.ts';
import type { Port } from '../../../fabric/port/port.ts';
import { PacketDrop, PagePart } from '../../function/timeline-values.ts';
import type { KeyLookup } from '../../protection/key-lookup.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import { FailureCause } from '../../queues/queue-pair-failure.ts';
import { postReceiveCompletion, ReceiveReport } from '../completions.ts';
import { receiveStatus } from '../fault-status.ts';
import { notePkeyViolation, noteQkeyViolation } from '../key-violations.ts';
import { noteDrop } from '../packet-drops.ts';
import type { ReceiveQueueReader } from '../receive-queue.ts';
import { ScatterGatherList } from '../scatter-gather.ts';
import { DatagramPages } from './datagram-pages.ts';
import type { ReceiveStage } from './receive-stage.ts';

/** Drops that are no fault of the receiving function. */
export interface DropCounters {
  wrongService: number;
  noReceiveEntry: number;
  /** A page of the receive buffer was not present. */
  pageAbsent: number;
}

export class UdResponder {
  readonly drops: DropCounters = { wrongService: 0, noReceiveEntry: 0, pageAbsent: 0 };
  readonly #keys: KeyLookup;
  readonly #reader: ReceiveQueueReader;
  readonly #stage: ReceiveStage;
  readonly #list = new ScatterGatherList();
  readonly #report = new ReceiveReport();
  readonly #pages: DatagramPages;

  constructor(keys: KeyLookup, reader: ReceiveQueueReader, stage: ReceiveStage) {
    this.#keys = keys;
    this.#reader = reader;
    this.#stage = stage;
    this.#pages = new DatagramPages(keys.pageFaults, PagePart.ARRIVAL);
  }

  /** Delivers a well-formed datagram that arrived at `port`. Returns false when it was dropped. */
  receive(qp: QueuePair, port: Port, ring: PacketRing, packet: Readonly<ParsedPacket>): boolean {
    if (qp.serviceType !== ServiceType.UD || !qp.receives || qp.attributes.port !== port.number) {
      this.drops.wrongService++;
      return this.#drop(qp, ring, packet, PacketDrop.SERVICE);
    }
    if (!this.#keysMatch(qp, port, ring, packet)) return false;
    return this.#take(qp, port, ring, packet, qp.attributes.pkeyIndex);
  }

  /** As `receive`, for QP0 or QP1 of the port; `MadReceiver` has checked the keys. */
  receiveMad(qp: QueuePair, port: Port, ring: PacketRing, packet: Readonly<ParsedPacket>, pkeyIndex: number): boolean {
    if (qp.receives) return this.#take(qp, port, ring, packet, pkeyIndex);
    this.drops.wrongService++;
    return this.#drop(qp, ring, packet, PacketDrop.SERVICE);
  }

  /** A datagram whose receive WQE is read in time waits for it. */
  #take(qp: QueuePair, port: Port, ring: PacketRing, packet: Readonly<ParsedPacket>, pkeyIndex: number): boolean {
    if (!this.#stage.isPassed && this.#stage.holds(qp, port, ring, packet, pkeyIndex)) return true;
    return this.deliver(qp, port, ring, packet, pkeyIndex);
  }

  /** Delivers a datagram of a QP into its next receive WQE. Returns false when it was dropped. */
  deliver(qp: QueuePair, port: Port, ring: PacketRing, packet: Readonly<ParsedPacket>, pkeyIndex: number): boolean {
    if (!qp.receives) return this.#drop(qp, ring, packet, PacketDrop.SERVICE);
    if (!this.#reader.available(qp)) {
      this.drops.noReceiveEntry++;
      return this.#drop(qp, ring, packet, PacketDrop.NO_RECEIVE_ENTRY);
    }
    const fault = this.#reader.take(qp, this.#list) || this.#place(qp, ring, packet);
    if (fault === FaultKind.DMA_WRITE && this.#pages.await(qp, this.#reader.number)) {
      this.#reader.giveBack(qp);
      this.drops.pageAbsent++;
      return this.#drop(qp, ring, packet, PacketDrop.PAGE_ABSENT);
    }
    const status = fault === FaultKind.NONE ? CompletionStatus.SUCCESS : receiveStatus(fault);
    qp.trace?.receiveDatagram(packet, ring, this.#reader.number, status, fault);
    if (fault === FaultKind.NONE) this.#complete(qp, port, ring.view, packet, pkeyIndex);
    else this.#fail(qp, fault, packet.psn);
    return true;
  }

  #keysMatch(qp: QueuePair, port: Port, ring: PacketRing, packet: Readonly<ParsedPacket>): boolean {
    const { view } = ring;
    if (!pKeysMatch(packet.pKey, port.pkeys[qp.attributes.pkeyIndex])) {
      notePkeyViolation(port, qp, view, packet);
      return this.#drop(qp, ring, packet, PacketDrop.PKEY);
    }
    const qKey = getDethQKey(view, packet.dethOffset);
    if (qKey !== qp.attributes.qkey) {
      noteQkeyViolation(port, qp, view, packet, qKey);
      return this.#drop(qp, ring, packet, PacketDrop.QKEY);
    }
    return true;
  }

  #drop(qp: QueuePair, { view }: PacketRing, packet: Readonly<ParsedPacket>, cause: PacketDrop): false {
    return noteDrop(qp, packet, cause, getDethSrcQpn(view, packet.dethOffset));
  }

  #place(qp: QueuePair, ring: PacketRing, packet: Readonly<ParsedPacket>): FaultKind {
    const list = this.#list;
    if (list.totalBytes < GRH_AREA_BYTES + packet.payloadLengthBytes) {
      qp.owner.faults.report(FaultKind.RECEIVE_TOO_SHORT, qp, list.totalBytes);
      return FaultKind.RECEIVE_TOO_SHORT;
    }
    const fault = list.check(qp, this.#keys, AccessFlag.LOCAL_WRITE);
    if (fault !== FaultKind.NONE) return fault;
    // Without a GRH the content of the area is undefined (IBTA 11.4.1.2): it is not written.
    const whole =
      (packet.grhOffset < 0 || list.scatter(qp, 0, ring, packet.grhOffset, GRH_SIZE)) &&
      list.scatter(qp, GRH_AREA_BYTES, ring, packet.payloadOffset, packet.payloadLengthBytes);
    return whole ? FaultKind.NONE : FaultKind.DMA_WRITE;
  }

  #complete(qp: QueuePair, port: Port, view: DataView, packet: Readonly<ParsedPacket>, pkeyIndex: number): void {
    const report = this.#report;
    report.status = CompletionStatus.SUCCESS;
    report.fault = FaultKind.NONE;
    report.byteLength = GRH_AREA_BYTES + packet.payloadLengthBytes;
    report.solicited = packet.solicited;
    report.globalRoute = packet.grhOffset < 0 ? 0 : 1;
    report.hasImmediate = packet.immDtOffset < 0 ? 0 : 1;
    report.immediate = packet.immDtOffset < 0 ? 0 : getImmDtImmediate(view, packet.immDtOffset);
    report.sourceQpn = getDethSrcQpn(view, packet.dethOffset);
    report.sourceLid = packet.slid;
    report.serviceLevel = packet.serviceLevel;
    report.pathBits = packet.dlid & ((1 << port.lmc) - 1);
    report.port = port.number;
    report.pkeyIndex = pkeyIndex;
    postReceiveCompletion(qp, this.#reader.number, report);
  }

  /**
   * A receive WQE that cannot be used completes in error and moves the QP to ERR (IBTA 10.10.3.2).
   */
  #fail(qp: QueuePair, fault: FaultKind, psn: number): void {
    const report = this.#report;
    report.fault = fault;
    report.solicited = 0;
    report.status = receiveStatus(fault);
    qp.failure.note(qp, FailureCause.RECEIVE, report.status, fault, this.#reader.number, psn);
    postReceiveCompletion(qp, this.#reader.number, report);
    qp.life.moveToError(qp);
  }
}
