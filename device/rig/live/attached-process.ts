// SPDX-License-Identifier: Apache-2.0
/**
 * A recorded process with one adapter of one function, and a client of its socket in the same
 * thread: it does what QEMU would do to the device, step by step. Tests of the live host use it.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from 'tap';
import { CONFIG_REGION } from '../../../protocol/vfio-user/client/client.ts';
import type { SharedMemory } from '../../../protocol/vfio-user/client/unix-socket.ts';
import { COMMAND, pack } from '../../../protocol/vfio-user/client/wire.ts';
import type { LogTarget } from '../../../protocol/vfio-user/index.ts';
import { libraryPath } from '../../../protocol/vfio-user/test-support/library.ts';
import { PostingClient, until } from '../../../protocol/vfio-user/test-support/posting-client.ts';
import { Adapter } from '../../hca/adapter/adapter.ts';
import type { UnderlyingFunction } from '../../hca/function/underlying-function.ts';
import { Replay, type ReplayResult } from '../../hosts/replay.ts';
import { AdapterProcess } from '../../process/host/adapter-process.ts';
import { loneDevice } from '../../process/host/topology.ts';
import type { VfioUserHost } from '../../process/host/vfio-user-host.ts';
import type { AdapterNode } from '../../topology/fabric-plan.ts';

const VECTOR = 0;
/** Rights of a mapping: to read and to write. */
const READ_AND_WRITE = 3;

const silent: LogTarget = { level: 'error', debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

export class AttachedProcess {
  readonly process: AdapterProcess;
  readonly host: VfioUserHost;
  readonly underlying: UnderlyingFunction;
  readonly #recordPath: string;
  readonly #client: PostingClient;

  /** Starts it with the client attached; the test ends it. */
  static async start(t: Test, node: AdapterNode, isStepwise = false): Promise<AttachedProcess> {
    const directory = mkdtempSync(join(tmpdir(), 'vuhca-attached-'));
    t.teardown(() => rmSync(directory, { recursive: true, force: true }));
    const attached = new AttachedProcess(directory, node, isStepwise);
    t.teardown(() => attached.close());
    await attached.process.start();
    await attached.#client.attach(attached.host.context, () => false);
    return attached;
  }

  private constructor(directory: string, node: AdapterNode, isStepwise: boolean) {
    this.#recordPath = join(directory, 'rec');
    const topology = loneDevice(join(directory, 'a'), [node], [], 'cable');
    const recordPath = this.#recordPath;
    this.process = new AdapterProcess({ libraryPath: libraryPath(), topology, log: silent, recordPath, isStepwise });
    const [{ core, hosts }] = this.process.served;
    [this.host] = hosts;
    this.underlying = core instanceof Adapter ? core.functions[0].underlying : core.underlying;
    this.#client = new PostingClient(this.host.context);
  }

  /** Reads a dword. */
  async read(bar: number, offset: number): Promise<number> {
    return (await this.readBytes(bar, offset, 4)).getUint32(0, true);
  }

  async readBytes(bar: number, offset: number, sizeBytes: number): Promise<DataView> {
    const { body } = await this.#ask(COMMAND.regionRead, pack('qww', offset, bar, sizeBytes));
    return new DataView(body.buffer, body.byteOffset + 16);
  }

  /** Writes a dword. */
  write(bar: number, offset: number, value: number): Promise<unknown> {
    return this.#ask(COMMAND.regionWrite, pack('qwww', offset, bar, 4, value));
  }

  /** Shares memory with the device, from a bus address on. */
  async share(memory: SharedMemory, address: number): Promise<void> {
    const body = pack('wwqqq', 32, READ_AND_WRITE, 0, address, memory.sizeBytes);
    await this.#ask(COMMAND.dmaMap, body, [memory.fd]);
  }

  /** Waits for the pass after the accesses so far: the answer to an access comes after one. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 2; turn++) await this.read(CONFIG_REGION, 0);
  }

  /**
   * Whether a pass has tried to send a vector that was requested: no client has given an eventfd.
   */
  async triesToInterrupt(): Promise<boolean> {
    const { counters } = this.host.context.interrupts;
    const before = counters.undeliverable;
    this.underlying.msix.request(VECTOR);
    this.process.pump.wake();
    await this.settle();
    return counters.undeliverable > before;
  }

  /** Ends the process and replays its recording. */
  replay(): ReplayResult {
    this.close();
    const build = (...[options, clock, hosts]: ConstructorParameters<typeof Adapter>): Adapter =>
      new Adapter(options, clock, hosts);
    return new Replay(readFileSync(this.#recordPath), build).run();
  }

  close(): void {
    this.#client.close();
    this.process.close();
  }

  async #ask(command: number, body: Uint8Array, fds: readonly number[] = []) {
    const { counters } = this.host.context;
    const before = counters.requests;
    this.#client.client.post(command, body, fds, 0);
    await until(() => counters.requests > before);
    return this.#client.client.receiveReply();
  }
}
