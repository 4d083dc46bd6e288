// SPDX-License-Identifier: Apache-2.0
/**
 * Requests of the near one of two guests to the host: to capture packets while a test runs, to read
 * them by tshark, and to count commands by their way. `@host TAG capture` begins a capture; `@host
 * TAG read FILTER` ends it, and the answer is the number of packets that match FILTER of tshark;
 * the answer to `@host TAG posts` is the number of commands that came by collect pages, and of
 * doorbells. The answer has the form of those of the far guest (guest-tests/foreign/far.sh). Called
 * by run-peers.ts.
 */
import { closeSync, openSync, readFileSync, readSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ControlClient } from '../../device/process/control/control-client.ts';
import { makeRunDirectory, onProcessEnd, removeRunDirectory } from '../../qemu/run-directory.ts';
import { run } from '../../qemu/setup/tools/command.ts';
import { findTshark } from '../../qemu/setup/tshark.ts';
import { readStatus } from '../cli/commands/status-sample.ts';
import { captureFrom, type RemoteCapture } from '../cli/session/remote-capture.ts';
import type { PacketSource } from './peer-adapters.ts';

const REQUEST = /^@host (\S+) (capture|read|posts) ?(.*)$/;
/** Exit status of a test that is skipped because tshark is absent. */
const SKIPPED = 4;
const FAILED = 1;
/** tshark takes the login of SRP for SDP, and then short RDMA WRITEs; nothing here speaks SDP. */
const OPTIONS = ['--disable-heuristic', 'sdp_infiniband'];
/** Message of a failure about malformed packets, and the largest number that it lists. */
const SHOWN = ['frame.number', 'frame.protocols', '_ws.col.Info'];
const MALFORMED_SHOWN = 5;
/** The file header of pcap. */
const HEADER_BYTES = 24;

interface Answer {
  /** An exit status. */
  readonly status: number;
  readonly said: string;
}

export class PeerHost {
  readonly #source: PacketSource;
  readonly #answer: (line: string) => void;
  readonly #directory = makeRunDirectory();
  readonly #forget = onProcessEnd(() => this.#remove());
  #capture: RemoteCapture | undefined;
  /** Bytes of a dump when the capture began. */
  #begin = 0;

  constructor(source: PacketSource, answer: (line: string) => void) {
    this.#source = source;
    this.#answer = answer;
  }

  /** Takes a line of the near guest's report. */
  take(line: string): void {
    const [, tag, verb, filter = ''] = REQUEST.exec(line) ?? [];
    if (tag === undefined) return;
    this.#do(verb as string, filter)
      .catch((error: unknown) => ({ status: FAILED, said: String(error) }))
      .then(({ status, said }) => {
        for (const text of said.split('\n')) this.#answer(`${tag} | ${text}`);
        this.#answer(`${tag} = ${status}`);
      });
  }

  #do(verb: string, filter: string): Promise<Answer> {
    if (verb === 'posts') return this.#countPosts();
    return verb === 'capture' ? this.#start() : this.#read(filter);
  }

  close(): void {
    this.#remove();
    this.#forget();
  }

  #path(): string {
    return join(this.#directory, 'packets.pcap');
  }

  async #start(): Promise<Answer> {
    if ('dump' in this.#source) this.#begin = statSync(this.#source.dump).size;
    else {
      const { controlPath, adapter } = this.#source;
      this.#capture = await captureFrom(controlPath, {
        path: this.#path(),
        ...(adapter === undefined ? {} : { adapter }),
      });
    }
    return { status: 0, said: 'capturing' };
  }

  async #read(filter: string): Promise<Answer> {
    await this.#end();
    const tshark = findTshark();
    if (tshark === undefined) return { status: SKIPPED, said: 'tshark is not installed' };
    const find = async (expression: string): Promise<string[]> => {
      const fields = ['-T', 'fields', ...SHOWN.flatMap((name) => ['-e', name])];
      const words = [...OPTIONS, '-r', this.#path(), '-Y', expression, ...fields];
      return (await run(tshark, words)).split('\n').filter((line) => line !== '');
    };
    const [packets, malformed] = [await find(filter), await find('_ws.malformed')];
    const said = `tshark reads ${packets.length} packets as ${filter}, and ${malformed.length} as malformed`;
    const isGood = packets.length > 0 && malformed.length === 0;
    return { status: isGood ? 0 : FAILED, said: [said, ...malformed.slice(0, MALFORMED_SHOWN)].join('\n') };
  }

  async #countPosts(): Promise<Answer> {
    if ('dump' in this.#source) return { status: SKIPPED, said: 'soft-RoCE has no adapter' };
    const { controlPath, adapter } = this.#source;
    const client = await ControlClient.connect(controlPath);
    const { adapters } = await readStatus(client).finally(() => client.close());
    const unit = adapters.find(({ name }) => name === adapter)?.functions[0];
    if (unit === undefined) return { status: SKIPPED, said: 'a stock driver has no collect pages' };
    return { status: 0, said: `${unit.commands.collected} ${unit.doorbells.explicit}` };
  }

  async #end(): Promise<void> {
    if ('dump' in this.#source) {
      writeFileSync(this.#path(), this.#sliceDump(this.#source.dump));
      return;
    }
    await this.#capture?.stop();
    this.#capture = undefined;
  }

  /** The packets of QEMU's dump since the capture began, after the header of the file. */
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
    removeRunDirectory(this.#directory);
  }
}
