// SPDX-License-Identifier: Apache-2.0
/**
 * The bus model `pcie` over a real socket (US 9,069,485 par. 67, 74, 84; docs/DOCUMENTS.md decision
 * 31): what a client sends behind a doorbell that blocks the bus waits, also when all of it came in
 * one receive; nothing is dropped or held, order is kept, and the other function goes on.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { BAR_COLLECT, BAR_PIO, BAR_REGISTERS } from '../../../protocol/layout/gen/constants.gen.ts';
import { CSR, CSR_ADAPTER_CONTROL_DISABLE_MASK } from '../../../protocol/layout/gen/registers.gen.ts';
import type { VfioUserClient } from '../../../protocol/vfio-user/client/client.ts';
import { SharedMemory } from '../../../protocol/vfio-user/client/unix-socket.ts';
import { COMMAND, concat, encodeMessage, FLAG, pack } from '../../../protocol/vfio-user/client/wire.ts';
import type { LogTarget } from '../../../protocol/vfio-user/index.ts';
import { libraryPath } from '../../../protocol/vfio-user/test-support/library.ts';
import { PostingClient, until } from '../../../protocol/vfio-user/test-support/posting-client.ts';
import { defaultAdapterOptions } from '../../hca/adapter/options.ts';
import { Random } from '../../random.ts';
import { Driver } from '../../rig/driver/driver.ts';
import type { HardwareAccess } from '../../rig/driver/hardware-access.ts';
import { NOP } from '../../rig/fixtures/command-poster.ts';
import { AdapterProcess } from './adapter-process.ts';
import { BLOCKED_MAX_MS } from './bus-patience.ts';
import { loneAdapter } from './topology.ts';

/** Doorbells that the bus of a function holds. */
const BUS_DOORBELLS = 8;
const MEMORY_BYTES = 4 << 20;
const MEMORY_ADDRESS = 0x1_0000_0000;
const FLOODED = 1;

/** A guest's accesses: made at once, or kept for one send of a client. */
class Accesses {
  readonly messages: Uint8Array[] = [];
  keeps = false;

  keep(bar: number, offset: number, sizeBytes: number, low: number, high: number): boolean {
    const bytes = pack('ww', low, high).subarray(0, sizeBytes);
    const body = concat(pack('qww', offset, bar, sizeBytes), bytes);
    if (this.keeps) this.messages.push(encodeMessage(0, COMMAND.regionWrite, body, FLAG.noReply));
    return this.keeps;
  }

  keepRead(offset: number): void {
    this.messages.push(encodeMessage(0, COMMAND.regionRead, pack('qww', offset, BAR_REGISTERS, 4), 0));
  }
}

/** Two functions; the client and driver of the second one, whose bus holds few doorbells. */
async function start(t: Test) {
  const directory = mkdtempSync(join(tmpdir(), 'vuhca-bus-'));
  const warnings: string[] = [];
  const warn = (_fields: object, message: string): void => void warnings.push(message);
  const log: LogTarget = { level: 'warn', debug: () => {}, info: () => {}, warn, error: warn };
  const options = { ...defaultAdapterOptions, functionCount: 2, bus: 'pcie' as const, doorbellEntries: 8, busDepth: 1 };
  const process = new AdapterProcess({
    libraryPath: libraryPath(),
    topology: loneAdapter(join(directory, 'a'), options),
    log,
  });
  await process.start();
  const [{ hosts, functions, core }] = process.adapters;
  const clients = hosts.map(({ context }) => new PostingClient(context));
  t.teardown(() => {
    process.close();
    for (const client of clients) client.close();
    rmSync(directory, { recursive: true });
  });
  for (const [index, client] of clients.entries()) await client.attach(hosts[index].context, () => false);
  const memory = new SharedMemory(MEMORY_BYTES);
  const bytes = memory.map();
  const map = pack('wwqqq', 32, 3, 0, MEMORY_ADDRESS, MEMORY_BYTES);
  clients[FLOODED].client.post(COMMAND.dmaMap, map, [memory.fd], 0);
  memory.close();
  await until(() => hosts[FLOODED].context.memory.regions.length > 0);
  clients[FLOODED].client.receiveReply();
  const accesses = new Accesses();
  const driver = new Driver(accessOf(process, bytes, accesses)).bringUp();
  const cq = driver.createCompletionQueue({ eventQueue: driver.createEventQueue(), entriesLog2: 7 });
  const pd = driver.createProtectionDomain();
  const qps = Array.from({ length: 3 * BUS_DOORBELLS }, () =>
    driver.createQueuePair({ pd, sendCq: cq, sendEntriesLog2: 3, receiveEntriesLog2: 1 }).start({ port: 1 }),
  );
  const enable = (on: boolean): void =>
    functions[0].writeRegister(CSR.ADAPTER_CONTROL, 4, on ? 0 : CSR_ADAPTER_CONTROL_DISABLE_MASK, 0);
  const { doorbells } = core.functions[FLOODED];
  return { process, warnings, hosts, clients, accesses, cq, qps, enable, doorbells, port: functions[FLOODED] };
}

