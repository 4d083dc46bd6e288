// SPDX-License-Identifier: Apache-2.0
/**
 * Quality of service across an embedded switch (docs/FABRIC.md): flooding functions share a slow
 * uplink by the weights of their lanes; a function whose virtual port is full, or whose destination
 * takes nothing, costs the others nothing; and no packet or credit is lost without a counted cause.
 */
import t from 'tap';
import { getLrhSlid, getLrhVirtualLane } from '../../../protocol/infiniband/gen/lrh.gen.ts';
import { MANAGEMENT_VL } from '../../fabric/port/transmit-queues.ts';
import { Driver } from '../../rig/driver/driver.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { findLeak } from '../../rig/fixtures/invariants.ts';
import { awaitPorts, buildManaged, embeddedOptions } from '../../rig/fixtures/managed-adapter.ts';
import { InProcessAccess } from '../../rig/machine/access.ts';
import { InProcessMachine } from '../../rig/machine/machine.ts';
import type { Adapter } from './adapter.ts';

const QKEY = 7;
/** Datagrams of a function that have not completed. */
const OUTSTANDING = 48;

/** A function that posts datagrams to one LID without end, as its send queue has room. */
class Flooder {
  posted = 0;
  completed = 0;
  readonly #qps: DriverQueuePair[];
  readonly #send: (qp: DriverQueuePair) => void;

  constructor(machine: InProcessMachine, index: number, dlid: number, length: number, serviceLevel = 0) {
    const driver = new Driver(new InProcessAccess(machine, index)).bringUp();
    const pd = driver.createProtectionDomain();
    const region = driver.createDmaRegion(pd, 1);
    const { address } = driver.createBuffer(length);
    const addressHandle = driver.addressHandles.add({ port: 1, dlid, pd, serviceLevel });
    this.#qps = [0, 1].map(() => {
      const sendCq = driver.createCompletionQueue({ entriesLog2: 8 });
      const qp = driver.createQueuePair({ pd, sendCq, sendEntriesLog2: 5 });
      qp.start({ qkey: QKEY });
      return qp;
    });
    this.#send = (qp) =>
      qp.post({
        remoteQpn: 99,
        qkey: QKEY,
        addressHandle,
        sges: [{ address, length, lkey: region.lkey }],
        signaled: true,
      });
  }

  /** Takes completions, and posts what the send queues have room for. */
  play(isPosting = true): void {
    for (const qp of this.#qps) {
      this.completed += qp.parts.sendCq.drain().length;
    }
    while (isPosting && this.posted - this.completed < OUTSTANDING) this.#send(this.#qps[this.posted++ & 1]);
  }
}

/** Bytes that left by the uplink, by SLID. */
function watchUplink({ inner: [relay] }: Adapter): Map<number, number> {
  const bytes = new Map<number, number>();
  relay.ports[0].observer = (_end, outgoing, packet, offset, lengthBytes) => {
    const view = new DataView(packet.buffer, packet.byteOffset);
    if (!outgoing || getLrhVirtualLane(view, offset) === MANAGEMENT_VL) return;
    const slid = getLrhSlid(view, offset);
    bytes.set(slid, (bytes.get(slid) ?? 0) + lengthBytes);
  };
  return bytes;
}

/** Functions 0, 1 and so on flood the uplink; `weights` are those of their lanes. */
class Flood {
  readonly machine: InProcessMachine;
  readonly flooders: Flooder[];
  readonly bytes: Map<number, number>;

  /** `levels`: service level of each function. */
  constructor(seed: number, weights: readonly number[], lengths: readonly number[], levels: readonly number[] = []) {
    const portLink = { kind: 'faulty', seed, delayNs: 500, bitsPerSecond: 2e9 } as const;
    const adapter = { ...embeddedOptions(weights.length), virtualLanes: 2, portLink };
    this.machine = new InProcessMachine({ seed, adapter, build: buildManaged });
    awaitPorts(this.machine);
    const { device } = this.machine;
    const { lanes } = device;
    for (const { number } of lanes.lanes) {
      const owner = lanes.map.getOwner(number);
      if (owner >= 0) lanes.setLane(number, { weight: weights[owner] });
    }
    mapLevels(device);
    // Port 2 of function 0 is behind the other embedded switch.
    const dlid = device.ports[1].lid;
    this.flooders = weights.map((_, index) => new Flooder(this.machine, index, dlid, lengths[index], levels[index]));
    this.bytes = watchUplink(device);
  }

