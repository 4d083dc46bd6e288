// SPDX-License-Identifier: Apache-2.0
/** Links over TLS: who is admitted, who is not, and what both sides are told. */
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import t from 'tap';
import { type LinkKey, parseLinkKey } from '../../../protocol/system/link-key.ts';
import { sharedKeyText, TestAuthority } from '../../../protocol/system/testing/link-keys.ts';
import { counting, exchange, isActive, linkTo, Side, until } from '../../rig/live/link-side.ts';

const folder = mkdtempSync(join(tmpdir(), 'vuhca-tls-'));
t.teardown(() => rmSync(folder, { recursive: true }));
const keyOf = (text: string): LinkKey => parseLinkKey(Buffer.from(text)) as LinkKey;
const [lab, strangers] = [new TestAuthority(folder, 'lab'), new TestAuthority(folder, 'strangers')];
const shared = [keyOf(sharedKeyText('1')), keyOf(sharedKeyText('2'))] as const;
const certified = [keyOf(lab.issue('a')), keyOf(lab.issue('b'))] as const;
const foreign = keyOf(strangers.issue('c'));
const expired = keyOf(lab.issue('d', '-days', '-1'));
/** Each has the certificate of the other, and no authority. */
const paired = [
  keyOf(lab.privateKey + lab.certificate + strangers.certificate),
  keyOf(strangers.privateKey + strangers.certificate + lab.certificate),
] as const;
const HOST = '127.0.0.1';

/** A listening side with a key or none, and one that connects to it. */
async function meet(here: LinkKey | undefined, there: LinkKey | undefined): Promise<readonly [Side, Side]> {
  const listener = new Side(1, 'listen', { host: HOST, port: 0 }, { ...(here && { key: here }) });
  await listener.socketLink.start();
  const endpoint = { host: HOST, port: listener.socketLink.boundPort };
  const connector = new Side(2, 'connect', endpoint, { ...(there && { key: there }) });
  await connector.socketLink.start();
  return [listener, connector];
}

const close = (...sides: readonly Side[]): void => {
  for (const { socketLink } of sides) socketLink.close();
};

t.test('packets pass between ends that know each other, and the link comes back', async (t) => {
  for (const [here, there] of [[shared[0], shared[0]], certified, paired]) {
    const [listener, connector] = await meet(here, there);
    await until(isActive(listener, connector), 'a link', listener, connector);
    await exchange(listener, connector, 500);
    await exchange(connector, listener, 500);
    t.same(connector.arrivals.ids, counting(500), here.kind);
    t.same([...listener.arrivals.errors, ...connector.arrivals.errors], [], here.kind);
    connector.socketLink.link.cut();
    connector.socketLink.followCable();
    await until(() => !isActive(listener)(), 'the cut', listener, connector);
    connector.socketLink.link.plugIn();
    connector.socketLink.followCable();
    await until(isActive(listener, connector), 'the link again', listener, connector);
    t.same([listener.socketLink.trouble, connector.socketLink.trouble], [undefined, undefined]);
    close(listener, connector);
  }
});

t.test('ends that do not fit are told so, and no port comes up', async (t) => {
  const ANOTHER = /^the peer has another key; give both the same one/;
  const UNLIKE = /^one end has a shared key, and the other certificates; give both the same kind/;
  const UNSIGNED = /^no authority of this end has signed the certificate of the peer/;
  const LOG = /; (it may want a key: )?its log says why$/;
  const PLAIN = /^the peer does not encrypt; give it the key/;
  const ENCRYPTS = /^connection ended: encrypted peer; give this end the key/;
  const cases: readonly [here: LinkKey | undefined, there: LinkKey | undefined, listener: RegExp, connector: RegExp][] =
    [
      [shared[0], shared[1], ANOTHER, ANOTHER],
      [shared[0], undefined, PLAIN, LOG],
      [undefined, shared[0], ENCRYPTS, PLAIN],
      [shared[0], certified[0], UNLIKE, UNLIKE],
      [certified[0], shared[0], LOG, UNLIKE],
      [certified[0], foreign, LOG, UNSIGNED],
      [certified[0], keyOf(strangers.issue('e') + certificateOf(certified[0])), UNSIGNED, LOG],
      [certified[0], expired, /^the certificate of the peer has expired/, LOG],
      [certified[0], undefined, PLAIN, LOG],
    ];
  for (const [index, [here, there, first, second]] of cases.entries()) {
    const [listener, connector] = await meet(here, there);
    const isTold = () =>
      listener.lines.some((line) => first.test(wordsOf(line))) &&
      connector.lines.some((line) => second.test(wordsOf(line)));
    await until(isTold, `case ${index}`, listener, connector);
    await until(
      () => connector.socketLink.failedAttempts > 2 || connector.lines.length > 0,
      'tries',
      listener,
      connector,
    );
    t.notOk(isActive(listener)() || isActive(connector)(), `case ${index}`);
    t.equal(listener.socketLink.link.connections + connector.socketLink.link.connections, 0, `case ${index}`);
    close(listener, connector);
  }
});

/** The authorities of a certificate, for another key to trust. */
function certificateOf(key: LinkKey): string {
  return key.kind === 'certified' ? key.authorities.join('\n') : '';
}

const wordsOf = (line: string): string => line.replace(/^link of port \d at \S+: /, '');

t.test('a shared key takes no certificate instead, whoever has signed it', async (t) => {
  const { privateKey, certificates } = certified[0] as LinkKey & { kind: 'certified' };
  const impostor = createTlsServer({ key: privateKey, cert: certificates.join('\n') });
  impostor.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => impostor.listen(0, HOST, resolve));
  const { port } = impostor.address() as { port: number };
  const connector = new Side(2, 'connect', { host: HOST, port }, { key: shared[0] });
  await connector.socketLink.start();
  await until(() => connector.socketLink.failedAttempts > 1, 'the refusal', connector);
  t.match(connector.socketLink.trouble, /^one end has a shared key/);
  connector.socketLink.close();
  impostor.close();
});

t.test('silent and wrong peers keep nobody out', async (t) => {
  const listener = new Side(1, 'listen', { host: HOST, port: 0 }, { key: shared[0] });
  await listener.socketLink.start();
  const endpoint = { host: HOST, port: listener.socketLink.boundPort };
  const strangers = Array.from({ length: 12 }, () => connect(endpoint));
  for (const [index, socket] of strangers.entries()) {
    socket.on('error', () => {});
    socket.resume();
    if (index % 2 === 0) socket.write(Buffer.alloc(1000, index));
  }
  const connector = await linkTo(listener, endpoint, { key: shared[0] });
  await exchange(connector, listener, 50);
  await until(
    () => strangers.filter(({ closed }) => closed).length === 6,
    'the end of wrong ones',
    listener,
    connector,
  );
  t.ok(isActive(listener, connector)());
  for (const socket of strangers) socket.destroy();
  close(listener, connector);
});