/** The driver's calls on the function, beside the socket; `accesses` may keep writes. */
function accessOf({ adapters: [{ core, functions }] }: AdapterProcess, memory: ArrayBuffer, accesses: Accesses) {
  const port = functions[FLOODED];
  port.setBusMaster(true);
  const access: HardwareAccess = {
    readRegister: (offset, sizeBytes) => port.readRegister(offset, sizeBytes),
    get readHigh() {
      return port.readHigh;
    },
    writeRegister: (...write) => void (accesses.keep(BAR_REGISTERS, ...write) || port.writeRegister(...write)),
    writeCollect: (...write) => void (accesses.keep(BAR_COLLECT, ...write) || port.writeCollect(...write)),
    writePio: (...write) => void (accesses.keep(BAR_PIO, ...write) || port.writePio(...write)),
    memoryAddress: MEMORY_ADDRESS,
    memoryBytes: MEMORY_BYTES,
    view: (address, lengthBytes) => new DataView(memory, address - MEMORY_ADDRESS, lengthBytes),
    waitFor: (condition) => {
      while (!condition()) core.run(256);
    },
    settle: () => {
      while (core.run(256));
    },
  };
  return access;
}

type Fixture = Awaited<ReturnType<typeof start>>;

/** Sends doorbells that fill the bus of a disabled adapter, then reads and writes behind them. */
function sendBatch({ clients, accesses, qps }: Fixture, seed: number): number[] {
  const random = new Random(seed);
  const order = [...qps];
  random.shuffle(order);
  const marks: number[] = [];
  accesses.keeps = true;
  for (const [index, qp] of order.entries()) {
    qp.post(NOP, random.pick(['register', 'doorbell'] as const));
    if (index + 1 < BUS_DOORBELLS || random.oneIn(2)) continue;
    marks.push(seed * 1000 + index);
    accesses.keep(BAR_REGISTERS, CSR.SCRATCH, 4, seed * 1000 + index, 0);
    accesses.keepRead(CSR.SCRATCH);
  }
  accesses.keepRead(CSR.DOORBELLS_LOST);
  accesses.keeps = false;
  clients[FLOODED].client.socket.send(concat(...accesses.messages.splice(0)));
  return [...marks, 0];
}

/** The function was asked often if it takes an access, and the other one answered meanwhile. */
async function letPass({ process, clients, hosts }: Fixture): Promise<void> {
  const { passes } = process.pump.counters;
  const { registerReads } = hosts[0].counters;
  clients[0].postReads(3);
  await until(
    () => process.pump.counters.passes > passes + 20 && hosts[0].counters.registerReads === registerReads + 3,
  );
}

function readValue(client: VfioUserClient): number {
  const { body } = client.receiveReply();
  return new DataView(body.buffer, body.byteOffset).getUint32(16, true);
}

t.test('a read behind a doorbell that blocks is answered when the doorbell is taken', async (t) => {
  const fixture = await start(t);
  const { clients, hosts, enable, doorbells, port, cq, qps } = fixture;
  const { counters } = hosts[FLOODED];
  for (let seed = 1; seed <= 3; seed++) {
    const { registerReads } = counters;
    enable(false);
    const values = sendBatch(fixture, seed);
    await until(() => !port.takesAccess);
    await letPass(fixture);
    t.same([counters.registerReads, doorbells.inbound.posted], [registerReads, BUS_DOORBELLS], `seed ${seed}`);
    enable(true);
    fixture.process.pump.wake();
    await until(() => counters.registerReads === registerReads + values.length);
    const answers = values.map(() => readValue(clients[FLOODED].client));
    t.same(answers, values, `seed ${seed}: each read is behind its write, and no doorbell is lost`);
    await until(() => doorbells.owner.counters.commandsFetched === seed * qps.length);
    t.equal(cq.drain().length, qps.length, `seed ${seed}: every command executes`);
    t.equal(doorbells.held.total, 0, `seed ${seed}: nothing was taken from the socket too early`);
  }
  t.same([hosts[FLOODED].blockedTooLong, fixture.warnings.length], [0, 0]);
});

t.test('accesses pass a bus that stays blocked, in order, and the log says so once', async (t) => {
  const fixture = await start(t);
  const { clients, hosts, enable, doorbells, port, cq, qps, warnings } = fixture;
  let leapMs = 0;
  const { now } = performance;
  performance.now = () => now.call(performance) + leapMs;
  t.teardown(() => {
    performance.now = now;
  });
  enable(false);
  const values = sendBatch(fixture, 4);
  await until(() => !port.takesAccess);
  await letPass(fixture);
  t.same([hosts[FLOODED].counters.registerReads, warnings.length], [0, 0]);
  leapMs += BLOCKED_MAX_MS;
  await until(() => hosts[FLOODED].counters.registerReads === values.length);
  const { client } = clients[FLOODED];
  const answers = values.map(() => readValue(client));
  t.same(answers, values, 'each read is behind its write, and no doorbell is lost');
  t.equal(hosts[FLOODED].blockedTooLong, 1);
  t.match(warnings, [/blocked the bus for 2000 ms/]);
  t.equal(doorbells.held.count, qps.length - BUS_DOORBELLS, 'doorbells wait behind the one that blocks');
  enable(true);
  fixture.process.pump.wake();
  await until(() => doorbells.owner.counters.commandsFetched === qps.length);
  t.equal(cq.drain().length, qps.length);
});
