// SPDX-License-Identifier: Apache-2.0
/**
 * Link to a port in another process, over a byte stream that may break and come back (IBTA
 * chapter 7, in frames of protocol/infiniband/link-headers.ts). Without a connection the port is
 * down and packets are lost, as with a pulled cable. The peer is not trusted: CRCs are checked, the
 * granted credits bound the buffers, and the first impossible frame ends the connection with a
 * counted cause. Pure: bytes pass through `LinkStream`, and the port changes only while the adapter
 * runs (`carry`).
 */
import { getLinkFrameType, getLinkFrameVirtualLane } from '../../../protocol/infiniband/gen/link-frame.gen.ts';
import { LinkFrameType } from '../../../protocol/infiniband/gen/values.gen.ts';
import { PortPhysicalState } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { VCRC_SIZE } from '../../../protocol/infiniband/vcrc.ts';
import type { LinkPort, LinkStream } from '../../host.ts';
import { Random } from '../../random.ts';
import type { Link, LinkEnd } from '../port/link.ts';
import { type PacketRing, packetBlocks } from '../port/packet-ring.ts';
import { MANAGEMENT_VL, type VirtualLaneCredits } from '../port/transmit-queues.ts';
import { FaultSource } from './fault-source.ts';
import { ReceiveCredits, TransmitCredits } from './flow-credits.ts';
import {
  beginsEncrypted,
  FrameWriter,
  LinkFrameReader,
  readFlowControl,
  readHello,
  type StreamFault,
  viewBytes,
} from './frame-writer.ts';
import { type ChangeableLink, type LinkChange, mergeProperties, type SeededProperties } from './joint.ts';
import { LinkDirection } from './link-direction.ts';
import {
  defaultFaultyLinkOptions,
  defaultStreamLinkOptions,
  findLinkOptionError,
  type StreamLinkOptions,
} from './link-options.ts';
import { ReceiveBuffer } from './receive-buffer.ts';

const SILENT_KEEPALIVES = 20;
const SMALLEST_PACKET = 26;

const StreamState = { CLOSED: 0, GREETING: 1, OPENING: 2, UP: 3 } as const;
type StreamState = (typeof StreamState)[keyof typeof StreamState];

/** The link of one port; the connection comes and goes. */
export class StreamLink implements Link, LinkPort, ChangeableLink {
  readonly isRetrained = false;
  readonly trusted = false;
  readonly active = true;
  /** Number of connections that came up, and of connections ended by this side, by cause. */
  connections = 0;
  readonly faults = new Map<StreamFault, number>();
  packetsSent = 0;
  packetsReceived = 0;
  /** Called when this side ended a connection. */
  onFault: ((fault: StreamFault) => void) | undefined = undefined;
  readonly port: LinkEnd;
  readonly buffer: ReceiveBuffer;
  readonly transmitCredits: TransmitCredits;
  readonly receiveCredits: ReceiveCredits;
  readonly #keepaliveNs: number;
  readonly #reader = new LinkFrameReader();
  readonly #writer = new FrameWriter();
  readonly #take = (bytes: Uint8Array, at: number, lengthBytes: number): boolean =>
    this.#takeFrame(bytes, at, lengthBytes);
  /** Properties and faults of what goes out, and the packets on that way. */
  #properties: SeededProperties | undefined = undefined;
  #outgoing: LinkDirection | undefined = undefined;
  #stream: LinkStream | undefined = undefined;
  #isCut = false;
  #state: StreamState = StreamState.CLOSED;
  /** The connection broke, and the port has not changed yet. */
  #broken = false;
  /** Why this side ended the connection that broke. */
  #endedBy: StreamFault | undefined = undefined;
  #blocked = false;
  #heard = false;
  #peerMtuCode = 0;
  #heardNs = 0;
  #sentNs = 0;

  constructor(port: LinkEnd, options: Partial<StreamLinkOptions> = {}) {
    const { bufferBlocks, bufferPackets, keepaliveNs, outgoing } = { ...defaultStreamLinkOptions, ...options };
    const dataVls = port.transmitQueues.rings.length;
    this.port = port;
    this.buffer = new ReceiveBuffer(dataVls, bufferBlocks, bufferPackets);
    this.transmitCredits = new TransmitCredits(dataVls);
    this.receiveCredits = new ReceiveCredits(dataVls, this.buffer);
    this.#keepaliveNs = keepaliveNs;
    if (outgoing !== undefined) this.#setProperties(outgoing);
    port.plug(this);
  }

  /** The way of outgoing packets, when it has properties or faults. */
  get outgoing(): LinkDirection | undefined {
    return this.#outgoing;
  }

