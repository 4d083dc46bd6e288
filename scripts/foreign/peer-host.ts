// SPDX-License-Identifier: Apache-2.0
/**
 * What the near one of two guests asks of the host: to capture packets while a test runs, and to
 * have tshark read them. `@host TAG capture` begins; `@host TAG read FILTER` ends it, and is
 * answered with the number of packets that tshark takes for FILTER. The answer has the form of
 * those of the far guest (guest-tests/foreign/far.sh). Called by run-peers.ts.
 */
import { closeSync, openSync, readFileSync, readSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeRunDirectory, onProcessEnd } from '../../qemu/run-directory.ts';
import { run } from '../../qemu/setup/command.ts';
import { findTshark } from '../../qemu/setup/tshark.ts';
import { captureFrom, type RemoteCapture } from '../cli/remote-capture.ts';
import type { PacketSource } from './peer-adapters.ts';

const REQUEST = /^@host (\S+) (capture|read) ?(.*)$/;
/** There is no tshark: the exit status of a test that is skipped. */
const SKIPPED = 4;
const FAILED = 1;
/** The file header of pcap. */
const HEADER_BYTES = 24;

export class PeerHost {
  readonly #source: PacketSource;
  readonly #answer: (line: string) => void;
  readonly #directory = makeRunDirectory();
  readonly #forget = onProcessEnd(() => this.#remove());
  #capture: RemoteCapture | undefined;
  /** Bytes of a dump that were there when the capture began. */
  #begin = 0;

  constructor(source: PacketSource, answer: (line: string) => void) {
    this.#source = source;
    this.#answer = answer;
  }

  /** Takes a line of the near guest's report. */
  take(line: string): void {
    const [, tag, verb, filter = ''] = REQUEST.exec(line) ?? [];
    if (tag === undefined) return;
    const work = verb === 'capture' ? this.#start() : this.#read(filter);
    work
      .catch((error: unknown) => ({ status: FAILED, said: String(error) }))
      .then(({ status, said }) => {
        for (const text of said.split('\n')) this.#answer(`${tag} | ${text}`);
        this.#answer(`${tag} = ${status}`);
      });
  }

  close(): void {
    this.#remove();
    this.#forget();
  }

  get #path(): string {
    return join(this.#directory, 'packets.pcap');
  }

  async #start(): Promise<{ status: number; said: string }> {
    if ('dump' in this.#source) this.#begin = statSync(this.#source.dump).size;
    else {
      const { controlPath, adapter } = this.#source;
      this.#capture = await captureFrom(controlPath, {
        path: this.#path,
        ...(adapter === undefined ? {} : { adapter }),
      });
    }
    return { status: 0, said: 'capturing' };
  }

  async #read(filter: string): Promise<{ status: number; said: string }> {
    await this.#end();
    const tshark = findTshark();
    if (tshark === undefined) return { status: SKIPPED, said: 'tshark is not installed' };
    const count = async (expression: string): Promise<number> => {
      const words = ['-r', this.#path, '-Y', expression, '-T', 'fields', '-e', 'frame.number'];
      return (await run(tshark, words)).split('\n').filter((line) => line !== '').length;
    };
    const [packets, malformed] = [await count(filter), await count('_ws.malformed')];
    const said = `tshark reads ${packets} packets as ${filter}, and ${malformed} as malformed`;
    return { status: packets > 0 && malformed === 0 ? 0 : FAILED, said };
  }

  async #end(): Promise<void> {
    if ('dump' in this.#source) {
      writeFileSync(this.#path, this.#sliceDump(this.#source.dump));
      return;
    }
    await this.#capture?.stop();
    this.#capture = undefined;
  }

  /** The packets of QEMU's dump since the capture began, behind the header of the file. */
  #sliceDump(path: string): Buffer {
    if (this.#begin <= HEADER_BYTES) return readFileSync(path);
    const size = statSync(path).size - this.#begin;
    const bytes = Buffer.alloc(HEADER_BYTES + size);
    const file = openSync(path, 'r');
    readSync(file, bytes, 0, HEADER_BYTES, 0);
    readSync(file, bytes, HEADER_BYTES, size, this.#begin);
    closeSync(file);
    return bytes;
  }

  #remove(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
