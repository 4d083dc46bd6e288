// SPDX-License-Identifier: Apache-2.0
/**
 * Addresses of links: those that are read, those that are refused, and those that may carry plain
 * text.
 */
import t from 'tap';
import { findEndpointError, nameEndpoint, parseEndpoint, takesKey } from './socket-address.ts';

t.test('paths and addresses of TCP are read and named', async (t) => {
  const addresses: [text: string, endpoint: unknown][] = [
    ['/tmp/cable', { path: '/tmp/cable' }],
    ['tcp', { path: 'tcp' }],
    ['a:b', { path: 'a:b' }],
    ['tcp://127.0.0.1:7000', { host: '127.0.0.1', port: 7000 }],
    ['tcp://[::1]:7000', { host: '::1', port: 7000 }],
    ['tcp://[fe80::1%eth0]:1', { host: 'fe80::1%eth0', port: 1 }],
    ['tcp+plain://node-7.lab:65535', { host: 'node-7.lab', port: 65535, plain: true }],
  ];
  for (const [text, endpoint] of addresses) {
    t.same(parseEndpoint(text), endpoint, text);
    t.equal(nameEndpoint(endpoint as never), text);
  }
  for (const bad of [
    'tcp://',
    'tcp://x',
    'tcp://x:',
    'tcp://x:65536',
    'tcp://::1:7',
    'tcp://[x]:7',
    'tcp://[1.2.3.4]:7',
  ])
    t.equal(parseEndpoint(bad), undefined, bad);
  for (const bad of [
    'udp://x:1',
    'tls://x:1',
    'tcp+plain://x',
    'tcp://a b:1',
    'tcp://x:1/y',
    'tcp://u@x:1',
    'http://x:1',
  ])
    t.equal(parseEndpoint(bad), undefined, bad);
});

t.test('a key is for tcp:// alone', async (t) => {
  const takes = (text: string) => takesKey(parseEndpoint(text) as never);
  t.same(['tcp://a:1', 'tcp+plain://a:1', '/a'].map(takes), [true, false, false]);
});

t.test('plain text stays on loopback unless it is asked for by name', async (t) => {
  const errorOf = (text: string, role: 'listen' | 'connect' = 'listen', isKeyed = false) =>
    findEndpointError(role, parseEndpoint(text) as never, isKeyed, '--key');
  for (const host of ['127.0.0.1', '127.255.0.9', '[::1]', 'localhost', 'LOCALHOST'])
    t.equal(errorOf(`tcp://${host}:7`), undefined, host);
  for (const host of ['0.0.0.0', '10.0.0.1', '128.0.0.1', '[::]', '[::2]', 'localhost.lab', 'node7']) {
    t.match(errorOf(`tcp://${host}:7`), /is not on loopback, .* a key \(--key\), or say tcp\+plain:\/\//, host);
    t.equal(errorOf(`tcp+plain://${host}:7`), undefined, 'by name');
    t.equal(errorOf(`tcp://${host}:7`, 'listen', true), undefined, 'with a key');
  }
  t.equal(errorOf('/tmp/x'), undefined);
  t.equal(errorOf('tcp://127.0.0.1:0'), undefined);
  t.match(errorOf('tcp://127.0.0.1:0', 'connect'), /has no port to connect to/);
});
