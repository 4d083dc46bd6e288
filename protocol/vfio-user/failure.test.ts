// SPDX-License-Identifier: Apache-2.0
/**
 * An exception anywhere beneath a pump ends the pump: each client gets an answer to all that it has
 * sent, ones for reads, then its connection ends; the sockets are removed, and the owner is told
 * once. A fault is planted in every callback of a device, in its BARs, in hooks and in the log.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import type { VfioUserClient } from './client/client.ts';
import { COMMAND, encodeSetIrqs, IRQ_FLAG, pack } from './client/wire.ts';
import { loadLibrary, msix, Pump, pciExpress, powerManagement, VfioUserContext } from './index.ts';
import type { LogTarget } from './log.ts';
import { libraryPath } from './test-support/library.ts';
import { PostingClient, until } from './test-support/posting-client.ts';

const library = loadLibrary(libraryPath());
const IDENTITY = 0x6865_6c6f;
const ONES = 0xffff_ffff;
const CONFIG_REGION = 7;
const MSIX_INDEX = 2;
const COMMAND_REGISTER = 4;
const READS = 5;

/** Two functions on one pump; `plant` names the place that throws. */
class Setting {
  readonly directory = mkdtempSync(join(tmpdir(), 'vfu-'));
  readonly paths = [0, 1].map((index) => join(this.directory, `${index}.sock`));
  readonly failures: [where: string, message: string][] = [];
  readonly lines: string[] = [];
  readonly pump: Pump;
  readonly contexts: readonly VfioUserContext[];
  /** Places that device and hooks have reached, in order. */
  readonly reached: string[] = [];
  plant = '';
  /** Work of the next pass, before it throws. */
  inPass: () => void = () => {};
  /** Work of each read. */
  onRead: () => void = () => {};
  readonly #clients: PostingClient[] = [];

