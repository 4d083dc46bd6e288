// SPDX-License-Identifier: Apache-2.0
/**
 * Hostile software: random writes to every BAR, random descriptors, random management commands. The
 * adapter never throws, leaks nothing, and serves the other functions on.
 */
import t, { type Test } from 'tap';
import { ADAPTER_CHANGES_SIZE } from '../../../protocol/layout/gen/adapter-changes.gen.ts';
import { ADDRESS_HANDLE_SIZE } from '../../../protocol/layout/gen/address-handle.gen.ts';
import { BAR_PIO_BYTES, BAR_REGISTERS_BYTES, PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { CQ_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/cq-attributes.gen.ts';
import { DOORBELL_QPN_SHIFT } from '../../../protocol/layout/gen/doorbell.gen.ts';
import { EQ_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/eq-attributes.gen.ts';
import { MAD_REQUEST_SIZE } from '../../../protocol/layout/gen/mad-request.gen.ts';
import { MR_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/mr-attributes.gen.ts';
import { MULTICAST_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/multicast-attributes.gen.ts';
import { PD_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/pd-attributes.gen.ts';
import { PORT_CHANGES_SIZE } from '../../../protocol/layout/gen/port-changes.gen.ts';
import { QP_ATTRIBUTES_SIZE } from '../../../protocol/layout/gen/qp-attributes.gen.ts';
import { QP_CREATION_SIZE } from '../../../protocol/layout/gen/qp-creation.gen.ts';
import { CSR, CSR_DEVICE_CONTROL_ENABLE_MASK, csrRegisters } from '../../../protocol/layout/gen/registers.gen.ts';
import { ManagementOpcode, MrKind, QpState, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import type { Random } from '../../random.ts';
import { seal } from '../../rig/driver/management-channel.ts';
import type { DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { AdapterFixture, type Buffer as Memory, type Pair } from '../../rig/fixtures/adapter-fixture.ts';
import { findLeak } from '../../rig/fixtures/invariants.ts';
import { seedsOf } from '../../rig/fixtures/seeds.ts';

const GRH = 40;

/**
 * A value that hostile software might write: small, all ones, the number of an object, or random.
 */
function nastyDword(random: Random, interesting: readonly number[]): number {
  switch (random.below(6)) {
    case 0:
      return 0;
    case 1:
      return 0xffffffff;
    case 2:
      return (random.pick(interesting) << DOORBELL_QPN_SHIFT) >>> 0;
    case 3:
      return random.below(512);
    default:
      return random.next();
  }
}

/**
 * Makes one random access to a random BAR. `sparing` leaves out registers that stop or reset the
 * function, or move its address handles.
 */
function poke(fixture: AdapterFixture, random: Random, interesting: readonly number[], sparing: boolean): void {
  const { port } = fixture.access;
  const sizeBytes = random.pick([1, 2, 4, 8, 8]);
  const low = nastyDword(random, interesting);
  const high = sizeBytes === 8 ? nastyDword(random, interesting) : 0;
  const kind = random.below(8);
  if (kind === 0) port.writePio(random.below(BAR_PIO_BYTES), sizeBytes, low, high);
  else if (kind === 1) port.readRegister(random.below(BAR_REGISTERS_BYTES), sizeBytes);
  else if (kind <= 4) {
    const register = random.pick(csrRegisters);
    const offset = random.oneIn(4)
      ? random.below(BAR_REGISTERS_BYTES)
      : register.offset + random.below(register.count) * 4;
    if (sparing && offset >= CSR.DEVICE_CONTROL && offset < CSR.MANAGEMENT_COMMANDS) return;
    if (sparing && offset >= CSR.QOS_DIVIDER && offset <= CSR.COLLECT_CONTROL + 4) return;
    port.writeRegister(offset, sizeBytes, low, high);
  } else {
    const page = random.below(random.oneIn(10) ? 200 : 16) * PAGE_BYTES;
    const offset = random.oneIn(3) ? random.pick([0, 0xf00, 0xf40, 0xf80, 0xfc0, 0xff8]) : random.below(0x150);
    port.writeCollect(page + offset - (random.oneIn(8) ? 0 : offset % sizeBytes), sizeBytes, low, high);
  }
}

/**
 * Sends one datagram between `pair`, and returns a sentence when it does not arrive whole. It uses
 * doorbells only, because the fuzz owns the collect pages.
 */
function sendSafely(fixture: AdapterFixture, pair: Pair, buffer: Memory, random: Random): string | undefined {
  const payload = random.bytes(24);
  pair.receiver.postReceive([fixture.sge(buffer)]);
  pair.sender.post(pair.to({ inline: payload }), 'register');
  const sent = pair.sender.parts.sendCq.take();
  const received = pair.receiver.parts.receiveCq.take();
  if (sent.status !== 0 || received.status !== 0) return `statuses ${sent.status} and ${received.status}`;
  return payload.every((byte, index) => buffer.bytes[GRH + index] === byte) ? undefined : 'the payload differs';
}

/** Resets the function, which leaves nothing behind, and works again once it is set up again. */
function checkAfterReset(t: Test, fixture: AdapterFixture, kind: 'device' | 'function', seed: number): void {
  fixture.access.port.reset(kind);
  fixture.settle();
  t.equal(findLeak(fixture.access), undefined, `seed ${seed}`);
  fixture.machine.resume();
  fixture.bringUp();
  fixture.proveItWorks();
  fixture.finish();
}

for (const seed of seedsOf(1, 2).map((number) => 100 + number)) {
  t.test(`50 000 random accesses beside a working pair (seed ${seed})`, async (t) => {
    const fixture = new AdapterFixture({ seed, memoryBytes: 8 * 1024 * 1024 });
    const random = fixture.random.fork();
    const victims = Array.from({ length: 4 }, () => fixture.createQueuePair());
    const pair = fixture.createPair();
    // The fuzz does not draw the numbers of the pair's queues. At worst it rings the pair's
    // doorbells too often.
    const interesting = victims.flatMap(({ qpn, parts }) => [qpn, parts.sendCq.cqn]);
    const buffer = fixture.createBuffer(GRH + 32);
    for (let access = 0; access < 50_000; access++) {
      poke(fixture, random, interesting, true);
      if (access % 16 === 0) fixture.machine.step();
      if (access % 500 !== 0) continue;
      const wrong = sendSafely(fixture, pair, buffer, random);
      if (wrong !== undefined) throw new Error(`${wrong} after ${access} accesses; ${fixture.machine.describe()}`);
    }
    for (let page = 0; page < 64; page++) fixture.access.writeCollect(page * PAGE_BYTES + 0xff8, 8, 0, 0xff000000);
    fixture.settle();
    t.equal(findLeak(fixture.access), undefined, `seed ${seed}`);
    t.equal(fixture.driver.allocator.findOverrun(), undefined, `seed ${seed}`);
  });

  t.test(`100 000 random accesses to everything, resets included (seed ${seed})`, async (t) => {
    const fixture = new AdapterFixture({ seed });
    // Controls of the adapter are hit as well: they may take the share away.
    fixture.steady = false;
    const random = fixture.random.fork();
    const qps = Array.from({ length: 4 }, () => fixture.createQueuePair());
    const interesting = qps.flatMap(({ qpn, parts }) => [qpn, parts.sendCq.cqn]);
    for (let access = 0; access < 100_000; access++) {
      poke(fixture, random, interesting, false);
      if (access % 16 === 0) fixture.machine.step();
      if (random.oneIn(5000)) fixture.access.port.reset(random.pick(['device', 'function', 'lost', 'software']));
      if (random.oneIn(2000)) fixture.access.port.setBusMaster(random.oneIn(4));
      if (random.oneIn(1000)) fixture.access.writeRegister(CSR.DEVICE_CONTROL, 4, CSR_DEVICE_CONTROL_ENABLE_MASK, 0);
    }
    checkAfterReset(t, fixture, 'device', seed);
  });

  t.test(`random commands, entries, handles and records beside a working pair (seed ${seed})`, async (t) => {
    const fixture = new AdapterFixture({ seed, memoryBytes: 64 * 1024 * 1024 });
    const random = fixture.random.fork();
    const pair = fixture.createPair();
    const buffer = fixture.createBuffer(GRH + 32);
    const victim = new Victim(fixture, random);
    for (let round = 0; round < 2500; round++) {
      victim.suffer();
      if (random.oneIn(3)) fixture.settle();
      else fixture.machine.step();
      if (round % 3 !== 0) continue;
      victim.restart();
      const wrong = sendSafely(fixture, pair, buffer, random);
      if (wrong !== undefined) throw new Error(`${wrong} after ${round} rounds; ${fixture.machine.describe()}`);
    }
    victim.restart();
    victim.qp.destroy();
    fixture.finish();
    t.equal(pair.sender.query().state, QpState.RTS, `seed ${seed}`);
  });

  t.test(`random management commands (seed ${seed})`, async (t) => {
    const fixture = new AdapterFixture({ seed });
    const random = fixture.random.fork();
    const opcodes = Object.values(ManagementOpcode);
    const { management } = fixture.driver;
    let answered = 0;
    for (let round = 0; round < 10_000; round++) {
      const opcode = random.pick(opcodes);
      const payload = new Uint8Array(random.oneIn(20) ? random.below(32) * 8 : payloadBytes(opcode));
      // Mostly sparse payloads: dense noise never comes past the first check.
      for (let count = random.below(6); count > 0; count--) {
        const at = random.below(Math.max(payload.length, 1));
        if (at < payload.length) payload[at] = random.pick([0, 1, 3, 6, 9, 12, random.below(256)]);
      }
      const request = {
        opcode,
        objectNumber: random.below(8),
        payload,
        modifier: random.below(4),
        notify: random.below(2),
        eventQueue: random.below(4),
      };
      const bytes = management.build(request);
      if (random.oneIn(10)) bytes[random.below(bytes.length)] = random.below(256);
      if (!random.oneIn(10)) seal(bytes);
      management.write(bytes);
      fixture.machine.step();
      fixture.access.writeCollect(management.pageOffset + 0xff8, 8, 0, 0xff000000);
      fixture.events.walk();
      answered++;
    }
    t.ok(fixture.read(CSR.MANAGEMENT_COMMANDS) > answered / 2, 'most were executed');
    t.ok(
      fixture.read(CSR.MANAGEMENT_COMMANDS) - fixture.read(CSR.MANAGEMENT_REFUSED) > answered / 20,
      'and some accepted',
    );
    checkAfterReset(t, fixture, 'function', seed);
  });
}

/** Payloads whose sizes do not follow from the kind of object. */
const specialPayloads: ReadonlyMap<number, number> = new Map([
  [ManagementOpcode.MODIFY_ADAPTER, ADAPTER_CHANGES_SIZE],
  [ManagementOpcode.MODIFY_PORT, PORT_CHANGES_SIZE],
  [ManagementOpcode.EXECUTE_MAD, MAD_REQUEST_SIZE],
  [ManagementOpcode.ATTACH_MULTICAST, MULTICAST_ATTRIBUTES_SIZE],
  [ManagementOpcode.DETACH_MULTICAST, MULTICAST_ATTRIBUTES_SIZE],
]);

/** Size of the payload a management command takes. */
function payloadBytes(opcode: number): number {
  const special = specialPayloads.get(opcode);
  if (special !== undefined) return special;
  const verb = opcode % 16;
  if (verb > 1) return 0;
  const sizes = [0, PD_ATTRIBUTES_SIZE, MR_ATTRIBUTES_SIZE, CQ_ATTRIBUTES_SIZE, EQ_ATTRIBUTES_SIZE];
  return sizes[opcode >> 4] ?? (verb === 0 ? QP_CREATION_SIZE : QP_ATTRIBUTES_SIZE);
}

/** A queue pair whose software writes nonsense, within a memory region of its own. */
class Victim {
  qp: DriverQueuePair;
  readonly #pd: number;
  readonly #fixture: AdapterFixture;
  readonly #random: Random;
  readonly #lkey: number;
  readonly #handle: number;
  readonly #memory: Memory;

  constructor(fixture: AdapterFixture, random: Random) {
    this.#fixture = fixture;
    this.#random = random;
    this.#memory = fixture.createBuffer(8192);
    const pd = fixture.driver.createProtectionDomain();
    this.#pd = pd;
    const shape = { pd, kind: MrKind.PHYSICAL, access: 1, startAddress: this.#memory.address, length: 8192 };
    this.#lkey = fixture.driver.createMemoryRegion(shape).lkey;
    this.qp = fixture.createQueuePair({ pd });
    this.#handle = fixture.driver.addressHandles.add({ pd, port: 1, dlid: 1 });
  }

  /**
   * Posts a mutated command and a mutated receive entry; sometimes overwrites a record or an
   * address handle.
   */
  suffer(): void {
    const random = this.#random;
    const sges = Array.from({ length: random.below(4) }, () => this.#sge());
    const mutate = (view: DataView): void => {
      for (let count = random.below(4); count > 0; count--)
        view.setUint8(random.below(view.byteLength), random.below(256));
    };
    const addressHandle = random.oneIn(8) ? random.below(70) : this.#handle;
    const request = { remoteQpn: this.qp.qpn, qkey: this.qp.qkey, addressHandle, sges };
    const header = random.oneIn(4) ? { opcode: random.pick(Object.values(SendOpcode)) } : {};
    this.qp.post(
      { ...request, header, ...(random.oneIn(2) ? { alter: mutate } : { damage: mutate }) },
      random.pick(['collect', 'doorbell', 'slot'] as const),
    );
    this.qp.postReceive(sges, random.oneIn(4) ? { sgeCount: random.below(32), sequence: random.below(0x10000) } : {});
    if (random.oneIn(20)) this.#ruin(this.qp.parts.recordAddress, 16);
    if (random.oneIn(20))
      this.#ruin(
        this.#fixture.driver.addressHandles.address + ADDRESS_HANDLE_SIZE * (this.#handle + 1),
        ADDRESS_HANDLE_SIZE,
      );
    if (random.oneIn(20)) this.#ruin(this.qp.parts.sendCq.recordAddress, 8);
    this.qp.parts.sendCq.drain();
    this.#fixture.asynchronous.walk();
  }

  /** Gives up the queue pair and takes a new one: its completion queue may be in error for good. */
  restart(): void {
    this.qp.cancel();
    this.qp.destroy();
    const { cqn } = this.qp.parts.sendCq;
    this.#fixture.driver.management.perform({ opcode: ManagementOpcode.DESTROY_CQ, objectNumber: cqn });
    this.qp = this.#fixture.createQueuePair({ pd: this.#pd });
  }

  #sge() {
    const random = this.#random;
    const sound = !random.oneIn(5);
    const address = sound
      ? this.#memory.address + random.below(8000)
      : random.next() * random.pick([1, 2 ** 10, 2 ** 31]);
    const length = sound ? random.below(192) : random.pick([random.next(), 8192, 0]);
    return { address, length, lkey: random.oneIn(10) ? random.next() : this.#lkey };
  }

  #ruin(address: number, lengthBytes: number): void {
    const view = this.#fixture.access.view(address, lengthBytes);
    for (let count = 4; count > 0; count--) view.setUint8(this.#random.below(lengthBytes), this.#random.below(256));
  }
}