  /** Bytes of each function at the uplink in the next `timeNs`. */
  run(timeNs: number, flooders: readonly Flooder[] = this.flooders): number[] {
    const { machine } = this;
    const endNs = machine.clock.now() + timeNs;
    this.bytes.clear();
    while (machine.clock.now() < endNs) {
      for (const flooder of flooders) flooder.play();
      if (!machine.step()) machine.clock.jumpToAlarm();
    }
    return machine.device.functions.map(({ ports: [{ lid }] }) => this.bytes.get(lid) ?? 0);
  }

  /** Lets all datagrams end at the receiver, which has no such queue pair. */
  end(): number {
    const { machine } = this;
    for (const flooder of this.flooders) flooder.play(false);
    const posted = this.flooders.reduce((sum, one) => sum + one.posted, 0);
    machine.runUntil(
      () => machine.device.engine.receiver.unknownQueuePair === posted,
      `the arrival of ${posted} datagrams`,
    );
    for (const flooder of this.flooders) flooder.play(false);
    return posted;
  }
}

/** Service level 1 goes by VL 1, here and in the switches. */
function mapLevels({ ports, inner }: Adapter): void {
  for (const port of ports) port.transmitQueues.mapServiceLevel(1, 1);
  for (const { switchTables, ports: external } of inner)
    for (let from = 0; from <= external.length; from++)
      for (let to = 0; to <= external.length; to++) switchTables.setVirtualLane(from, to, 1, 1);
}

for (const [seed, weights, lengths] of [
  [1, [1, 1, 1], [64, 64, 64]],
  [2, [1, 2, 4], [1024, 1024, 1024]],
  [3, [1, 3, 1], [2048, 64, 600]],
  [4, [5, 1, 2], [64, 2048, 256]],
] as const)
  t.test(`functions share the uplink by weights ${weights} with datagrams of ${lengths} bytes`, async (t) => {
    const flood = new Flood(seed, weights, lengths);
    flood.run(300_000);
    const bytes = flood.run(3_000_000);
    const total = bytes.reduce((sum, one) => sum + one, 0);
    const whole = weights.reduce<number>((sum, one) => sum + one, 0);
    weights.forEach((weight, index) => {
      const share = (bytes[index] / total) * (whole / weight);
      t.ok(Math.abs(share - 1) < 0.05, `function ${index}: ${share.toFixed(3)} of its share`);
    });
    t.ok(total * 8 > 2e9 * 3e-3 * 0.9, `the uplink was busy: ${total} bytes`);
    flood.end();
    const { device } = flood.machine;
    const [near, far] = device.inner.map(({ ports: [uplink] }) => uplink);
    t.equal(far.receivePackets, near.transmitPackets, 'nothing is lost on the way');
    for (const { posted, completed } of flood.flooders) t.equal(completed, posted, 'every command completes');
    for (const { ports } of device.inner) for (const { drops } of ports) t.ok(drops.every((count) => count === 0));
    for (let index = 0; index < weights.length; index++)
      t.equal(findLeak(new InProcessAccess(flood.machine, index)), undefined, 'no credit or buffer is lost');
  });

t.test('a function whose destination takes nothing leaves the uplink to the others', async (t) => {
  const flood = new Flood(9, [1, 2, 1], [512, 512, 512], [0, 0, 1]);
  const { machine, flooders } = flood;
  const { device } = machine;
  const [, , stuck] = flooders;
  flood.run(300_000, flooders.slice(0, 2));
  const alone = flood.run(1_000_000, flooders.slice(0, 2));
  // Port 2 of function 0 takes nothing from VL 1 any more: its switch has no credits for it.
  const [, far] = device.inner;
  const gone = far.ports[1].queues[1];
  gone.admits = () => false;
  flood.run(300_000);
  const beside = flood.run(1_000_000);
  for (const index of [0, 1]) {
    const part = beside[index] / alone[index];
    t.ok(Math.abs(part - 1) < 0.02, `function ${index} has ${part.toFixed(3)} of what it had alone`);
  }
  t.equal(beside[2], 0, 'the stuck one sends nothing');
  t.ok(stuck.posted > stuck.completed, 'its commands wait');
  t.ok(device.ports[4].congested, 'at its own port');
  // The destination takes packets again: all of them arrive.
  Reflect.deleteProperty(gone, 'admits');
  const posted = flood.end();
  const drops = device.inner.flatMap(({ ports }) => ports.map((port) => port.drops.reduce((sum, one) => sum + one, 0)));
  t.same(new Set(drops), new Set([0]), 'no packet was dropped');
  t.equal(device.engine.receiver.unknownQueuePair, posted);
  for (let index = 0; index < 3; index++) t.equal(findLeak(new InProcessAccess(machine, index)), undefined);
});