  constructor(t: Test, hotUs: number) {
    this.pump = new Pump({
      hotUs,
      spinUs: 0,
      onFailure: (where, error) => this.failures.push([where, (error as Error).message]),
    });
    this.contexts = this.paths.map((path) => this.#serve(path));
    for (const context of this.contexts) this.pump.add(context);
    this.pump.onPass({
      pass: () => {
        this.inPass();
        this.reach('pass');
        return false;
      },
      nextAlarmNs: () => {
        this.reach('alarm');
        return Number.POSITIVE_INFINITY;
      },
    });
    this.pump.start();
    t.teardown(() => {
      this.pump.destroy();
      for (const client of this.#clients) client.close();
      rmSync(this.directory, { recursive: true, force: true });
    });
  }

  /** A client of a function; attached, unless a failure comes before. */
  async connect(index: number): Promise<PostingClient> {
    const context = this.contexts[index];
    const client = new PostingClient(context);
    this.#clients.push(client);
    await client.attach(context, () => this.failures.length > 0);
    return client;
  }

  reach(place: string): void {
    this.reached.push(place);
    if (place !== this.plant) return;
    throw new Error(`planted in ${place}`);
  }

  #serve(socketPath: string): VfioUserContext {
    const write = (_fields: object, line: string): void => {
      this.reach('log');
      this.lines.push(line);
    };
    const log: LogTarget = { level: 'info', debug: write, info: write, warn: write, error: write };
    return new VfioUserContext(library, {
      socketPath,
      ids: { vendor: 1, device: 2, subsystemVendor: 3, subsystem: 4, revision: 5, classCode: 0x020700 },
      bars: [
        {
          index: 0,
          sizeBytes: 65536,
          wide: true,
          handler: {
            read: (_offset, _size, data) => {
              this.reach('read');
              this.onRead();
              data.setUint32(0, IDENTITY, true);
            },
            write: () => this.reach('write'),
          },
        },
      ],
      capabilities: [
        powerManagement(),
        pciExpress({ functionLevelReset: true }),
        msix({ vectors: 4, tableBar: 0, tableOffset: 0x8000, pbaBar: 0, pbaOffset: 0x9000 }),
      ],
      callbacks: {
        reset: (kind) => this.reach(`reset ${kind}`),
        busMaster: () => this.reach('busMaster'),
        msix: () => this.reach('msix'),
        vectors: () => this.reach('vectors'),
        dmaRegister: () => this.reach('dmaRegister'),
        dmaUnregister: () => this.reach('dmaUnregister'),
        configWritten: () => this.reach('configWritten'),
        quiesce: () => {
          this.reach('quiesce');
          return true;
        },
        attached: () => this.reach('attached'),
        detached: () => this.reach('detached'),
        failed: (where, error) => this.pump.fail(where, error),
      },
      log,
    });
  }
}

/** Config space of a client that may not wait; found before the fault is planted. */
async function findCapability(setting: Setting, client: VfioUserClient, id: number): Promise<number> {
  const requests = setting.contexts[0].counters.requests;
  client.post(COMMAND.regionRead, pack('qww', 0, CONFIG_REGION, 256), [], 0);
  await until(() => setting.contexts[0].counters.requests > requests);
  const config = client.receiveReply().body.subarray(16);
  let at = config[0x34];
  while (config[at] !== id) at = config[at + 1];
  return at;
}

type Trigger = (client: VfioUserClient, setting: Setting) => void | Promise<void>;
const writeConfig =
  (offset: number, value: number): Trigger =>
  (client) =>
    void client.post(COMMAND.regionWrite, pack('qwwh', offset, CONFIG_REGION, 2, value), [], 0);
const mapMemory: Trigger = (client) =>
  void client.post(COMMAND.dmaMap, pack('wwqqq', 32, 3, 0, 0x10000, 0x10000), [], 0);

/** The places that can throw, and the actions of a client that reach them. */
const places: Record<string, Trigger> = {
  read: (client) => void client.post(COMMAND.regionRead, pack('qww', 0, 0, 4), [], 0),
  write: (client) => client.postWrite(0, 0, new Uint8Array(4)),
  busMaster: writeConfig(COMMAND_REGISTER, 6),
  configWritten: writeConfig(COMMAND_REGISTER, 2),
  msix: async (client, setting) => {
    const { plant } = setting;
    setting.plant = '';
    const at = await findCapability(setting, client, 0x11);
    setting.plant = plant;
    writeConfig(at + 2, 0x8000)(client, setting);
  },
  'reset function-level': async (client, setting) => {
    const { plant } = setting;
    setting.plant = '';
    const at = await findCapability(setting, client, 0x10);
    setting.plant = plant;
    writeConfig(at + 8, 0x8000)(client, setting);
  },
  'reset device': (client) => void client.post(COMMAND.reset, new Uint8Array(0), [], 0),
  quiesce: (client) => void client.post(COMMAND.reset, new Uint8Array(0), [], 0),
  vectors: (client) => {
    const flags = IRQ_FLAG.eventfd | IRQ_FLAG.trigger;
    client.post(COMMAND.setIrqs, encodeSetIrqs({ index: MSIX_INDEX, start: 0, count: 1, flags }), [], 0);
  },
  dmaRegister: mapMemory,
  dmaUnregister: (client, setting) => {
    void mapMemory(client, setting);
    client.post(COMMAND.dmaUnmap, pack('wwqq', 24, 0, 0x10000, 0x10000), [], 0);
  },
  pass: (_client, { pump }) => pump.wake(),
  alarm: (_client, { pump }) => pump.wake(),
};

for (const [name, hotUs] of [
  ['hot', 1e6],
  ['cold', 0],
] as const)
  for (const [place, trigger] of Object.entries(places))
    t.test(`${place} throws in a ${name} pump`, async (t) => {
      const setting = new Setting(t, hotUs);
      const [client, other] = [await setting.connect(0), await setting.connect(1)];
      setting.plant = place;
      // The pass serves no client, so requests are in progress when it throws.
      setting.inPass = () => {
        if (place === 'pass') for (const one of [client, other]) one.postReads(READS);
      };
      await trigger(client.client, setting);
      if (place !== 'pass') for (const one of [client, other]) one.postReads(READS);
      await until(() => setting.failures.length > 0);
      t.equal(setting.failures.length, 1);
      t.equal(setting.failures[0][1], `planted in ${place}`);
      t.same(setting.paths.filter(existsSync), [], 'the sockets are removed');
      const mine = client.takeReads();
      const others = other.takeReads();
      t.equal(mine.length, READS + (place === 'read' ? 1 : 0), 'each read is answered');
      t.equal(others.length, READS, 'that of the other function too');
      if (place === 'alarm') t.ok([...mine, ...others].every((value) => value === ONES || value === IDENTITY));
      else t.ok(mine.every((value) => value === ONES));
      if (place === 'pass') t.ok(others.every((value) => value === ONES));
      const reached = setting.reached.length;
      setting.pump.wake();
      setting.pump.fail('later', new Error('later'));
      await new Promise((done) => setImmediate(done));
      t.equal(setting.reached.length, reached, 'nothing of the device is called any more');
      t.notOk(setting.reached.includes('detached'), 'nor was it when its client was disconnected');
      t.equal(setting.failures.length, 1, 'only the first failure counts');
      t.throws(() => setting.pump.start(), /destroyed/);
    });

t.test('the arrival and the departure of a client throw', async (t) => {
  for (const place of ['attached', 'detached', 'reset lost-connection', 'log']) {
    const setting = new Setting(t, 1e6);
    const other = await setting.connect(1);
    const leaves = place === 'detached' || place === 'reset lost-connection';
    if (!leaves) setting.plant = place;
    const client = await setting.connect(0);
    if (leaves) {
      setting.plant = place;
      client.close();
    }
    await until(() => setting.failures.length > 0);
    t.match(setting.failures, [[/./, `planted in ${place}`]]);
    t.same(setting.paths.filter(existsSync), [], 'the sockets are removed');
    t.throws(() => other.postReads(1), /EPIPE/, 'a request that nobody will answer is refused');
  }
});

t.test('a device that is destroyed answers what its client has sent', async (t) => {
  const setting = new Setting(t, 1e6);
  const client = await setting.connect(0);
  setting.inPass = () => {
    client.postReads(READS);
    setting.onRead = () => t.throws(() => client.postReads(READS), /EPIPE/, 'it can send nothing more');
    setting.pump.destroy();
  };
  setting.pump.wake();
  await until(() => !existsSync(setting.paths[0]));
  t.same(client.takeReads(), Array(READS).fill(IDENTITY));
  t.equal(setting.reached.filter((place) => place === 'detached').length, 1);
  t.ok(setting.reached.includes('reset lost-connection'));
  t.same(setting.failures, []);
});

t.test('without an owner the error is an uncaught exception', async (t) => {
  const pump = new Pump();
  const uncaught = new Promise<Error>((resolve) => process.setUncaughtExceptionCaptureCallback(resolve));
  t.teardown(() => process.setUncaughtExceptionCaptureCallback(null));
  pump.onPass({
    pass: () => {
      throw new Error('planted');
    },
    nextAlarmNs: () => Number.POSITIVE_INFINITY,
  });
  pump.start();
  t.equal((await uncaught).message, 'planted');
});
