// SPDX-License-Identifier: Apache-2.0
/**
 * The oracle of a sanitizer run: each message completes once and arrives once, whole, in the order
 * of its stream. A violation throws. Called by `SystemUnderTest`, `Traffic` and `Receiver`.
 */

interface Message {
  readonly stream: string;
  readonly lengthBytes: number;
  /** Its sender gets a completion. */
  readonly completes: boolean;
  sent: boolean;
  arrived: boolean;
}

const HEADER_BYTES = 4;

/** All messages of a run. */
export class Messages {
  /** Number of completions and arrivals. */
  progress = 0;
  readonly #messages: Message[] = [];
  /** Per stream: numbers of the messages that have not arrived. */
  readonly #flying = new Map<string, number[]>();
  /** Per stream: numbers of the messages that have not completed. */
  readonly #posted = new Map<string, number[]>();

  get count(): number {
    return this.#messages.length;
  }

  get isComplete(): boolean {
    return this.#messages.every(({ sent, arrived }) => sent && arrived);
  }

  /** Describes the messages that are missing. */
  describe(): string {
    const missing = (what: 'sent' | 'arrived'): string =>
      this.#messages.flatMap((message, number) => (message[what] ? [] : [`${number} (${message.stream})`])).join(', ');
    return `without completion: ${missing('sent') || 'none'}; not arrived: ${missing('arrived') || 'none'}`;
  }

  /** Notes the next message of a stream and returns its bytes. */
  create(stream: string, lengthBytes: number, completes: boolean): Uint8Array {
    const number = this.#messages.length;
    this.#messages.push({ stream, lengthBytes, completes, sent: !completes, arrived: false });
    push(this.#flying, stream, number);
    if (completes) push(this.#posted, stream, number);
    return contentOf(number, lengthBytes);
  }

  /** Notes the completion of a message's send. */
  complete(number: number): void {
    const { stream, sent } = this.#messages[number];
    if (sent) throw new Error(`message ${number} (${stream}) completed twice`);
    expectFirst(this.#posted, stream, number, 'completed');
    this.#messages[number].sent = true;
    this.progress++;
  }

  /** Notes an arrival; the first 4 bytes are the message's number. */
  arrive(bytes: Uint8Array): void {
    const number = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
    const message = this.#messages[number];
    if (message === undefined) throw new Error(`message ${number} arrived and was not sent`);
    if (message.arrived) throw new Error(`message ${number} (${message.stream}) arrived twice`);
    if (message.lengthBytes !== bytes.length)
      throw new Error(`message ${number} arrived with ${bytes.length} of ${message.lengthBytes} bytes`);
    const content = contentOf(number, bytes.length);
    const at = bytes.findIndex((byte, index) => byte !== content[index]);
    if (at >= 0) throw new Error(`message ${number} (${message.stream}) arrived with another byte ${at}`);
    expectFirst(this.#flying, message.stream, number, 'arrived');
    message.arrived = true;
    this.progress++;
  }
}

function contentOf(number: number, lengthBytes: number): Uint8Array {
  const bytes = new Uint8Array(lengthBytes);
  new DataView(bytes.buffer).setUint32(0, number, true);
  for (let index = HEADER_BYTES; index < lengthBytes; index++) bytes[index] = number * 7 + index * 13;
  return bytes;
}

function push(lists: Map<string, number[]>, stream: string, number: number): void {
  const list = lists.get(stream);
  if (list === undefined) lists.set(stream, [number]);
  else list.push(number);
}

function expectFirst(lists: Map<string, number[]>, stream: string, number: number, what: string): void {
  const list = lists.get(stream) as number[];
  if (list[0] !== number) throw new Error(`message ${number} (${stream}) ${what} before message ${list[0]}`);
  list.shift();
}
