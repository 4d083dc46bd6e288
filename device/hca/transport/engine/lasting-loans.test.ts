// SPDX-License-Identifier: Apache-2.0
/**
 * Payload on loan (docs/ARCHITECTURE.md, Decisions) outlives the run of its adapter and crosses
 * switches without a copy, until a host calls the function or software may use the memory for
 * something else.
 */
import t from 'tap';
import { newParsedPacket, PacketCheck, PacketError, parsePacket } from '../../../../protocol/infiniband/packet.ts';
import { CSR } from '../../../../protocol/layout/gen/registers.gen.ts';
import { CompletionStatus, ManagementOpcode, SendOpcode } from '../../../../protocol/layout/gen/values.gen.ts';
import { Cable } from '../../../fabric/link/cable.ts';
import { FaultyLink } from '../../../fabric/link/faulty-link.ts';
import { Random } from '../../../random.ts';
import type { DriverQueuePair } from '../../../rig/driver/queue-pair.ts';
import type { SendRequest } from '../../../rig/driver/send-request.ts';
import type { AdapterFixture, Buffer as GuestBuffer } from '../../../rig/fixtures/adapter-fixture.ts';
import { type Connected, connect, rdma } from '../../../rig/fixtures/connected-fixture.ts';
import {
  countLent,
  countLoans,
  endsOf,
  lendingFabric,
  sendAlone,
  watchSends,
} from '../../../rig/fixtures/loan-fixture.ts';
import { PendingWork } from '../../adapter/pending-work.ts';
import type { ManagedFunction } from '../../management/managed-adapter.ts';
import type { ManagementProcessor } from '../../management/management-processor.ts';

const PATH_MTU_4096 = 5;
const PACKET = 4096;
const LONG = 12 * PACKET;
const PAYLOAD = 0x11;
const POISON = 0xee;

/** A long WRITE that is under way, with payload on loan. */
function beginWrite(
  fixture: AdapterFixture,
): Connected & { readonly source: GuestBuffer; readonly target: GuestBuffer } {
  const connected = connect(fixture, { pathMtu: PATH_MTU_4096 });
  const [source, target] = [fixture.createBuffer(new Uint8Array(LONG).fill(PAYLOAD)), fixture.createBuffer(LONG)];
  connected.a.post(rdma(fixture, SendOpcode.RDMA_WRITE, source, target, connected.region));
  for (let step = 0; countLoans(fixture) === 0; step++) {
    if (step === 100) throw new Error('nothing is lent');
    fixture.machine.step();
  }
  return { ...connected, source, target };
}

/** Leaves bytes of a message in the slots of all rings on the way: it takes a copy at each hop. */
function fillSlots({ machine, host }: AdapterFixture, sender: DriverQueuePair, request: SendRequest): void {
  host.lends = false;
  sender.post(request);
  sender.parts.sendCq.take();
  machine.runUntilIdle();
  host.lends = true;
}

for (const hops of [0, 1, 3])
  for (const [name, opcode] of [
    ['WRITE', SendOpcode.RDMA_WRITE],
    ['SEND', SendOpcode.SEND],
    ['READ', SendOpcode.RDMA_READ],
  ] as const)
    t.test(`RC ${name} over ${hops} switches: long packets take one copy`, async (t) => {
      const fixture = lendingFabric(hops);
      const connected = connect(fixture, { pathMtu: PATH_MTU_4096 });
      for (const size of [511, 512, PACKET, PACKET + 1021, LONG]) {
        const { status, source, target, loans } = sendAlone(fixture, connected, opcode, size);
        t.equal(status, CompletionStatus.SUCCESS, `${size} bytes`);
        t.same(target.bytes, source.bytes, `payload of ${size}`);
        t.equal(loans, countLent(size, PACKET), `packets of ${size} that were placed from their source`);
      }
      t.equal(countLoans(fixture), 0);
      fixture.finish();
    });

