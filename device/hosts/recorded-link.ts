// SPDX-License-Identifier: Apache-2.0
/**
 * Records the calls to a link to another process and those of the link to its connection: all that
 * the peer sends is an input of the recording. `recording.ts` makes one for each link.
 */
import type { LinkPort, LinkStream } from '../host.ts';
import type { RecordWriter } from './record-writer.ts';
import { RecordKind } from './recording-format.ts';

/** Records the calls to a link. */
export class RecordingLinkPort implements LinkPort {
  readonly #writer: RecordWriter;
  readonly #link: LinkPort;
  readonly #index: number;
  /** The present connection, and how the link knows it. */
  #stream: LinkStream | undefined;
  #recorded: LinkStream | undefined;

  constructor(writer: RecordWriter, link: LinkPort, index: number) {
    this.#writer = writer;
    this.#link = link;
    this.#index = index;
  }

  connect(stream: LinkStream): void {
    const recorded = new RecordingLinkStream(this.#writer, stream, this.#index);
    this.#stream = stream;
    this.#recorded = recorded;
    this.#open(RecordKind.LINK_CONNECT);
    this.#link.connect(recorded);
  }

  receive(stream: LinkStream, chunk: Uint8Array): void {
    const recorded = this.#find(stream);
    if (recorded === undefined) return;
    this.#open(RecordKind.LINK_RECEIVE);
    this.#writer.varint(chunk.length);
    this.#writer.bytes(chunk, 0, chunk.length);
    this.#link.receive(recorded, chunk);
  }

  drained(stream: LinkStream): void {
    const recorded = this.#find(stream);
    if (recorded === undefined) return;
    this.#open(RecordKind.LINK_DRAINED);
    this.#link.drained(recorded);
  }

  disconnect(stream: LinkStream): void {
    const recorded = this.#find(stream);
    if (recorded === undefined) return;
    this.#stream = undefined;
    this.#open(RecordKind.LINK_DISCONNECT);
    this.#link.disconnect(recorded);
  }

  /** Undefined for a connection that has ended. */
  #find(stream: LinkStream): LinkStream | undefined {
    return stream === this.#stream ? this.#recorded : undefined;
  }

  #open(kind: number): void {
    this.#writer.open(kind);
    this.#writer.varint(this.#index);
  }
}

/** Records the calls of a link to its connection. */
class RecordingLinkStream implements LinkStream {
  readonly #writer: RecordWriter;
  readonly #stream: LinkStream;
  readonly #index: number;

  constructor(writer: RecordWriter, stream: LinkStream, index: number) {
    this.#writer = writer;
    this.#stream = stream;
    this.#index = index;
  }

  write(bytes: Uint8Array): boolean {
    const takesMore = this.#stream.write(bytes);
    this.#writer.open(RecordKind.LINK_WRITE);
    this.#writer.varint(this.#index);
    this.#writer.varint(bytes.length);
    this.#writer.byte(takesMore ? 1 : 0);
    this.#writer.bytes(bytes, 0, bytes.length);
    return takesMore;
  }

  close(): void {
    this.#stream.close();
    this.#writer.open(RecordKind.LINK_CLOSE);
    this.#writer.varint(this.#index);
  }
}
