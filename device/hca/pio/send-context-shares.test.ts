// SPDX-License-Identifier: Apache-2.0
/**
 * Send contexts among functions (US 2015/0378953 claim 1; docs/DOCUMENTS.md decisions 9 and 14):
 * turns by owner, packets charged in the accounts of the lanes, no egress while the adapter is
 * disabled, and credits that return when a packet has left the port.
 */
import t from 'tap';
import { getDethSrcQpn } from '../../../protocol/infiniband/gen/deth.gen.ts';
import { newParsedPacket, PacketCheck, parsePacket } from '../../../protocol/infiniband/packet.ts';
import { CSR, CSR_ADAPTER_CONTROL_DISABLE_MASK } from '../../../protocol/layout/gen/registers.gen.ts';
import { SendContextState } from '../../../protocol/layout/gen/values.gen.ts';
import type { DriverSendContext } from '../../rig/driver/send-context.ts';
import { ScriptedLink } from '../../rig/fixtures/scripted-link.ts';
import { composeDatagram, SendContextFixture } from '../../rig/fixtures/send-context-fixture.ts';
import { InProcessMachine } from '../../rig/machine/machine.ts';
import { Tenant } from '../../rig/qos/tenant.ts';
import { COMMAND_COST_BYTES, PACKET_COST_BYTES } from '../lane/owner-turns.ts';

const SMALL = Uint8Array.of(1, 2, 3, 4);
const LRH_TO_DETH_BYTES = 28;
const CRC_BYTES = 6;
const SEND_ENTRIES = 128;

/** A function that floods datagrams to a QP that does not exist: only its turns matter. */
class Flooder {
  readonly qpn: number;
  readonly contexts: DriverSendContext[];
  readonly #packet: Uint8Array;
  readonly #qp;
  readonly #handle: number;
  #outstanding = 0;