for (const [name, call] of [
  ['a register read', (fixture) => fixture.read(CSR.DEVICE_STATUS)],
  ['a register write', (fixture) => fixture.access.writeRegister(CSR.SHADOW_TAILS, 4, 0, 0)],
  ['a function reset', ({ machine }) => machine.reset(0, 'function')],
  ['the end of bus mastering', ({ machine }) => machine.functionAt(0).setBusMaster(false)],
  ['an unmapped region', ({ machine }) => machine.functionAt(0).memoryUnmapped(0, PACKET)],
] as readonly (readonly [string, (fixture: AdapterFixture) => void])[])
  t.test(`loans end before ${name}`, async (t) => {
    for (const hops of [0, 1, 3]) {
      const fixture = lendingFabric(hops, 4);
      const { source, target } = beginWrite(fixture);
      const sent = source.bytes.slice();
      const placed = target.bytes.findLastIndex((byte) => byte !== 0) + 1;
      const lent = countLoans(fixture) * PACKET;
      call(fixture);
      t.equal(countLoans(fixture), 0, `${hops} switches`);
      source.bytes.fill(POISON, placed, placed + lent);
      fixture.machine.runUntilIdle();
      const wrong = target.bytes.findIndex((byte, index) => byte !== 0 && byte !== sent[index]);
      t.equal(wrong, -1, `${hops} switches: what was sent, or nothing`);
    }
  });

t.test('a collect page, a send context and doorbells take stores while payload is on loan', async (t) => {
  const fixture = lendingFabric(1, 4);
  beginWrite(fixture);
  const before = countLoans(fixture);
  const port = fixture.machine.functionAt(0);
  port.writeCollect(0, 8, 0, 0);
  port.writePio(0, 8, 0, 0);
  for (const doorbell of [CSR.CQ_NOTIFY, CSR.EQ_CONSUMER, CSR.SEND_DOORBELL]) port.writeRegister(doorbell, 8, 0, 0);
  t.equal(countLoans(fixture), before);
});

for (const place of [0, 1, 2, 3])
  t.test(`an observer at place ${place} of the way sees payload and right CRCs`, async (t) => {
    const fixture = lendingFabric(1);
    const { a, region } = connect(fixture, { pathMtu: PATH_MTU_4096 });
    const [source, target] = [
      fixture.createBuffer(fixture.random.bytes(LONG + 1021)),
      fixture.createBuffer(LONG + 1021),
    ];
    const [before, behind] = [fixture.createBuffer(fixture.random.bytes(3 * LONG)), fixture.createBuffer(3 * LONG)];
    fillSlots(fixture, a, rdma(fixture, SendOpcode.RDMA_WRITE, before, behind, region));
    const [first, last, input, output] = endsOf(fixture);
    const seen: Uint8Array[] = [];
    [first, input, output, last][place].observer = (_end, _outgoing, bytes, offset, lengthBytes) => {
      const packet = newParsedPacket();
      const view = new DataView(bytes.buffer, bytes.byteOffset);
      t.equal(parsePacket(view, offset, lengthBytes, packet, PacketCheck.ALL), PacketError.NONE);
      const end = packet.payloadOffset + packet.payloadLengthBytes;
      t.ok(
        bytes.subarray(end, end + packet.padCount).every((byte) => byte === 0),
        'pad bytes are zero',
      );
      seen.push(bytes.slice(packet.payloadOffset, end));
    };
    a.post(rdma(fixture, SendOpcode.RDMA_WRITE, source, target, region));
    t.equal(a.parts.sendCq.take().status, CompletionStatus.SUCCESS);
    fixture.machine.runUntilIdle();
    t.same(Buffer.concat(seen), Buffer.from(source.bytes), 'the payload, packet by packet');
    t.same(target.bytes, source.bytes);
  });

t.test('a switch seals what goes to a link that may damage it', async (t) => {
  const fixture = lendingFabric(1);
  const [, last, , output] = endsOf(fixture);
  new FaultyLink(output, last, {}, new Random(1));
  const { a, region } = connect(fixture, { pathMtu: PATH_MTU_4096 });
  const [source, target] = [fixture.createBuffer(fixture.random.bytes(LONG + 1021)), fixture.createBuffer(LONG + 1021)];
  const { receiver } = fixture.machine.device.engine;
  const before = receiver.checked;
  a.post(rdma(fixture, SendOpcode.RDMA_WRITE, source, target, region));
  t.equal(a.parts.sendCq.take().status, CompletionStatus.SUCCESS);
  fixture.machine.runUntilIdle();
  t.same(target.bytes, source.bytes);
  t.ok(receiver.checked >= before + LONG / PACKET + 1, 'the receiver has checked every packet');
});

