// SPDX-License-Identifier: Apache-2.0
/**
 * Writes the frames of a socket link (protocol/infiniband/link-headers.ts), gathered so that a pass
 * of the adapter costs one write, and reads those of the peer. `stream-link.ts` uses it.
 */
import {
  decodeFlowControlPacket,
  encodeFlowControlPacket,
  FLOW_CONTROL_PACKET_SIZE,
  type FlowControlPacket,
  newFlowControlPacket,
} from '../../../protocol/infiniband/gen/flow-control-packet.gen.ts';
import {
  encodeLinkFrame,
  getLinkFrameLengthBytes,
  getLinkFrameType,
  LINK_FRAME_SIZE,
  newLinkFrame,
} from '../../../protocol/infiniband/gen/link-frame.gen.ts';
import {
  copyLinkHelloPortGuidFrom,
  decodeLinkHello,
  encodeLinkHello,
  LINK_HELLO_SIZE,
  type LinkHello,
  newLinkHello,
} from '../../../protocol/infiniband/gen/link-hello.gen.ts';
import { FlowControlOperand, LinkFrameType } from '../../../protocol/infiniband/gen/values.gen.ts';
import { mtuBytes } from '../../../protocol/infiniband/mtu.ts';
import { computeVcrc, getVcrc, setVcrc, VCRC_SIZE } from '../../../protocol/infiniband/vcrc.ts';
import type { LinkEnd } from '../port/link.ts';
import { PACKET_SLOT_BYTES, type PacketRing } from '../port/packet-ring.ts';

/** Cause for which this side ended a connection. */
export type StreamFault =
  | 'oversized frame'
  | 'malformed frame'
  | 'unexpected frame'
  | 'other version'
  | 'other number of lanes'
  | 'encrypted peer'
  | 'credit overrun'
  | 'silent peer';

/** What an encrypted connection begins with: a handshake or an alert of TLS, version 3.x. */
const TLS_RECORDS = [0x1603, 0x1503];
const LINK_MAGIC = 0x56554c4b;
const LINK_VERSION = 1;
/** Magic number and version, with which the greeting of every version begins. */
const VERSIONED_BYTES = 6;
/** Number of bytes gathered before a write. */
const BATCH_BYTES = 1 << 18;
/** A longer packet is copied with its whole slot, of which there is always a view. */
const WHOLE_SLOT_BYTES = 1024;

const frame = newLinkFrame();
const hello = newLinkHello();
const flowControl = newFlowControlPacket();

/** Gathers frames in one buffer. */
export class FrameWriter {
  readonly #bytes = new Uint8Array(BATCH_BYTES + LINK_FRAME_SIZE + PACKET_SLOT_BYTES);
  readonly #view = new DataView(this.#bytes.buffer);
  #length = 0;

  get empty(): boolean {
    return this.#length === 0;
  }

  /** True when the gathered bytes must be taken before more is written. */
  get full(): boolean {
    return this.#length >= BATCH_BYTES;
  }

  /** Returns the gathered bytes, which stay as they are until the next frame is written. */
  take(): Uint8Array {
    const bytes = this.#bytes.subarray(0, this.#length);
    this.#length = 0;
    return bytes;
  }

