// SPDX-License-Identifier: Apache-2.0
/** The host door over real UDP sockets: clients that come, go, die, and send nonsense. */

import t from 'tap';
import { getIbsimControlType } from '../../../protocol/infiniband/gen/ibsim-control.gen.ts';
import {
  getIbsimDatagramSlid,
  getIbsimDatagramStatus,
  IBSIM_DATAGRAM_MAD_OFFSET,
  IBSIM_DATAGRAM_SIZE,
} from '../../../protocol/infiniband/gen/ibsim-datagram.gen.ts';
import { IbsimType } from '../../../protocol/infiniband/gen/values.gen.ts';
import { MadMethod } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { viewOf } from '../../../protocol/layout/view.ts';
import { answerAddress } from '../../fabric/agents/mad-packet.ts';
import { getMad, type Host, next, openDoor, Program } from '../../rig/live/door-program.ts';
import { CONTROL_DATA_OFFSET } from './ibsim-control.ts';
import { DoorError, IbsimServer } from './ibsim-server.ts';

t.test('a client attaches, asks about its port and leaves', async (t) => {
  const { server, hosts, program } = await openDoor(t);
  const tool = await program();
  const answer = await tool.connect('tools');
  t.equal(getIbsimControlType(viewOf(answer), 0), IbsimType.CONNECT);
  t.equal(answer.toString('utf8', 28, 33), 'tools', 'the answer names the host');
  t.equal((await tool.ask(IbsimType.GET_NODE_INFO))[CONTROL_DATA_OFFSET], 0x11);
  t.equal((await tool.ask(IbsimType.GET_PORT_INFO, Uint8Array.of(2)))[CONTROL_DATA_OFFSET], 0x22);
  t.equal((await tool.ask(IbsimType.GET_P_KEYS))[CONTROL_DATA_OFFSET], 0xff);
  t.equal(getIbsimControlType(viewOf(await tool.ask(77)), 0), IbsimType.ERROR, 'an unknown request is refused');
  await tool.ask(IbsimType.SET_MANAGER, Uint8Array.of(1, 0, 0, 0));
  t.equal(hosts.hosts.get('tools')?.managers, 1);
  await tool.ask(IbsimType.DISCONNECT);
  t.equal(hosts.hosts.get('tools')?.managers, 0, 'a manager that leaves is none');
  t.same(hosts.released, ['tools']);
  t.equal(server.clients.size, 0);
});

t.test('datagrams go to the fabric and back; those without a response come back with a status', async (t) => {
  const { hosts, program } = await openDoor(t);
  const tool = await program();
  await tool.connect('tools');
  const { port } = hosts.hosts.get('tools') as Host;
  const [response] = await Promise.all([
    next(tool.data),
    new Promise<void>((resolve) => {
      port.onSent = ({ address, mad }) => {
        t.same([address.slid, address.dlid, address.isVl15], [7, 3, true], 'LID 0 is that of the port');
        const answered = mad.slice();
        answered[3] |= 0x80;
        port.onMad?.(answerAddress(address), answered);
        resolve();
      };
      tool.send(getMad());
    }),
  ]);
  t.equal(response.length, IBSIM_DATAGRAM_SIZE);
  t.equal(getIbsimDatagramStatus(viewOf(response), 0), 0);
  t.equal(getIbsimDatagramSlid(viewOf(response), 0), 3);
  t.equal(response[IBSIM_DATAGRAM_MAD_OFFSET + 15], 9);
  port.onSent = undefined;
  const back = next(tool.data);
  tool.send(getMad());
  const keepAlive = setInterval(() => {}, 1000);
  t.equal(getIbsimDatagramStatus(viewOf(await back), 0), 110);
  clearInterval(keepAlive);
});

t.test('the answer to a CONNECT waits until the port is active, where a manager makes it so', async (t) => {
  const { server, hosts, program } = await openDoor(t);
  const tool = await program();
  await tool.connect('tools');
  const host = hosts.hosts.get('tools') as Host;
  host.isActive = false;
  const second = await program();
  const order: string[] = [];
  const connected = second.connect('tools').then(() => order.push('connected'));
  // The door has taken the CONNECT when it has answered a later message.
  while (server.clients.size < 2) await tool.ask(IbsimType.GET_PORT);
  server.settle();
  await tool.ask(IbsimType.GET_PORT);
  order.push('active');
  host.isActive = true;
  server.settle();
  await connected;
  t.same(order, ['active', 'connected']);
  hosts.hasManager = false;
  host.isActive = false;
  const third = await program();
  t.equal(getIbsimControlType(viewOf(await third.connect('tools')), 0), IbsimType.CONNECT, 'at once without one');
});

t.test('nonsense costs its sender only', async (t) => {
  const { server, hosts, program } = await openDoor(t);
  const [good, bad] = [await program(), await program()];
  await good.connect('good');
  await bad.connect('bad');
  bad.sendRaw(Buffer.alloc(3));
  bad.send(getMad(), 3, 5);
  bad.send(getMad());
  bad.control.send(Buffer.alloc(80), server.port, '127.0.0.1');
  bad.control.send('hello', server.port, '127.0.0.1');
  const foreign = await bad.ask(IbsimType.DISCONNECT, new Uint8Array(64), good.number);
  t.equal(getIbsimControlType(viewOf(foreign), 0), IbsimType.ERROR, 'no client speaks for another');
  t.equal(server.malformed, 2);
  const { port } = hosts.hosts.get('bad') as Host;
  if (port.sent.length === 0) await new Promise<void>((resolve) => (port.onSent = () => resolve()));
  const client = server.clients.get(bad.number);
  t.same([client?.malformed, client?.received], [2, 1]);
  t.equal(server.clients.has(good.number), true);
  const nowhere = await (await program()).connect('nowhere');
  t.equal(getIbsimControlType(viewOf(nowhere), 0), IbsimType.ERROR);
  const portless = new Uint8Array(64);
  t.equal(getIbsimControlType(viewOf(await bad.ask(IbsimType.CONNECT, portless)), 0), IbsimType.ERROR);
});

t.test('a client that has died leaves, and is no manager any more', async (t) => {
  const { server, hosts } = await openDoor(t);
  const program = await Program.open(server.port);
  await program.connect('sm', 1);
  const host = hosts.hosts.get('sm') as Host;
  t.equal(host.managers, 1);
  program.close();
  const keepAlive = setInterval(() => {
    const trap = getMad();
    trap[3] = MadMethod.TRAP;
    host.port.onMad?.({ ...answerAddress({ ...ADDRESS }) }, trap);
  }, 5);
  while (server.clients.size > 0) await new Promise((resolve) => setImmediate(resolve));
  clearInterval(keepAlive);
  t.equal(host.managers, 0);
  t.same(hosts.released, ['sm']);
});

t.test('a port that is taken is named', async (t) => {
  const { server, hosts } = await openDoor(t);
  const second = new IbsimServer({ port: server.port, hosts, wake: () => {} });
  await t.rejects(second.start(), DoorError);
});

const ADDRESS = {
  ...{ slid: 3, dlid: 7, serviceLevel: 0, sourceQpn: 0, destQpn: 0, qKey: 0, pKey: 0xffff, isVl15: true },
};