t.test('a packet that is dropped on its way ends its loan', async (t) => {
  const fixture = lendingFabric(1, 4);
  beginWrite(fixture);
  const [, last, , output] = endsOf(fixture);
  output.plug(undefined);
  last.plug(undefined);
  fixture.machine.runUntilIdle();
  t.equal(countLoans(fixture), fixture.machine.device.loans.count);
  new Cable(output, last);
  fixture.machine.runUntilIdle();
  t.equal(countLoans(fixture), fixture.machine.device.loans.count);
});

t.test('the loans of a message have ended when software hears that it failed', async (t) => {
  const fixture = lendingFabric(1, 1024);
  const { a, region } = connect(fixture, { pathMtu: PATH_MTU_4096 });
  // More packets than a port holds: some are on loan when the refusal of the first one arrives.
  const [source, target] = [fixture.createBuffer(200 * PACKET), fixture.createBuffer(200 * PACKET)];
  const loans = watchSends(fixture, a);
  let most = 0;
  fixture.machine.onStep = () => {
    most = Math.max(most, countLoans(fixture));
  };
  const request = rdma(fixture, SendOpcode.RDMA_WRITE, source, target, region);
  a.post({ ...request, remote: { address: target.address, rkey: region.rkey ^ 1 } });
  t.equal(a.parts.sendCq.take().status, CompletionStatus.REMOTE_ACCESS_ERROR);
  t.ok(most > 0, `${most} packets on loan after a pass`);
  t.same(loans, [0]);
});

t.test('a management command ends loans before it is executed', async (t) => {
  const pending = new PendingWork();
  const seen: string[] = [];
  const lend = (): void =>
    pending.loans.enter({
      takeLoans: (book) => {
        seen.push('loan');
        book.strike();
      },
    });
  const serve = (): number => {
    seen.push('command');
    return 1;
  };
  const manage = (): unknown =>
    pending.manage([{ pendingManagement: [] } as unknown as ManagedFunction], {
      serve,
    } as unknown as ManagementProcessor);
  lend();
  manage();
  t.same(seen, [], 'no command waits');
  pending.noteManagement();
  manage();
  t.same(seen, ['loan', 'command']);
});

/** A message of the random load. `source`: the memory that is lent, the responder's for a READ. */
interface Message {
  readonly connection: number;
  readonly isRead: boolean;
  readonly source: GuestBuffer;
  readonly target: GuestBuffer;
  readonly sent: Uint8Array;
  isOver: boolean;
}

/** How a connection ends. */
const MISHAPS = ['L_Key', 'R_Key', 'first destroyed', 'second destroyed', 'region destroyed'] as const;

/** Random messages, host calls and mishaps; software writes to its memory as soon as it may. */
class RandomLoans {
  readonly #random: Random;
  readonly #fixture: AdapterFixture;
  readonly #connections: Connected[];
  readonly #messages: Message[] = [];
  readonly #gone = new Set<number>();

  constructor(seed: number) {
    this.#random = new Random(seed);
    this.#fixture = lendingFabric(this.#random.pick([0, 1, 2]), this.#random.pick([3, 8, 40, 256]));
    const { machine } = this.#fixture;
    machine.onStep = () => {
      const found = countLoans(this.#fixture);
      if (found !== machine.device.loans.count)
        throw new Error(`${found} loans, ${machine.device.loans.count} counted`);
    };
    this.#connections = Array.from({ length: 3 }, () => connect(this.#fixture, { pathMtu: this.#random.pick([3, 5]) }));
  }

  /** Returns what is wrong in the end. */
  run(actions: number): string[] {
    for (let action = 0; action < actions; action++) {
      const kind = this.#random.below(20);
      const connection = this.#random.below(this.#connections.length);
      if (kind < 9) this.#post(connection);
      else if (kind < 17) this.#fixture.machine.step();
      else if (kind < 19) this.#fixture.read(CSR.DEVICE_STATUS);
      else if (this.#random.oneIn(3)) this.#lose(connection);
      this.#hear();
    }
    this.#fixture.machine.runUntilIdle();
    this.#hear();
    return this.#messages.flatMap(({ connection, target, sent, isOver }, index) => {
      const isLost = this.#gone.has(connection);
      const isWrong = target.bytes.some((byte, at) => byte !== sent[at] && !(isLost && byte === 0));
      return isWrong || !isOver ? [`message ${index} of connection ${connection}, over: ${isOver}`] : [];
    });
  }