  constructor(machine: InProcessMachine, index: number, contexts: number) {
    const tenant = new Tenant(machine, index);
    const { driver, pd } = tenant;
    this.#qp = driver.createQueuePair({
      pd,
      sendCq: driver.createCompletionQueue({ entriesLog2: 9 }),
      sendEntriesLog2: 7,
    });
    this.#qp.start({ port: 1, qkey: 1 });
    this.qpn = this.#qp.qpn;
    this.#handle = driver.addressHandles.add({ port: 1, dlid: tenant.lidOf(2), pd });
    const [slid, dlid] = [tenant.lidOf(1), tenant.lidOf(2)];
    this.#packet = composeDatagram(SMALL, { slid, dlid, destQpn: 0xfffffe, srcQpn: this.qpn, qKey: 1, psn: 0 });
    this.contexts = Array.from({ length: contexts }, () => driver.createSendContext({ blocks: 64, threshold: 0 }));
    for (const context of this.contexts) context.enable();
  }

  /** Fills all contexts as far as credits allow. */
  fill(): void {
    for (const context of this.contexts) {
      context.refresh();
      while (context.send(this.#packet));
    }
  }

  /** Keeps the send queue full. */
  post(): void {
    this.#outstanding -= this.#qp.parts.sendCq.drain().length;
    const to = { inline: SMALL, remoteQpn: 0xfffffe, qkey: 1, addressHandle: this.#handle };
    for (; this.#outstanding < SEND_ENTRIES; this.#outstanding++) this.#qp.post(to);
  }
}

/** Counts packets that go to port 1 by source QP. */
function countPackets(machine: InProcessMachine): Map<number, number> {
  const counts = new Map<number, number>();
  const packet = newParsedPacket();
  machine.device.ports[0].observer = (_port, outgoing, bytes, offset, lengthBytes) => {
    if (!outgoing) return;
    const view = new DataView(bytes.buffer);
    parsePacket(view, offset, lengthBytes, packet, PacketCheck.NONE);
    const qpn = getDethSrcQpn(view, packet.dethOffset);
    counts.set(qpn, (counts.get(qpn) ?? 0) + 1);
  };
  return counts;
}

t.test('turns are by owner: forty contexts get as much as one, and as much of it each', async (t) => {
  const machine = new InProcessMachine({ functionCount: 3, budget: 16 });
  const flooders = [40, 1, 2].map((contexts, index) => new Flooder(machine, index, contexts));
  const counts = countPackets(machine);
  for (let step = 0; step < 300; step++) {
    for (const flooder of flooders) flooder.fill();
    machine.step();
  }
  const sent = flooders.map(({ qpn }) => counts.get(qpn) ?? 0);
  const most = Math.max(...sent);
  t.ok(most > 300, `${sent}`);
  for (const count of sent) t.ok(most - count < 0.05 * most, `${sent}`);
  const { sendContexts } = machine.device;
  const each: number[] = [];
  sendContexts.forEach((context) => {
    if (context.owner.number === 0) each.push(context.packetsSent);
  });
  t.ok(Math.max(...each) - Math.min(...each) <= 1, `contexts of one function: ${each}`);
});

/** Share of the adapter that a function has by contexts, beside one that posts commands. */
function measureShare(weight: number): number {
  const machine = new InProcessMachine({ functionCount: 2, budget: 32 });
  const { lanes } = machine.device;
  for (let lane = 0; lane < lanes.count; lane++) if (lanes.map.getOwned(0).has(lane)) lanes.setLane(lane, { weight });
  const [pio, poster] = [new Flooder(machine, 0, 4), new Flooder(machine, 1, 0)];
  const counts = countPackets(machine);
  for (let step = 0; step < 400; step++) {
    pio.fill();
    poster.post();
    machine.step();
  }
  const bytes = LRH_TO_DETH_BYTES + SMALL.length + CRC_BYTES;
  const byPio = (counts.get(pio.qpn) ?? 0) * (PACKET_COST_BYTES + bytes);
  const byCommands = (counts.get(poster.qpn) ?? 0) * (COMMAND_COST_BYTES + PACKET_COST_BYTES + SMALL.length);
  t.ok(byCommands > 0, 'commands were sent');
  return byPio / (byPio + byCommands);
}

t.test('packets are charged: contexts and commands share by the weights of the lanes', async (t) => {
  const even = measureShare(1);
  t.ok(Math.abs(even - 1 / 2) < 0.05, `equal weights: ${even}`);
  const heavy = measureShare(3);
  t.ok(Math.abs(heavy - 3 / 4) < 0.05, `three times the weight: ${heavy}`);
});

t.test('a disabled adapter takes packets and sends none; they leave when it is enabled', async (t) => {
  const fixture = new SendContextFixture();
  const { access } = fixture.adapterFixture;
  access.writeRegister(CSR.ADAPTER_CONTROL, 4, CSR_ADAPTER_CONTROL_DISABLE_MASK, 0);
  const buffer = fixture.postReceive();
  t.ok(fixture.context.send(fixture.packet(SMALL), { creditReturn: 1 }));
  fixture.settle();
  t.equal(fixture.query().packetsSent, 0);
  t.equal(fixture.query().packetsWaiting, 1);
  access.writeRegister(CSR.ADAPTER_CONTROL, 4, 0, 0);
  fixture.settle();
  t.same(fixture.received(buffer), SMALL);
  t.equal(fixture.context.word.freeCounter, 1);
  fixture.finish();
});

/** A context whose port holds its packets until the test takes them. */
function hold(blocks = 16) {
  const fixture = new SendContextFixture({ blocks, threshold: 0 });
  const [port] = fixture.adapterFixture.machine.device.ports;
  new ScriptedLink(port);
  const [ring] = port.transmitQueues.rings;
  const send = (count = 1): void => {
    for (let sent = 0; sent < count; sent++) fixture.context.send(fixture.packet(SMALL), { interrupt: 1 });
    fixture.settle();
  };
  return { fixture, context: fixture.context, port, ring, send };
}

t.test('egress is when the packet has left the port: not before come credit and interrupt', async (t) => {
  const { fixture, context, ring, send } = hold();
  send(2);
  t.equal(ring.count, 2);
  t.same([fixture.query().packetsSent, fixture.query().packetsWaiting, fixture.interrupts], [2, 2, 0]);
  t.equal(context.word.freeCounter, 0);
  ring.shift();
  t.same([context.word.freeCounter, fixture.query().packetsWaiting], [1, 1]);
  ring.shift();
  t.same([context.word.freeCounter, fixture.query().packetsWaiting], [2, 0]);
  fixture.settle();
  t.equal(fixture.interrupts, 2);
});

t.test('a context drains until its packets have left the port', async (t) => {
  const { fixture, context, ring, send } = hold();
  send();
  context.disable();
  fixture.settle();
  t.equal(context.state, SendContextState.DRAINING);
  ring.shift();
  t.equal(context.state, SendContextState.DISABLED);
  t.equal(context.word.freeCounter, 1);
});

t.test('packets that the port discards with its link return their credits', async (t) => {
  const { fixture, context, port, send } = hold();
  send(3);
  port.setLinkUp(false);
  t.equal(context.word.freeCounter, 3);
  send();
  t.equal(context.word.freeCounter, 4, 'a packet to a port that is down is dropped');
  t.equal(fixture.query().packetsDropped, 1);
});

t.test('a packet of a context that is gone frees nothing of the next one of its number', async (t) => {
  const { fixture, context, ring, send } = hold();
  send(2);
  const { machine } = fixture.adapterFixture;
  const { sendContexts, functions } = machine.device;
  const [{ underlying }] = functions;
  t.ok(context.send(fixture.packet(SMALL)));
  t.ok(sendContexts.ready, 'one more waits for the port');
  sendContexts.dropFunction(underlying);
  t.notOk(sendContexts.ready);
  const next = sendContexts.add(underlying, 16);
  t.equal(next?.number, context.number);
  next?.enable();
  ring.shift();
  ring.shift();
  t.equal(next?.freeCounter, 0);
  t.equal(next?.waitingCount, 0);
  t.notOk(sendContexts.ready);
});
