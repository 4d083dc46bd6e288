// SPDX-License-Identifier: Apache-2.0
/**
 * Floods of the host door: garbage, thousands of CONNECTs, requests without end. They cost their
 * sender; another client goes on as before.
 */
import t from 'tap';
import { encodeIbsimClient } from '../../../protocol/infiniband/gen/ibsim-client.gen.ts';
import { encodeIbsimControl, getIbsimControlType } from '../../../protocol/infiniband/gen/ibsim-control.gen.ts';
import { getIbsimDatagramStatus } from '../../../protocol/infiniband/gen/ibsim-datagram.gen.ts';
import { IbsimType } from '../../../protocol/infiniband/gen/values.gen.ts';
import { MadMethod } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { viewOf } from '../../../protocol/layout/view.ts';
import { answerAddress } from '../../fabric/agents/mad-packet.ts';
import { Random } from '../../random.ts';
import { getMad, type Host, next, openDoor, type Program } from '../../rig/live/door-program.ts';
import type { SentMad } from '../../rig/live/scripted-mad-port.ts';
import { CONTROL_DATA_OFFSET } from './ibsim-control.ts';
import { CLIENTS_OF_PROGRAM } from './ibsim-server.ts';

const MAGIC = 0xdeadbeef;
const MESSAGES = 5000;
const TRANSACTION_LOW = 12;
const OWN_TRANSACTION = 0x600d600d;

/** The client is served: its port is told, and a datagram comes to its host and back. */
async function isServed(program: Program, host: Host): Promise<boolean> {
  const answer = await program.ask(IbsimType.GET_NODE_INFO);
  if (getIbsimControlType(viewOf(answer), 0) !== IbsimType.GET_NODE_INFO) return false;
  const back = next(program.data);
  const request = getMad();
  new DataView(request.buffer).setUint32(TRANSACTION_LOW, OWN_TRANSACTION);
  const sent = new Promise<SentMad>((resolve) => {
    host.port.onSent = (one) => {
      if (new DataView(one.mad.buffer).getUint32(TRANSACTION_LOW) === OWN_TRANSACTION) resolve(one);
    };
  });
  program.send(request);
  const { address, mad } = await sent;
  const response = mad.slice();
  response[3] = MadMethod.GET_RESPONSE;
  host.port.onMad?.(answerAddress(address), response);
  return getIbsimDatagramStatus(viewOf(await back), 0) === 0;
}

t.test('garbage of any length at every port of the door', async (t) => {
  const { server, hosts, program } = await openDoor(t);
  const [good, bad] = [await program(), await program()];
  await good.connect('good');
  await bad.connect('bad');
  const random = new Random(14);
  for (let count = 0; count < MESSAGES; count++) {
    const bytes = random.bytes(random.below(600));
    // Half of them have the right beginning.
    if (count % 2 === 0 && bytes.length >= 4) new DataView(bytes.buffer).setUint32(0, MAGIC, true);
    bad.control.send(bytes, server.port, '127.0.0.1');
    bad.sendRaw(bytes);
    if (count % 50 === 0) await bad.ask(IbsimType.GET_PORT);
  }
  t.ok(await isServed(good, hosts.hosts.get('good') as Host));
  t.ok(server.malformed > 0 && (server.clients.get(bad.number)?.malformed ?? 0) > 0);
  t.equal(server.clients.get(good.number)?.malformed, 0);
  t.equal(server.clients.size, 2);
});

t.test('a program that connects thousands of times gets a few clients, and others get in', async (t) => {
  const { server, hosts, program } = await openDoor(t);
  const bad = await program();
  const data = new Uint8Array(64);
  let answers = 0;
  let accepted = 0;
  const all = new Promise<void>((resolve) => {
    bad.control.on('message', (message) => {
      answers++;
      if (getIbsimControlType(viewOf(message), 0) === IbsimType.CONNECT) accepted++;
      if (answers === MESSAGES) resolve();
    });
  });
  const connect = (number: number): void => {
    encodeIbsimClient(new DataView(data.buffer), 0, { id: 20_000 + number, qpn: 0, isManager: 0 });
    new TextEncoder().encodeInto(`host${number}`, data.subarray(12));
    const message = Buffer.alloc(80);
    encodeIbsimControl(viewOf(message), 0, { magic: MAGIC, client: 0, type: IbsimType.CONNECT, lengthBytes: 64 });
    message.set(data, CONTROL_DATA_OFFSET);
    bad.control.send(message, server.port, '127.0.0.1');
  };
  // Each answer lets the next one go: the system drops what a socket has no room for.
  bad.control.on('message', () => {
    if (answers < MESSAGES) connect(answers);
  });
  connect(0);
  await all;
  t.ok(accepted >= CLIENTS_OF_PROGRAM, `${accepted} accepted`);
  t.ok(hosts.hosts.size <= accepted, 'no host is made for those that were refused');
  t.ok(server.refused > MESSAGES / 2, `${server.refused} refused`);
  t.ok(server.clients.size <= CLIENTS_OF_PROGRAM);
  const good = await program();
  t.equal(getIbsimControlType(viewOf(await good.connect('good')), 0), IbsimType.CONNECT);
  t.ok(await isServed(good, hosts.hosts.get('good') as Host));
});

t.test('a client with thousands of requests does not take the places of another at its port', async (t) => {
  const { server, hosts, program } = await openDoor(t);
  const [good, bad] = [await program(), await program()];
  await good.connect('host');
  await bad.connect('host');
  const host = hosts.hosts.get('host') as Host;
  const { exchange } = host;
  let returned = 0;
  bad.data.on('message', () => returned++);
  const client = server.clients.get(bad.number);
  for (let count = 0; count < MESSAGES; count++) {
    const mad = getMad();
    new DataView(mad.buffer).setUint32(12, count);
    bad.send(mad);
    if (count % 50 === 0) await bad.ask(IbsimType.GET_PORT);
  }
  t.ok((client?.received ?? 0) > 1000);
  t.ok(await isServed(good, host));
  while (exchange.unanswered === 0 || returned === 0) await new Promise((resolve) => setImmediate(resolve));
  t.pass('requests without response come back to their sender');
});