  #post(connection: number): void {
    if (this.#gone.has(connection) || this.#openOf(connection).length >= 8) return;
    const { a, b, region } = this.#connections[connection];
    const opcode = this.#random.pick([SendOpcode.RDMA_WRITE, SendOpcode.SEND, SendOpcode.RDMA_READ]);
    const { source, target, isRead } = this.#addMessage(connection, opcode);
    if (opcode === SendOpcode.SEND) b.postReceive([this.#fixture.sge(target)]);
    a.post(rdma(this.#fixture, opcode, isRead ? target : source, isRead ? source : target, region));
  }

  #addMessage(connection: number, opcode: SendOpcode): Message {
    // No byte is 0, as in a target that was not written, or the poison.
    const sent = Uint8Array.from({ length: this.#random.between(1, 5 * PACKET) }, () => this.#random.between(1, 100));
    const [source, target] = [this.#fixture.createBuffer(sent), this.#fixture.createBuffer(sent.length)];
    const message = { connection, isRead: opcode === SendOpcode.RDMA_READ, source, target, sent, isOver: false };
    this.#messages.push(message);
    return message;
  }

  /** Completions: software uses the memory of these messages for something else. */
  #hear(): void {
    for (const [connection, { a }] of this.#connections.entries())
      for (const _ of a.parts.sendCq.drain()) this.#end(this.#openOf(connection).slice(0, 1));
  }

  #lose(connection: number): void {
    if (this.#gone.has(connection)) return;
    this.#gone.add(connection);
    const { a, b, region } = this.#connections[connection];
    const mishap = this.#random.pick(MISHAPS);
    if (mishap === 'L_Key' || mishap === 'R_Key') {
      const { source, target } = this.#addMessage(connection, SendOpcode.RDMA_WRITE);
      const sge = this.#fixture.sge(source);
      a.post({
        opcode: SendOpcode.RDMA_WRITE,
        sges: [mishap === 'L_Key' ? { ...sge, lkey: sge.lkey ^ 1 } : sge],
        remote: { address: target.address, rkey: mishap === 'R_Key' ? region.rkey ^ 1 : region.rkey },
      });
    } else if (mishap === 'region destroyed') {
      const destroy = { opcode: ManagementOpcode.DESTROY_MR, objectNumber: region.number };
      this.#fixture.driver.management.perform(destroy);
      // READs can get no data of it any more.
      for (const { isRead, source } of this.#openOf(connection)) if (isRead) source.bytes.fill(POISON);
    } else {
      for (const qp of mishap === 'first destroyed' ? [a, b] : [b, a]) {
        qp.destroy();
        this.#hear();
      }
      this.#end(this.#openOf(connection));
    }
  }

  #openOf(connection: number): Message[] {
    return this.#messages.filter((message) => message.connection === connection && !message.isOver);
  }

  #end(messages: readonly Message[]): void {
    for (const message of messages) {
      message.isOver = true;
      message.source.bytes.fill(POISON);
    }
  }
}

t.test('no packet carries what software writes to its memory later', async (t) => {
  for (let seed = 1; seed <= 40; seed++) {
    try {
      const wrong = new RandomLoans(seed).run(150);
      if (wrong.length > 0) t.same(wrong, [], `seed ${seed}`);
    } catch (error) {
      t.fail(`seed ${seed}: ${error}`);
    }
  }
  t.pass('40 seeds');
});