  /** Writes the greeting as the first frame. Unsent bytes of an earlier connection are dropped. */
  hello(port: LinkEnd): void {
    this.#length = 0;
    const at = this.#open(LinkFrameType.HELLO, 0, LINK_HELLO_SIZE);
    hello.magic = LINK_MAGIC;
    hello.version = LINK_VERSION;
    hello.mtuCode = port.maxMtuCode;
    hello.virtualLanes = port.transmitQueues.rings.length;
    hello.portNumber = port.number;
    encodeLinkHello(this.#view, at, hello);
    copyLinkHelloPortGuidFrom(this.#view, at, port.guid, 0);
  }

  /** Writes the oldest packet of a ring. */
  packet(ring: PacketRing): void {
    const { readLength: lengthBytes } = ring;
    const at = this.#open(LinkFrameType.PACKET, ring.virtualLane, lengthBytes);
    if (lengthBytes > WHOLE_SLOT_BYTES) {
      this.#bytes.set(ring.readSlot, at);
      return;
    }
    ring.takeOldestLoan();
    this.#bytes.set(ring.viewPacket(ring.readOffset, lengthBytes), at);
  }

  /** Writes a flow control packet; `first`: the initial one of a connection. */
  flowControl(first: boolean, virtualLane: number, totalBlocksSent: number, creditLimit: number): void {
    const at = this.#open(LinkFrameType.FLOW_CONTROL, virtualLane, FLOW_CONTROL_PACKET_SIZE);
    flowControl.operand = first ? FlowControlOperand.INITIALIZE : FlowControlOperand.NORMAL;
    flowControl.totalBlocksSent = totalBlocksSent;
    flowControl.virtualLane = virtualLane;
    flowControl.creditLimit = creditLimit;
    encodeFlowControlPacket(this.#view, at, flowControl);
    const crcOffset = at + FLOW_CONTROL_PACKET_SIZE - VCRC_SIZE;
    setVcrc(this.#view, crcOffset, computeVcrc(this.#view, at, crcOffset));
  }

  keepalive(): void {
    this.#open(LinkFrameType.KEEPALIVE, 0, 0);
  }

  /** Writes the head of a frame and returns the offset of its body. */
  #open(type: number, virtualLane: number, lengthBytes: number): number {
    frame.type = type;
    frame.virtualLane = virtualLane;
    frame.lengthBytes = lengthBytes;
    encodeLinkFrame(this.#view, this.#length, frame);
    const at = this.#length + LINK_FRAME_SIZE;
    this.#length = at + lengthBytes;
    return at;
  }
}

/** Takes a frame, whose body begins at `at` of `bytes`. Returns false to end the stream. */
type FrameTaker = (bytes: Uint8Array, at: number, lengthBytes: number) => boolean;

/**
 * Joins the bytes of one connection to frames. The bytes come from outside and may have any value:
 * an impossible frame is refused before a byte of it is kept, and at most one frame is held.
 */
export class LinkFrameReader {
  /** The head of the current frame. */
  readonly head = new DataView(new ArrayBuffer(LINK_FRAME_SIZE));
  readonly #headBytes = new Uint8Array(this.head.buffer);
  /** The body of the current frame, unless that is a packet that came in one piece. */
  readonly body = new Uint8Array(PACKET_SLOT_BYTES);
  readonly bodyView = new DataView(this.body.buffer);
  #headCount = 0;
  #bodyCount = 0;

  /** True at the beginning of a frame. */
  get isEmpty(): boolean {
    return this.#headCount === 0;
  }

  /** Drops an incomplete frame. */
  reset(): void {
    this.#headCount = 0;
    this.#bodyCount = 0;
  }

  /**
   * Calls `take` for every complete frame, until it returns false. A packet that came in one piece
   * is taken from the chunk. Returns false when `take` did, or when a frame is too long; the stream
   * is then useless.
   */
  push(chunk: Uint8Array, take: FrameTaker): boolean {
    let at = 0;
    while (at < chunk.length) {
      if (this.#headCount < LINK_FRAME_SIZE) {
        this.#headBytes[this.#headCount++] = chunk[at++];
        if (this.#headCount < LINK_FRAME_SIZE) continue;
      }
      const length = getLinkFrameLengthBytes(this.head, 0);
      if (length > PACKET_SLOT_BYTES) return false;
      const count = Math.min(length - this.#bodyCount, chunk.length - at);
      const from = at;
      at += count;
      const isInPlace = count === length && getLinkFrameType(this.head, 0) === LinkFrameType.PACKET;
      if (!isInPlace) {
        this.body.set(viewBytes(chunk, from, count), this.#bodyCount);
        this.#bodyCount += count;
        if (this.#bodyCount < length) continue;
      }
      this.reset();
      if (!(isInPlace ? take(chunk, from, length) : take(this.body, 0, length))) return false;
    }
    return true;
  }
}

/** A view of a part; the constructor takes a fraction of the time of `subarray` of a Buffer. */
export function viewBytes(bytes: Uint8Array, at: number, lengthBytes: number): Uint8Array {
  return new Uint8Array(bytes.buffer, bytes.byteOffset + at, lengthBytes);
}

/** True when the first bytes of a connection are those of an encrypted one. */
export function beginsEncrypted(chunk: Uint8Array): boolean {
  return chunk.length > 1 && TLS_RECORDS.includes((chunk[0] << 8) | chunk[1]);
}

/**
 * Returns the greeting of a peer, or the cause for which no link with it is possible. The record is
 * reused.
 */
export function readHello(view: DataView, lengthBytes: number): Readonly<LinkHello> | StreamFault {
  if (lengthBytes < VERSIONED_BYTES) return 'malformed frame';
  decodeLinkHello(view, 0, hello);
  if (hello.magic !== LINK_MAGIC) return 'malformed frame';
  if (hello.version !== LINK_VERSION) return 'other version';
  return lengthBytes === LINK_HELLO_SIZE && mtuBytes(hello.mtuCode) > 0 ? hello : 'malformed frame';
}

/**
 * Returns a flow control packet, or undefined when it is malformed or damaged. The record is
 * reused.
 */
export function readFlowControl(view: DataView, lengthBytes: number): Readonly<FlowControlPacket> | undefined {
  if (lengthBytes !== FLOW_CONTROL_PACKET_SIZE) return undefined;
  const crcOffset = FLOW_CONTROL_PACKET_SIZE - VCRC_SIZE;
  if (computeVcrc(view, 0, crcOffset) !== getVcrc(view, crcOffset)) return undefined;
  decodeFlowControlPacket(view, 0, flowControl);
  return flowControl.operand <= FlowControlOperand.INITIALIZE ? flowControl : undefined;
}