  findObjection(change: LinkChange): string | undefined {
    return findLinkOptionError(mergeProperties(this.#properties, change));
  }

  /** Gives packets that go out from now on other properties and faults, which are in range. */
  change(change: LinkChange): void {
    this.#setProperties(mergeProperties(this.#properties, change));
    this.port.onWork?.();
  }

  /** The cable is out: there is no connection until it is plugged in. */
  get isCut(): boolean {
    return this.#isCut;
  }

  cut(): void {
    this.#isCut = true;
    this.close();
  }

  plugIn(): void {
    this.#isCut = false;
  }

  /** True when the connection and the port are up. */
  get up(): boolean {
    return this.#state === StreamState.UP;
  }

  get connected(): boolean {
    return this.#stream !== undefined;
  }

  /**
   * Starts with a new connection; only while there is none. A port that is switched off ends it at
   * once, and so does a cable that is out.
   */
  connect(stream: LinkStream): void {
    if (this.#isCut || this.port.physicalState === PortPhysicalState.DISABLED) {
      stream.close();
      return;
    }
    this.#stream = stream;
    this.#state = StreamState.GREETING;
    this.#blocked = false;
    // The time of greeting counts from the next `carry`.
    this.#heard = true;
    this.#endedBy = this.#broken ? this.#endedBy : undefined;
    this.#reader.reset();
    this.#writer.hello(this.port);
    this.#flush();
    this.port.onWork?.();
  }

  receive(stream: LinkStream, chunk: Uint8Array): void {
    if (stream !== this.#stream) return;
    this.#heard = true;
    const isFirst = this.#state === StreamState.GREETING && this.#reader.isEmpty;
    if (isFirst && beginsEncrypted(chunk)) this.#end('encrypted peer');
    else if (!this.#reader.push(chunk, this.#take) && this.#stream === stream) this.#end('oversized frame');
    this.port.onWork?.();
  }

  drained(stream: LinkStream): void {
    if (stream !== this.#stream) return;
    this.#blocked = false;
    this.port.onWork?.();
  }

  disconnect(stream: LinkStream): void {
    if (stream !== this.#stream) return;
    this.#stream = undefined;
    this.#broken ||= this.#state === StreamState.UP;
    this.#state = StreamState.CLOSED;
    this.port.onWork?.();
  }

  get nextNs(): number {
    if (this.#state === StreamState.CLOSED) return Number.POSITIVE_INFINITY;
    const silentNs = this.#heardNs + SILENT_KEEPALIVES * this.#keepaliveNs;
    const speaks = this.#state === StreamState.UP && !this.#blocked;
    if (!speaks) return silentNs;
    return Math.min(silentNs, this.#sentNs + this.#keepaliveNs, this.#outgoing?.nextNs ?? Number.POSITIVE_INFINITY);
  }

  carry(nowNs: number, limit: number): number {
    let moved = this.#updatePort(nowNs);
    if (this.#heard) this.#heardNs = nowNs;
    this.#heard = false;
    if (this.#state === StreamState.CLOSED) return moved;
    if (nowNs - this.#heardNs >= SILENT_KEEPALIVES * this.#keepaliveNs) this.#end('silent peer');
    if (this.#state !== StreamState.UP || this.#blocked) return moved;
    moved += this.#outgoing?.carry(nowNs, limit) ?? 0;
    moved += this.#sendPackets(limit);
    this.#announce(false);
    if (this.#writer.empty && nowNs - this.#sentNs >= this.#keepaliveNs) this.#writer.keepalive();
    if (!this.#writer.empty) this.#sentNs = nowNs;
    this.#flush();
    return moved;
  }

  arrival(_port: LinkEnd, room?: VirtualLaneCredits): PacketRing | undefined {
    return this.buffer.next(room);
  }

  settle(): void {}

  /** The peer learns by the end of the connection; a new one trains the link again. */
  retrain(): void {
    this.close();
  }

  /** Another link takes the port; this one is no longer used. */
  detach(): void {
    this.close();
  }

  close(): void {
    const stream = this.#stream;
    if (stream === undefined) return;
    this.disconnect(stream);
    stream.close();
  }

  /** Changes the port as the connection has changed since the last call. */
  #updatePort(nowNs: number): number {
    let changes = 0;
    if (this.#broken) {
      this.#broken = false;
      if (this.#endedBy === 'credit overrun') this.port.noteOverrun();
      else if (this.#endedBy === 'silent peer') this.port.noteSilence();
      this.#endedBy = undefined;
      this.#outgoing?.unplug();
      this.port.setLinkUp(false);
      changes++;
    }
    if (this.#state === StreamState.OPENING) {
      this.#state = StreamState.UP;
      this.#sentNs = nowNs;
      this.connections++;
      this.port.activeMtuCode = Math.min(this.port.maxMtuCode, this.#peerMtuCode);
      this.#announce(true);
      this.port.setLinkUp(true);
      changes++;
    }
    return changes;
  }

  #setProperties(properties: SeededProperties): void {
    const all = { ...defaultFaultyLinkOptions, ...properties };
    const random = new Random(properties.seed);
    const source = new FaultSource(all, 0, random);
    this.#properties = properties;
    // Both its ends are this port: what has landed leaves by the connection.
    if (this.#outgoing === undefined) this.#outgoing = new LinkDirection(this.port, this.port, all, source, random);
    else this.#outgoing.reconfigure(all, source, random);
  }

  #sendPackets(limit: number): number {
    const source = this.#outgoing?.buffer ?? this.port.transmitQueues;
    let sent = 0;
    while (sent < limit && !this.#blocked) {
      const ring = source.next(this.transmitCredits);
      if (ring === undefined) break;
      const vl = ring.virtualLane;
      if (vl !== MANAGEMENT_VL) this.transmitCredits.count(vl, packetBlocks(ring.readLength));
      this.#writer.packet(ring);
      ring.shift();
      sent++;
      if (this.#writer.full) this.#flush();
    }
    this.packetsSent += sent;
    return sent;
  }

  /** Announces credits; `first`: the link comes up. */
  #announce(first: boolean): void {
    for (let vl = 0; vl < this.transmitCredits.sent.length; vl++) {
      if (!first && !this.receiveCredits.worthAnnouncing(vl)) continue;
      this.#writer.flowControl(first, vl, this.transmitCredits.sent[vl], this.receiveCredits.announce(vl));
      if (this.#writer.full) this.#flush();
    }
  }

  #flush(): void {
    if (this.#writer.empty || this.#stream === undefined) return;
    if (!this.#stream.write(this.#writer.take())) this.#blocked = true;
  }

  #takeFrame(bytes: Uint8Array, at: number, lengthBytes: number): boolean {
    const type = getLinkFrameType(this.#reader.head, 0);
    const fault =
      this.#state === StreamState.GREETING ? this.#greet(type, lengthBytes) : this.#serve(type, bytes, at, lengthBytes);
    if (fault !== undefined) this.#end(fault);
    return fault === undefined;
  }

  #greet(type: number, lengthBytes: number): StreamFault | undefined {
    if (type !== LinkFrameType.HELLO) return 'unexpected frame';
    const hello = readHello(this.#reader.bodyView, lengthBytes);
    if (typeof hello === 'string') return hello;
    if (hello.virtualLanes !== this.transmitCredits.sent.length) return 'other number of lanes';
    this.#peerMtuCode = hello.mtuCode;
    this.transmitCredits.reset();
    this.receiveCredits.reset();
    this.#state = StreamState.OPENING;
    return undefined;
  }

  #serve(type: number, bytes: Uint8Array, at: number, lengthBytes: number): StreamFault | undefined {
    switch (type) {
      case LinkFrameType.PACKET:
        return this.#takePacket(bytes, at, lengthBytes);
      case LinkFrameType.FLOW_CONTROL:
        return this.#takeFlowControl(lengthBytes);
      case LinkFrameType.KEEPALIVE:
        return lengthBytes === 0 ? undefined : 'malformed frame';
      default:
        return 'unexpected frame';
    }
  }

  #takePacket(bytes: Uint8Array, at: number, lengthBytes: number): StreamFault | undefined {
    const vl = getLinkFrameVirtualLane(this.#reader.head, 0);
    if (lengthBytes < SMALLEST_PACKET || (lengthBytes - VCRC_SIZE) % 4 !== 0) return 'malformed frame';
    if (vl !== MANAGEMENT_VL) {
      if (vl >= this.receiveCredits.received.length) return 'malformed frame';
      const blocks = packetBlocks(lengthBytes);
      const { buffer } = this;
      if (blocks > buffer.getFreeBlocks(vl) || buffer.getFreePackets(vl) === 0) return 'credit overrun';
      this.receiveCredits.count(vl, blocks);
    }
    this.packetsReceived++;
    this.buffer.put(vl, viewBytes(bytes, at, lengthBytes), lengthBytes);
    return undefined;
  }

  #takeFlowControl(lengthBytes: number): StreamFault | undefined {
    const packet = readFlowControl(this.#reader.bodyView, lengthBytes);
    if (packet === undefined || packet.virtualLane >= this.receiveCredits.received.length) return 'malformed frame';
    this.receiveCredits.synchronize(packet.virtualLane, packet.totalBlocksSent);
    this.transmitCredits.limits[packet.virtualLane] = packet.creditLimit;
    return undefined;
  }

  #end(fault: StreamFault): void {
    this.faults.set(fault, (this.faults.get(fault) ?? 0) + 1);
    this.onFault?.(fault);
    this.#endedBy = fault;
    this.close();
  }
}
