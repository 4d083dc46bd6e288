// SPDX-License-Identifier: Apache-2.0
/** Requests of several clients through one port: responses, repeats, transfers in segments. */
import t from 'tap';
import {
  getMadHeaderTransactionIdHigh,
  getMadHeaderTransactionIdLow,
  setMadHeaderManagementClass,
  setMadHeaderMethod,
  setMadHeaderTransactionIdHigh,
  setMadHeaderTransactionIdLow,
} from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import {
  encodeRmppHeader,
  getRmppHeaderIsFirst,
  getRmppHeaderIsLast,
  getRmppHeaderPayloadLength,
  getRmppHeaderSegmentNumber,
  getRmppHeaderType,
  newRmppHeader,
  setRmppHeaderIsActive,
} from '../../../protocol/infiniband/mad/gen/rmpp-header.gen.ts';
import { MadClass, MadMethod, RmppType } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { MAD_BYTES, RMPP_OFFSET } from '../../../protocol/infiniband/mad/mad-headers.ts';
import { answerAddress, generalAddress, type MadAddress, subnetAddress } from '../../fabric/agents/mad-packet.ts';
import { ScriptedMadPort, type SentMad } from '../../rig/live/scripted-mad-port.ts';
import { type MadClient, MadExchange } from './mad-exchange.ts';

/** A client that keeps what it gets. */
class Client implements MadClient {
  isManager = false;
  readonly got: { address: Readonly<MadAddress>; mad: Uint8Array; isAnswered: boolean }[] = [];
  onGot: (() => void) | undefined = undefined;

  deliver(address: Readonly<MadAddress>, mad: Uint8Array, isAnswered: boolean): void {
    this.got.push({ address, mad, isAnswered });
    this.onGot?.();
  }
}

const viewOf = (mad: Uint8Array): DataView => new DataView(mad.buffer, mad.byteOffset);
const idOf = (mad: Uint8Array): [number, number] => [
  getMadHeaderTransactionIdHigh(viewOf(mad), 0),
  getMadHeaderTransactionIdLow(viewOf(mad), 0),
];

function makeMad(managementClass: number, method: number, id: readonly [number, number]): Uint8Array {
  const mad = new Uint8Array(MAD_BYTES);
  const view = viewOf(mad);
  setMadHeaderManagementClass(view, 0, managementClass);
  setMadHeaderMethod(view, 0, method);
  setMadHeaderTransactionIdHigh(view, 0, id[0]);
  setMadHeaderTransactionIdLow(view, 0, id[1]);
  return mad;
}

/** Delivers a response to what was sent, changed by `change`. */
function answer(port: ScriptedMadPort, { address, mad }: SentMad, change?: (view: DataView) => void): void {
  const response = mad.slice();
  setMadHeaderMethod(viewOf(response), 0, mad[3] | 0x80);
  change?.(viewOf(response));
  port.onMad?.(answerAddress(address), response);
}

function segment(number: number, isLast: boolean, payloadLength: number): (view: DataView) => void {
  const fields = { version: 1, type: RmppType.DATA, isActive: 1, segmentNumber: number, payloadLength };
  return (view) =>
    encodeRmppHeader(view, RMPP_OFFSET, {
      ...newRmppHeader(),
      ...fields,
      isFirst: number === 1 ? 1 : 0,
      isLast: isLast ? 1 : 0,
    });
}

t.test('equal identifiers of two clients: each gets its own response, with its own identifier', (t) => {
  const port = new ScriptedMadPort();
  const exchange = new MadExchange(port);
  const clients = [new Client(), new Client()];
  for (const client of clients) exchange.attach(client);
  for (const client of clients)
    exchange.send(client, subnetAddress(7, 9), makeMad(MadClass.SUBNET, MadMethod.GET, [0xabcd0001, 5]), MAD_BYTES);
  t.equal(port.sent.length, 2);
  t.notSame(idOf(port.sent[0].mad), idOf(port.sent[1].mad), 'they differ on the wire');
  answer(port, port.sent[1]);
  t.equal(clients[0].got.length, 0);
  t.same(idOf(clients[1].got[0].mad), [0xabcd0001, 5]);
  t.equal(clients[1].got[0].isAnswered, true);
  t.equal(clients[1].got[0].address.slid, 9, 'the address is that of the response');
  answer(port, port.sent[1]);
  t.equal(clients[1].got.length, 1, 'a second response is for nobody');
  t.equal(exchange.unclaimed, 1);
  exchange.close();
  t.equal(port.onMad, undefined);
  t.end();
});

t.test('a request without a response is repeated, then comes back as it was', async (t) => {
  const port = new ScriptedMadPort();
  const exchange = new MadExchange(port, { repeatMs: 2, tries: 3 });
  const client = new Client();
  exchange.attach(client);
  const isBack = new Promise<void>((resolve) => {
    client.onGot = resolve;
  });
  exchange.send(client, subnetAddress(7, 9), makeMad(MadClass.SUBNET, MadMethod.GET, [1, 2]), MAD_BYTES);
  const keepAlive = setInterval(() => {}, 1000);
  await isBack;
  clearInterval(keepAlive);
  t.equal(port.sent.length, 3);
  t.equal(client.got[0].isAnswered, false);
  t.same(idOf(client.got[0].mad), [1, 2]);
  t.equal(exchange.unanswered, 1);
});

