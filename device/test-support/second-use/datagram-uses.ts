// SPDX-License-Identifier: Apache-2.0
/** Uses of datagram QPs, of QP0 and QP1, of multicast groups and of send contexts. */
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { ManagementOpcode, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { DriverCollectContext } from '../../hosts/in-process/driver/collect-context.ts';
import { multicastPayload } from '../../hosts/in-process/driver/payloads.ts';
import type { DriverQueuePair } from '../../hosts/in-process/driver/queue-pair.ts';
import type { AdapterFixture, QueuePairOptions } from '../adapter-fixture.ts';
import { ManagementQueuePair, softwareMad } from '../management-queue-pairs.ts';
import { composeDatagram } from '../send-context-fixture.ts';
import { GRH_BYTES, type Use } from './use.ts';

const WAYS = ['collect', 'doorbell', 'register', 'slot'] as const;
const MULTICAST_QPN = 0xffffff;
const MLID = 0xc003;
const MGID = Uint8Array.of(0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1);
const CREDIT_VECTOR = 30;

/** Datagrams in every way of posting; too long, with a wrong Q_Key, and without a receive WQE. */
function sendDatagrams(fixture: AdapterFixture, random: () => number, options: QueuePairOptions = {}): void {
  const { sender, receiver, to } = fixture.createPair({ sender: options, receiver: options });
  sender.parts.sendCq.notify();
  for (let count = 0; count < 12; count++) {
    const length = random() % 64;
    if (count % 4 !== 3) fixture.postReceive(receiver, GRH_BYTES + (count % 5 === 4 ? 8 : 64));
    const inline = new Uint8Array(length).fill(count);
    const wrong = count % 7 === 6 ? { qkey: 0x99 } : {};
    sender.post(to({ inline, solicited: count % 2 === 0, ...wrong }), WAYS[random() % WAYS.length]);
    if (count % 3 === 2) fixture.settle();
  }
  sender.ring();
  fixture.settle();
  sender.parts.sendCq.drain();
  receiver.parts.receiveCq.drain();
}

function useCollectContext(fixture: AdapterFixture): void {
  const context = new DriverCollectContext(fixture.driver.management, 7);
  const page = context.give(fixture.driver.takePage(0));
  const collectContext = context.number;
  const sendCq = fixture.createCompletionQueue({ collectContext });
  const { sender, receiver, to } = fixture.createPair({ sender: { sendCq, user: { collectContext, page } } });
  sendCq.notify({ page });
  fixture.postReceive(receiver, GRH_BYTES + 64);
  sender.post(to({ inline: new Uint8Array(24).fill(1) }));
  sender.post(to(), 'doorbell');
  // Not its own: refused.
  fixture.createQueuePair().collect(sender.fill(to()), {}, page);
  fixture.settle();
}

function useSpecialQueuePairs(fixture: AdapterFixture): void {
  for (const [service, qpn] of [
    ['SMI', 0],
    ['GSI', 1],
  ] as const) {
    const [near, far] = [1, 2].map((port) => new ManagementQueuePair(fixture, service, port));
    near.send(fixture.handleTo(1, 2), softwareMad(qpn));
    far.poll();
    near.qp.destroy();
    if (qpn === 1) far.qp.destroy();
  }
}

function useMulticast(fixture: AdapterFixture): void {
  const members = [1, 2, 2].map((port) => fixture.createQueuePair({ port }));
  const payload = multicastPayload(MGID, MLID);
  for (const [index, { qpn }] of members.entries()) {
    fixture.driver.management.perform({ opcode: ManagementOpcode.ATTACH_MULTICAST, objectNumber: qpn, payload });
    if (index > 0) fixture.postReceive(members[index], GRH_BYTES + 8);
  }
  const route = { port: 1, dlid: MLID, globalRoute: 1, hopLimit: 1, pd: fixture.pd };
  const addressHandle = fixture.driver.addressHandles.add(route, MGID);
  for (let count = 0; count < 2; count++)
    members[0].post({ remoteQpn: MULTICAST_QPN, qkey: 0x1234, addressHandle, inline: Uint8Array.of(count) });
  const [{ qpn: objectNumber }] = members;
  fixture.settle();
  fixture.driver.management.perform({ opcode: ManagementOpcode.DETACH_MULTICAST, objectNumber, payload });
}

/** Two contexts: one sends and stays, the other one halts at a bad packet and is destroyed. */
function useSendContexts(fixture: AdapterFixture): void {
  const { sender, receiver } = fixture.createPair();
  const route = { slid: fixture.lidOf(1), dlid: fixture.lidOf(2), destQpn: receiver.qpn, srcQpn: sender.qpn };
  const packet = (psn: number) => composeDatagram(new Uint8Array(32).fill(psn), { ...route, qKey: receiver.qkey, psn });
  const [first, second] = [0, 1].map(() => fixture.driver.createSendContext({ vector: CREDIT_VECTOR, blocks: 16 }));
  first.enable();
  second.enable();
  for (let psn = 0; psn < 5; psn++) {
    fixture.postReceive(receiver, GRH_BYTES + 64);
    first.send(packet(psn), { creditReturn: psn % 2 });
    if (psn === 2) first.wantCredits(() => {});
    if (psn === 3) second.send(packet(psn).fill(0xff));
    fixture.settle();
    first.refresh();
  }
  second.disable();
  fixture.settle();
  const objectNumber = second.number;
  fixture.driver.management.execute({ opcode: ManagementOpcode.DESTROY_SEND_CONTEXT, objectNumber });
}

/** A QP in each state, with work, that goes back to RESET and is used again. */
function resetQueuePairs(fixture: AdapterFixture): void {
  for (const leave of [(qp: DriverQueuePair) => qp.toError(), () => {}]) {
    const { sender, receiver, to } = fixture.createPair();
    fixture.postReceive(receiver, GRH_BYTES + 64);
    for (let count = 0; count < 3; count++) sender.post(to(), 'slot');
    leave(sender);
    sender.toReset();
    sender.start({ qkey: sender.qkey });
    sender.post(to());
    fixture.settle();
    sender.destroy();
  }
}

function stopQueuePair(fixture: AdapterFixture): void {
  const { sender, to } = fixture.createPair();
  for (let count = 0; count < 3; count++) sender.post(to(), 'slot');
  sender.ring();
  sender.stop();
  fixture.settle();
  sender.post({ header: { opcode: SendOpcode.NOP } }, 'register');
  fixture.settle();
}

function postBadCommands(fixture: AdapterFixture): void {
  const { sender, to } = fixture.createPair({ sender: { checksumKey: 0x77 } });
  sender.post(to({ damage: (command) => command.setUint8(20, 0xff) }));
  sender.post({ header: { opcode: 0x3f as SendOpcode } });
  sender.post(to({ sges: [{ address: 8, length: 8, lkey: 0xbad }] }), 'register');
  fixture.access.writeRegister(CSR.SEND_DOORBELL, 8, 0xffffffff, 0);
  fixture.settle();
}

export const datagramUses: readonly Use[] = [
  { name: 'datagrams', run: (fixture, random) => sendDatagrams(fixture, () => random.next()) },
  {
    name: 'datagrams of the second QoS level',
    settings: true,
    run: (fixture, random) => {
      const { access } = fixture;
      const divider = access.readRegister(CSR.QOS_DIVIDER, 8);
      access.writeRegister(CSR.QOS_DIVIDER, 8, divider / 2, 0);
      sendDatagrams(fixture, () => random.next(), { qosLevel: 1 });
    },
  },
  { name: 'a collect context', run: useCollectContext },
  { name: 'QP0 and QP1', physical: true, run: useSpecialQueuePairs },
  { name: 'a multicast group', run: useMulticast },
  { name: 'send contexts', run: useSendContexts },
  { name: 'QPs that go back to RESET', run: resetQueuePairs },
  { name: 'a QP that is stopped', run: stopQueuePair },
  { name: 'commands that are refused', run: postBadCommands },
];
