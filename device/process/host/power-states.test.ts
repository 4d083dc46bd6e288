// SPDX-License-Identifier: Apache-2.0
/**
 * Power states of a function of each personality, as a client of its socket sets them: in D3hot it
 * answers accesses of configuration space only, and sends nothing (PCI Express Base Specification
 * 5.3.1.4.1). Its state is kept, and a recording of it replays.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { CSR, CSR_DEVICE_CONTROL_ENABLE_MASK } from '../../../protocol/layout/gen/registers.gen.ts';
import { CONFIG_REGION } from '../../../protocol/vfio-user/client/client.ts';
import { COMMAND, pack } from '../../../protocol/vfio-user/client/wire.ts';
import type { LogTarget } from '../../../protocol/vfio-user/index.ts';
import { libraryPath } from '../../../protocol/vfio-user/test-support/library.ts';
import { PostingClient, until } from '../../../protocol/vfio-user/test-support/posting-client.ts';
import { Adapter } from '../../hca/adapter/adapter.ts';
import { defaultAdapterOptions } from '../../hca/adapter/options.ts';
import type { UnderlyingFunction } from '../../hca/function/underlying-function.ts';
import { Replay } from '../../hosts/replay.ts';
import { defaultMthcaOptions } from '../../personality/mthca/options.ts';
import type { AdapterNode } from '../../topology/fabric-plan.ts';
import { reportProcess } from '../reports/status-report.ts';
import { AdapterProcess } from './adapter-process.ts';
import { loneNode } from './topology.ts';
import type { VfioUserHost } from './vfio-user-host.ts';

const ONES = 0xffff_ffff;
const REGISTER_BAR = 0;
const COLLECT_BAR = 2;
const PCI_COMMAND = 4;
const MEMORY_AND_BUS_MASTER = 6;
/** PMCSR: the capability of power management comes first. */
const POWER_CONTROL = 0x44;
const D0 = 0;
const D3HOT = 3;
const VECTOR = 0;

const silent: LogTarget = { level: 'error', debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

const nodes: Record<string, AdapterNode> = {
  vuhca: { name: 'a', options: defaultAdapterOptions },
  mthca: { name: 'a', personality: 'mthca', options: { ...defaultMthcaOptions, portLids: [5, 6] } },
};

/** A process with one function, and a client in the same thread. */
class Fixture {
  readonly recordPath: string;
  readonly process: AdapterProcess;
  readonly host: VfioUserHost;
  readonly underlying: UnderlyingFunction;
  readonly #client: PostingClient;

  static async start(t: Test, node: AdapterNode): Promise<Fixture> {
    const directory = mkdtempSync(join(tmpdir(), 'vuhca-power-'));
    t.teardown(() => rmSync(directory, { recursive: true, force: true }));
    const fixture = new Fixture(directory, node);
    t.teardown(() => fixture.close());
    await fixture.process.start();
    await fixture.#client.attach(fixture.host.context, () => false);
    return fixture;
  }

  private constructor(directory: string, node: AdapterNode) {
    this.recordPath = join(directory, 'rec');
    const topology = loneNode(join(directory, 'a'), node, [], 'cable');
    this.process = new AdapterProcess({
      libraryPath: libraryPath(),
      topology,
      log: silent,
      recordPath: this.recordPath,
    });
    const [served] = this.process.served;
    [this.host] = served.hosts;
    this.underlying = 'underlying' in served.core ? served.core.underlying : served.core.functions[0].underlying;
    this.#client = new PostingClient(this.host.context);
  }

  async read(bar: number, offset: number): Promise<number> {
    const { body } = await this.#ask(COMMAND.regionRead, pack('qww', offset, bar, 4));
    return new DataView(body.buffer, body.byteOffset).getUint32(16, true);
  }

  write(bar: number, offset: number, value: number): Promise<unknown> {
    return this.#ask(COMMAND.regionWrite, pack('qwww', offset, bar, 4, value));
  }

  /**
   * Whether a pass has tried to send a vector that was requested: no client has given an eventfd.
   */
  async triesToInterrupt(): Promise<boolean> {
    const { counters } = this.host.context.interrupts;
    const before = counters.undeliverable;
    this.underlying.msix.request(VECTOR);
    this.process.pump.wake();
    // The answer comes after a pass.
    for (let turn = 0; turn < 2; turn++) await this.read(CONFIG_REGION, 0);
    return counters.undeliverable > before;
  }

  close(): void {
    this.#client.close();
    this.process.close();
  }

  async #ask(command: number, body: Uint8Array) {
    const { counters } = this.host.context;
    const before = counters.requests;
    this.#client.client.post(command, body, [], 0);
    await until(() => counters.requests > before);
    return this.#client.client.receiveReply();
  }
}

for (const [name, node] of Object.entries(nodes))
  t.test(`hazard 55: D3hot of ${name}, and back to D0`, async (t) => {
    const fixture = await Fixture.start(t, node);
    const { underlying, host } = fixture;
    await fixture.write(CONFIG_REGION, PCI_COMMAND, MEMORY_AND_BUS_MASTER);
    const first = await fixture.read(REGISTER_BAR, 0);
    t.ok(underlying.dma.busMaster);
    t.ok(await fixture.triesToInterrupt());

    await fixture.write(CONFIG_REGION, POWER_CONTROL, D3HOT);
    const accesses = { ...host.counters };
    for (const bar of [REGISTER_BAR, COLLECT_BAR]) {
      t.equal(await fixture.read(bar, 0), ONES, `BAR${bar} answers with ones`);
      await fixture.write(bar, 0, 1);
    }
    t.same(host.counters, accesses, 'no access reaches the adapter');
    t.notOk(underlying.dma.busMaster, 'no DMA');
    t.notOk(await fixture.triesToInterrupt(), 'no interrupt');
    t.equal(await fixture.read(CONFIG_REGION, PCI_COMMAND), 0x0010_0006, 'configuration space answers');
    t.equal(socketOf(fixture).inD0, false, 'vuhca status shows it');

    await fixture.write(CONFIG_REGION, POWER_CONTROL, D0);
    t.equal(await fixture.read(REGISTER_BAR, 0), first);
    t.ok(underlying.dma.busMaster, 'DMA again, without a write of the command register');
    t.ok(await fixture.triesToInterrupt(), 'interrupts again');
    t.equal(underlying.resetCount, 0, 'the state is kept');
    t.equal(socketOf(fixture).inD0, true);
  });

t.test('a recording of it replays', async (t) => {
  const fixture = await Fixture.start(t, nodes.vuhca);
  await fixture.write(CONFIG_REGION, PCI_COMMAND, MEMORY_AND_BUS_MASTER);
  for (const state of [D3HOT, D0]) {
    await fixture.write(CONFIG_REGION, POWER_CONTROL, state);
    await fixture.write(REGISTER_BAR, CSR.DEVICE_CONTROL, CSR_DEVICE_CONTROL_ENABLE_MASK);
    t.equal(fixture.underlying.enabled, state === D0);
    await fixture.read(REGISTER_BAR, CSR.DEVICE_STATUS);
  }
  fixture.close();
  const replay = new Replay(
    readFileSync(fixture.recordPath),
    (options, clock, hosts) => new Adapter(options, clock, hosts),
  );
  t.match(replay.run(), { truncated: false, divergence: undefined });
});

function socketOf({ process }: Fixture) {
  const { adapters, mthca } = reportProcess(process, 1);
  return [...adapters, ...mthca][0].sockets[0];
}