t.test('a request waits for room at the port', async (t) => {
  const port = new ScriptedMadPort();
  port.hasRoom = false;
  const exchange = new MadExchange(port, { pauseMs: 1 });
  const client = new Client();
  exchange.attach(client);
  exchange.send(client, subnetAddress(7, 9), makeMad(MadClass.SUBNET, MadMethod.GET, [1, 2]), MAD_BYTES);
  t.equal(port.sent.length, 0);
  const keepAlive = setInterval(() => {}, 1000);
  const isSent = new Promise<SentMad>((resolve) => {
    port.onSent = resolve;
  });
  port.hasRoom = true;
  answer(port, await isSent);
  clearInterval(keepAlive);
  t.equal(client.got[0].isAnswered, true);
});

t.test('a transfer of several segments is acknowledged; the client has the first', (t) => {
  const port = new ScriptedMadPort();
  const exchange = new MadExchange(port);
  const client = new Client();
  exchange.attach(client);
  const request = makeMad(MadClass.SUBNET_ADMINISTRATION, MadMethod.GET_TABLE, [1, 2]);
  exchange.send(client, generalAddress(7, 3), request, MAD_BYTES);
  const [query] = port.sent;
  answer(port, query, segment(1, false, 660));
  t.equal(client.got.length, 0, 'more is to come');
  answer(port, query, segment(3, true, 40));
  answer(port, query, segment(2, false, 0));
  answer(port, query, segment(3, true, 40));
  const acknowledged = port.sent.slice(1).map(({ mad }) => getRmppHeaderSegmentNumber(viewOf(mad), RMPP_OFFSET));
  t.same(acknowledged, [1, 1, 2, 3], 'segments that come too early are asked for again');
  for (const { address, mad } of port.sent.slice(1)) {
    t.equal(getRmppHeaderType(viewOf(mad), RMPP_OFFSET), RmppType.ACK);
    t.equal(mad[3], MadMethod.GET_TABLE, 'the method of an acknowledgement has no response bit');
    t.equal(address.dlid, 3);
  }
  t.equal(client.got.length, 1);
  t.equal(getRmppHeaderSegmentNumber(viewOf(client.got[0].mad), RMPP_OFFSET), 1);
  t.equal(exchange.cut, 1);
  exchange.close();
  t.end();
});

t.test('a response of a client is a transfer of one segment; its acknowledgement goes no further', (t) => {
  const port = new ScriptedMadPort();
  const exchange = new MadExchange(port);
  const client = new Client();
  exchange.attach(client);
  const response = makeMad(MadClass.SUBNET_ADMINISTRATION, MadMethod.GET_TABLE_RESPONSE, [1, 2]);
  setRmppHeaderIsActive(viewOf(response), RMPP_OFFSET, 1);
  exchange.send(client, generalAddress(7, 3), response, 168);
  const [{ mad }] = port.sent;
  t.same(idOf(mad), [1, 2], 'the identifier belongs to the other side');
  const view = viewOf(mad);
  t.same([getRmppHeaderIsFirst(view, RMPP_OFFSET), getRmppHeaderIsLast(view, RMPP_OFFSET)], [1, 1]);
  t.equal(getRmppHeaderPayloadLength(view, RMPP_OFFSET), 132);
  const acknowledge = mad.slice();
  acknowledge[3] = MadMethod.GET_TABLE;
  acknowledge[RMPP_OFFSET + 1] = RmppType.ACK;
  port.onMad?.(generalAddress(3, 7), acknowledge);
  t.equal(client.got.length, 0);
  exchange.close();
  t.end();
});

t.test('requests go to the manager, and to clients of their class', (t) => {
  const port = new ScriptedMadPort();
  const exchange = new MadExchange(port);
  const [manager, tool] = [new Client(), new Client()];
  exchange.attach(tool);
  const trap = (): void => port.onMad?.(subnetAddress(9, 7), makeMad(MadClass.SUBNET, MadMethod.TRAP, [0, 1]));
  exchange.send(tool, generalAddress(7, 3), makeMad(MadClass.SUBNET_ADMINISTRATION, MadMethod.GET, [1, 2]), MAD_BYTES);
  exchange.send(tool, subnetAddress(7, 3), makeMad(MadClass.SUBNET, MadMethod.GET, [1, 3]), MAD_BYTES);
  trap();
  t.equal(tool.got.length, 0, 'a trap is for managers');
  const report = makeMad(MadClass.SUBNET_ADMINISTRATION, MadMethod.REPORT, [0, 2]);
  port.onMad?.(generalAddress(3, 7), report);
  t.equal(tool.got.length, 1, 'a report is for the client that has used its class');
  exchange.attach(manager);
  manager.isManager = true;
  trap();
  t.equal(manager.got.length, 1);
  exchange.detach(manager);
  trap();
  t.equal(tool.got.length, 1);
  exchange.close();
  t.end();
});
