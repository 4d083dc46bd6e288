// SPDX-License-Identifier: Apache-2.0
/**
 * Topology files: the values that are read, the sentence for each mistake, and a process that
 * serves one.
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { ControlClient } from '../../../device/process/control/control-client.ts';
import { makeDirectory } from '../testing/directory.ts';
import { CliProcess, runCli } from '../testing/run-cli.ts';
import { runWords } from '../testing/run-words.ts';
import { readTopologyFile } from './topology-file.ts';

const TWO = { a: { sockets: ['a.sock'] }, b: { sockets: ['b.sock'] } };

function write(t: Test, content: unknown): string {
  const path = join(makeDirectory(t), 'topology.json');
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content));
  return path;
}

t.test('adapters of all kinds say their names, unless the file says another', async (t) => {
  const m = { sockets: ['m'], personality: 'mthca' };
  const { adapters } = readTopologyFile(
    write(t, { adapters: { ...TWO, m, n: { ...m, sockets: ['n'], nodeDescription: 'rack 7' } } }),
  );
  const names = adapters.map(({ options }) => options.nodeDescription);
  t.same(names, ['a', 'b', 'm', 'rack 7']);
});

t.test('what is given is read, the rest follows', async (t) => {
  const path = write(t, {
    adapters: { ...TWO, c: { sockets: ['c0', '/c1'], portLids: [9, 10], nodeGuid: '1234567812345678', vcbCount: 8 } },
    links: [
      { ports: ['a:1', 'b:2'] },
      { ports: ['c:1', 'c:2'], seed: 3, faults: { drop: 0.5 }, flaps: [{ atNs: 1, lengthNs: 2 }] },
      { port: 'a:2', listen: 'l' },
      { port: 'b:1', connect: 'tcp://[::1]:7000' },
    ],
  });
  const folder = join(path, '..');
  const { adapters, links } = readTopologyFile(path);
  t.match(adapters, [
    { name: 'a', sockets: [join(folder, 'a.sock')], options: { portLids: [1, 2], nodeGuid: '0056554843410000' } },
    { name: 'b', sockets: [join(folder, 'b.sock')], options: { portLids: [3, 4], nodeGuid: '0056554843410010' } },
    {
      name: 'c',
      sockets: [join(folder, 'c0'), '/c1'],
      options: { portLids: [9, 10], nodeGuid: '1234567812345678', vcbCount: 8 },
    },
  ]);
  t.same(links, [
    { ports: ['a:1', 'b:2'], link: { kind: 'cable' } },
    {
      ports: ['c:1', 'c:2'],
      link: { kind: 'faulty', seed: 3, faults: { drop: 0.5 }, flaps: [{ atNs: 1, lengthNs: 2 }] },
    },
    { port: 'a:2', role: 'listen', endpoint: { path: join(folder, 'l') } },
    { port: 'b:1', role: 'connect', endpoint: { host: '::1', port: 7000 } },
  ]);
});

t.test('switches, links of a width and speed, and ports by switch alone', async (t) => {
  const { switches, links, subnet } = readTopologyFile(
    write(t, {
      adapters: { a: { sockets: ['a'], virtualLanes: 2 }, b: { sockets: ['b'], virtualLanes: 2 } },
      switches: { s: { ports: 4 }, r: { ports: 2, nodeGuid: '00565548535f0000', queuePackets: 4 } },
      links: [
        { ports: ['a:1', 's'], width: '1x', speed: 'DDR' },
        { ports: ['s:1', 'r'] },
        { ports: ['r', 'b:2'], seed: 2 },
      ],
    }),
  );
  t.same(switches, [
    { name: 's', ports: 4, nodeGuid: '0056554853570000', virtualLanes: 2, queuePackets: 16 },
    { name: 'r', ports: 2, nodeGuid: '00565548535f0000', virtualLanes: 2, queuePackets: 4 },
  ]);
  t.same(links, [
    { ports: ['a:1', 's:2'], link: { kind: 'cable' }, width: '1x', speed: 'DDR' },
    { ports: ['s:1', 'r:1'], link: { kind: 'cable' } },
    { ports: ['r:2', 'b:2'], link: { kind: 'faulty', seed: 2 } },
  ]);
  t.equal(subnet, 'managed');
});

t.test('adapters with embedded switches', async (t) => {
  const sockets = ['a', 'a1'];
  const path = write(t, { adapters: { a: { sockets, portModel: 'vswitch' }, b: { sockets: ['b'] } } });
  const { adapters, subnet } = readTopologyFile(path);
  t.match(adapters, [
    { options: { portModel: 'vswitch', functionCount: 2, nodeGuid: '0056554843411000' } },
    { options: { nodeGuid: '0056554843410010' } },
  ]);
  t.equal(subnet, 'managed');
  t.throws(() => readTopologyFile(write(t, { adapters: { a: { sockets, portModel: 'sriov' } } })), {
    message: /: adapter a: option portModel is sriov; it must be shared or vswitch$/,
  });
});

t.test('a topology by rule has places for the adapters of the file, or makes adapters', async (t) => {
  const star = readTopologyFile(write(t, { generate: { star: { adapters: 3, link: { speed: 'SDR' } } } }));
  t.same(
    star.adapters.map(({ name, sockets }) => [name, sockets.map((path) => path.replace(/.*\//, ''))]),
    [1, 2, 3].map((number) => [`a${number}`, [`a${number}.sock`]]),
  );
  t.same(
    star.links,
    [1, 2, 3].map((number) => ({ ports: [`a${number}:1`, `s1:${number}`], link: { kind: 'cable' }, speed: 'SDR' })),
  );
  const tree = readTopologyFile(
    write(t, { adapters: TWO, generate: { 'fat-tree': { leaves: 2, spines: 1, trunks: 2 } } }),
  );
  t.same(
    tree.links.map((link) => ('ports' in link ? link.ports : [])),
    [
      ['a:1', 'leaf1:1'],
      ['b:1', 'leaf1:2'],
      ['leaf1:3', 'spine1:1'],
      ['leaf1:4', 'spine1:2'],
      ['leaf2:3', 'spine1:3'],
      ['leaf2:4', 'spine1:4'],
    ],
  );
  const tall = readTopologyFile(
    write(t, { generate: { 'fat-tree': { levels: 3, leaves: 1, coresPerSpine: 1, adaptersPerLeaf: 1 } } }),
  );
  t.same(
    tall.links.map((link) => ('ports' in link ? link.ports.join(' ') : '')),
    [
      ...['a1:1 leaf1:1', 'a2:1 leaf2:1'],
      ...['leaf1:2 spine1:1', 'leaf1:3 spine2:1', 'leaf2:2 spine3:1', 'leaf2:3 spine4:1'],
      ...['spine1:2 core1:1', 'spine2:2 core2:1', 'spine3:2 core1:2', 'spine4:2 core2:2'],
    ],
  );
});

t.test('each mistake about switches has its sentence', async (t) => {
  const fabric = (switches: object, ...links: object[]) => ({ adapters: TWO, switches, links });
  const s = { s: { ports: 2 } };
  const partition = (one: unknown) => ({
    ...fabric(s),
    manager: { partitions: [typeof one === 'object' ? { name: 'x', ...one } : one] },
  });
  const rule = (generate: unknown, more: object = {}) => ({ generate, ...more });
  const mistakes: [content: unknown, message: RegExp][] = [
    [fabric({ s: {} }), /: switch s: ports is missing; it is the number of its ports$/],
    [fabric({ s: { ports: 1 } }), /: switch s has 1 ports; it must have 2 to 36$/],
    [fabric({ s: { ports: 37 } }), /: switch s has 37 ports; /],
    [fabric({ s: { ports: '3' } }), /: switch s: ports is "3"; it must be a number$/],
    [fabric({ s: { ports: 2, lid: 3 } }), /: switch s: unknown name lid; known are ports, nodeGuid, /],
    [fabric({ s: { ports: 2, nodeGuid: 'x' } }), /: switch s: nodeGuid is x; it must be 16 hexadecimal digits$/],
    [fabric({ s: { ports: 2, virtualLanes: 3 } }), /: switch s: virtualLanes is 3; it must be 1, 2, 4, 8, 15$/],
    [fabric({ s: { ports: 2, queuePackets: 0 } }), /: switch s: queuePackets is 0; it must be 1 to 1024$/],
    [fabric({ a: { ports: 2 } }), /: an adapter and a switch are called a; names must differ$/],
    [
      fabric({ s: { ports: 2 }, r: { ports: 2, nodeGuid: '0056554853570001' } }),
      /: switches s and r have nodeGuid 0056554853570000 and 0056554853570001; they must be at least 3 apart, /,
    ],
    [
      fabric({ s: { ports: 2, nodeGuid: '0056554843410000' } }),
      /: adapter a and switch s have nodeGuid \w+ and \w+; they must be at least 3 apart/,
    ],
    [fabric(s, { ports: ['a:1', 's:3'] }), /: link a:1 - s:3: port s:3 does not exist; switch s has ports s:1 to s:2$/],
    [fabric(s, { ports: ['a:1', 'r:1'] }), /: there is no node r; the adapters are a, b, the switches s$/],
    [fabric(s, { ports: ['a:1', 's:1'] }, { ports: ['b:1', 's:1'] }), /: port s:1 has a link already; a port has one$/],
    [
      fabric(s, { ports: ['a:1', 's'] }, { ports: ['b:1', 's'] }, { ports: ['b:2', 's'] }),
      /: switch s has 2 ports, and more links name it; give it more ports$/,
    ],
    [fabric(s, { ports: ['a:1', 's'], width: '3x' }), /: width is 3x; it must be 1x, 2x, 4x, 8x, 12x$/],
    [fabric(s, { ports: ['a:1', 's'], speed: 'XDR' }), /: speed is XDR; it must be SDR, DDR, QDR$/],
    [
      fabric({ s: { ports: 2, virtualLanes: 4 } }, { ports: ['a:1', 's'] }),
      /: it joins ports of 1 and 4 virtualLanes; both must have the same$/,
    ],
    [{ ...fabric(s), subnet: 'fixed' }, /: a switch needs a subnet manager; subnet cannot be fixed$/],
    [{ ...fabric(s), subnet: 'x' }, /: subnet is x; it must be managed, external, fixed$/],
    [{ ...fabric(s), manager: { priority: 16 } }, /: manager: priority 16 must be a whole number from 0 to 15$/],
    [{ ...fabric(s), manager: { lmc: 8 } }, /: manager: lmc 8 must be a whole number from 0 to 7$/],
    [{ ...fabric(s), manager: { mKeyProtect: 0 } }, /: manager: mKeyProtect 0 must be a whole number from 1 to 3$/],
    [
      { ...fabric(s), manager: { lanes: { low: [] } } },
      /: manager: lanes: unknown name low; known are serviceLevels, /,
    ],
    [{ ...fabric(s), manager: { lanes: { highLimit: 'x' } } }, /: manager: lanes: highLimit is "x"; it must be a numb/],
    [
      { ...fabric(s), manager: { lanes: { arbitrationLow: [[0]] } } },
      /: manager: lanes: arbitrationLow: turn \[0\] must be \[VL, weight\], of 0 to 14 and 0 to 255$/,
    ],
    [{ ...fabric(s), manager: { prio: 1 } }, /: manager: unknown name prio; known are priority, /],
    [
      { ...fabric(s), manager: {}, subnet: 'external' },
      /: manager has options, and subnet is external; it must be managed$/,
    ],
    [partition({}), /: manager: partition 1: pKey is missing; it is a number from 1 to 32767$/],
    [partition({ pKey: 0 }), /: manager: partition x: pKey 0 must be a whole number from 1 to 32767$/],
    [partition({ pKey: 1, members: 'some' }), /: members is "some"; it must be all, all-limited or a list$/],
    [partition({ pKey: 1, members: [{ guid: 'z' }] }), /: partition x: GUID z of a member must have 16 hex/],
    [partition({ pKey: 1, members: [{ guid: '', membership: 'no' }] }), /: membership is "no"; it must be full or/],
    [partition(7), /: manager: partition 1 is 7; it must be an object$/],
    [rule({}), /: generate is {}; it must be an object with one of star, ring, fat-tree$/],
    [rule({ torus: {} }), /: generate: unknown name torus; known are star, ring, fat-tree$/],
    [
      rule({ ring: { size: 3 } }),
      /: generate ring: unknown name size; known are switches, adaptersPerSwitch, trunks, link$/,
    ],
    [rule({ ring: { switches: 0 } }), /: generate ring: switches is 0; it must be a whole number from 1 to 1000$/],
    [rule({ 'fat-tree': { levels: 4 } }), /: generate fat-tree: levels is 4; it must be 2 or 3$/],
    [
      rule({ 'fat-tree': { levels: 2, pods: 3 } }),
      /: generate fat-tree: pods is a parameter of three levels; levels must be 3$/,
    ],
    [rule({ 'fat-tree': { coresPerSpine: 3 } }), /: generate fat-tree: coresPerSpine is a parameter of three levels; /],
    [rule({ 'fat-tree': { levels: 3, pods: 37 } }), /: switch core1 has 37 ports; it must have 2 to 36$/],
    [rule({ star: { link: { delayNs: -1 } } }), /: link a1:1 - s1:1: link option delayNs is -1; it must be/],
    [rule({ star: { link: { width: 4 } } }), /: generate star: link: width is 4; it must be a string$/],
    [rule({ star: { adapters: 1 } }, { adapters: TWO }), /: generate has places for 1 adapters, and there are 2; /],
    [rule({ star: { adapters: 40 } }), /: switch s1 has 40 ports; it must have 2 to 36$/],
    [rule({ star: { adapters: 2 } }, { switches: { s1: { ports: 2 } } }), /: two switches are called s1; /],
  ];
  for (const [content, message] of mistakes)
    t.throws(() => readTopologyFile(write(t, content)), { name: 'UsageError', message }, JSON.stringify(content));
});

t.test('each mistake has its sentence', async (t) => {
  const adapter = (more: object) => ({ adapters: { a: { sockets: ['s'], ...more } } });
  const link = (more: object) => ({ adapters: TWO, links: [more] });
  const ports = ['a:1', 'b:1'];
  const mistakes: [content: unknown, message: RegExp][] = [
    ['{', /: it is no JSON: /],
    ['[]', /: the file is \[\]; it must be an object$/],
    [{}, /: adapters is missing/],
    [{ adapters: {} }, /: there is no adapter; name at least one$/],
    [
      { adapters: TWO, cables: [] },
      /: the file: unknown name cables; known are adapters, switches, links, generate, subnet, manager$/,
    ],
    [{ adapters: { 'a b': { sockets: ['s'] } } }, /: adapter name "a b" must be 1 to 32 letters/],
    [{ adapters: { a: {} } }, /: adapter a has no socket; /],
    [{ adapters: { a: { sockets: 's' } } }, /: adapter a: sockets is "s"; it must be a list of strings$/],
    [adapter({ sockets: ['s', 's'] }), /: adapter a: socket \S+s is named twice; /],
    [adapter({ vcbs: 3 }), /: adapter a: unknown name vcbs; known are sockets, functionCount, vcbCount, /],
    [adapter({ vcbCount: '3' }), /: adapter a: vcbCount is "3"; it must be a number$/],
    [adapter({ vcbCount: 0 }), /: adapter a: option vcbCount is 0; it must be 1 to \d+$/],
    [adapter({ portLids: [1] }), /: adapter a: portLids is \[1\]; it must be a list of 2 numbers$/],
    [
      { adapters: { ...TWO, c: { sockets: ['c'], portLids: [2, 9] } } },
      /: adapters a and c both have LID 2; portLids of two adapters must differ$/,
    ],
    [
      { adapters: { ...TWO, c: { sockets: ['c'], nodeGuid: '0056554843410002' } } },
      /: adapters a and c have nodeGuid 0056554843410000 and 0056554843410002; they must be at least 3 apart/,
    ],
    [link({}), /: link 1 must have ports, two of them, or port with listen or connect$/],
    [link({ ports: ['a:1'] }), /: link 1 must have ports, two of them/],
    [link({ ports: ['a:1', 'x:1'] }), /: link a:1 - x:1: there is no adapter x; the adapters are a, b$/],
    [link({ ports: ['a:1', 'b:3'] }), /: link a:1 - b:3: port b:3 must end in :1 or :2$/],
    [link({ ports: ['a:1', 'a:1'] }), /: port a:1 has a link already; a port has one$/],
    [link({ ports, rate: 1 }), /: link 1: unknown name rate; known are ports, width, speed, seed, mtuBytes, /],
    [link({ ports, delayNs: -1 }), /: link a:1 - b:1: link option delayNs is -1; it must be 0 to /],
    [link({ ports, faults: { drop: 2 } }), /: link a:1 - b:1: link fault drop has probability 2; it must be 0 to 1$/],
    [link({ ports, faults: { lose: 1 } }), /: link 1: faults: unknown name lose; known are drop, /],
    [link({ ports, schedule: [{ fault: 'x', direction: 0, packet: 1 }] }), /: link 1: schedule entry 1: fault is x; /],
    [link({ ports, schedule: [{ fault: 'drop', packet: 1 }] }), /schedule entry 1: direction is undefined; /],
    [link({ ports, flaps: [{ atNs: 1, lengthNs: 0 }] }), /: link a:1 - b:1: link flap 0 has no length/],
    [link({ port: 'a:1' }), /: link 1: port a:1 needs either listen or connect, with an address$/],
    [link({ port: 'a:1', listen: 'x', connect: 'y' }), /needs either listen or connect/],
    [
      link({ port: 'a:1', listen: 'tcp://x' }),
      /: link 1: listen is tcp:\/\/x; it must be a path, tcp:\/\/HOST:PORT or /,
    ],
    [link({ port: 'a:1', connect: 'tcp://10.0.0.1:7' }), /: link 1: tcp:\/\/10.0.0.1:7 is not on loopback/],
    [
      link({ port: 'a:1', listen: 'x', width: '' }),
      /: link 1: unknown name width; known are port, listen, connect, key, seed, /,
    ],
    [link({ port: 'a:1', listen: 'x', delayNs: -1 }), /: link 1: link option delayNs is -1; it must be 0 to /],
    [link({ port: 'a:1', listen: 'x', faults: { lose: 1 } }), /: link 1: faults: unknown name lose; known are drop, /],
    [
      { adapters: { ...TWO, b: { sockets: ['b'], virtualLanes: 2 } }, links: [{ ports }] },
      /: link a:1 - b:1: it joins ports of 1 and 2 virtualLanes; both must have the same$/,
    ],
  ];
  for (const [content, message] of mistakes)
    t.throws(() => readTopologyFile(write(t, content)), { name: 'UsageError', message }, JSON.stringify(content));
  t.throws(() => readTopologyFile('/none/x'), {
    message: /^topology \/none\/x: it cannot be read \(ENOENT\): it does not exist/,
  });
});

t.test('a process serves its adapters and links, and leaves nothing', async (t) => {
  const path = write(t, {
    adapters: { ...TWO, a: { sockets: ['a.sock', 'a1.sock'] } },
    links: [{ ports: ['a:1', 'b:1'] }, { port: 'a:2', listen: 'link' }, { port: 'b:2', connect: 'link' }],
  });
  const folder = join(path, '..');
  const device = new CliProcess(['device', '--topology', path], { XDG_RUNTIME_DIR: folder });
  t.teardown(() => device.child.kill('SIGKILL'));
  const [, sockets, controlPath] = await device.until(/^listening on (.*) control (\S+)$/m);
  t.equal(sockets, ['a.sock', 'a1.sock', 'b.sock'].map((name) => join(folder, name)).join(' '));
  const client = await ControlClient.connect(controlPath);
  const read = async () => await client.request('status');
  let status = await read();
  while (!status.links.every(({ up }) => up)) status = await read();
  t.match(status.links, [
    { ends: ['a:1', 'b:1'], kind: 'cable' },
    { ends: ['a:2', `listen ${join(folder, 'link')}`], kind: 'socket' },
    { ends: ['b:2', `connect ${join(folder, 'link')}`], kind: 'socket' },
  ]);
  t.match(status.adapters, [
    { name: 'a', functions: [{ number: 0 }, { number: 1 }], ports: [{ lid: 1, state: 'ACTIVE' }, { lid: 2 }] },
    { name: 'b', functions: [{ number: 0 }], ports: [{ lid: 3 }, { lid: 4, state: 'ACTIVE' }] },
  ]);
  await t.rejects(client.request('capture-start', { path: join(folder, 'x') }), {
    message: /name an adapter; .* a, b$/,
  });
  await t.rejects(client.request('capture-start', { path: '/x', adapter: 'c' }), {
    message: /no adapter c; there are a, b$/,
  });
  t.match(await client.request('capture-start', { path: join(folder, 'x'), adapter: 'b' }), { active: true });
  client.close();
  device.child.kill('SIGTERM');
  t.equal(await device.whenExited, 0);
  t.same(readdirSync(folder).sort(), ['topology.json', 'vuhca', 'x']);
});

t.test('a process with switches manages its subnet, and its recording replays', async (t) => {
  const path = write(t, { adapters: TWO, generate: { ring: { switches: 3, adaptersPerSwitch: 1 } } });
  const folder = join(path, '..');
  const recording = join(folder, 'x.rec');
  const device = new CliProcess(['device', '--topology', path, '--record', recording], { XDG_RUNTIME_DIR: folder });
  t.teardown(() => device.child.kill('SIGKILL'));
  const [, , controlPath] = await device.until(/^listening on (.*) control (\S+)$/m);
  const client = await ControlClient.connect(controlPath);
  const read = async () => await client.request('status');
  let status = await read();
  while (!status.adapters.every(({ ports: [port] }) => port.state === 'ACTIVE')) status = await read();
  const lids = status.adapters.flatMap(({ ports }) => ports.map(({ lid }) => lid));
  t.ok(lids[0] > 0 && lids[2] > 0 && lids[0] !== lids[2], `${lids}`);
  t.same([lids[1], lids[3]], [0, 0], 'ports without a link have no LID');
  t.same(
    status.links.map(({ ends }) => ends),
    [
      ['a:1', 's1:1'],
      ['b:1', 's2:1'],
      ['s1:2', 's2:3'],
      ['s1:3', 's3:2'],
      ['s2:2', 's3:3'],
    ],
  );
  client.close();
  device.child.kill('SIGTERM');
  t.equal(await device.whenExited, 0);
  t.match(await runWords(['replay', recording]), { status: 0, stdout: /: identical: \d+ steps/ });
});

t.test('what does not go together is refused before anything starts', async (t) => {
  const directory = makeDirectory(t);
  const two = write(t, { adapters: TWO });
  const socket = ['--socket', join(directory, 's')];
  const listen = (port: number) => ['--link', `${port}=listen:${join(directory, `l${port}`)}`];
  const mistakes: [status: number, words: string[], stderr: RegExp][] = [
    [2, ['--topology', two, '--vcbs', '3'], /option --vcbs cannot be given with --topology: the file says it/],
    [2, ['--topology', two, ...socket], /option --socket cannot be given with --topology/],
    [2, [...socket, '--link', '3=listen:x'], /option --link is 3=listen:x; it must be PORT=listen:ADDRESS or /],
    [2, [...socket, '--link', '1=x'], /option --link is 1=x; it must be/],
    [2, [...socket, '--link', '1=listen:tcp://x'], /option --link is 1=listen:tcp:\/\/x; it must be/],
    [
      2,
      [...socket, '--link', '1=listen:tcp://0.0.0.0:7000'],
      /option --link is .*, but tcp:.* is not on loopback, .* say tcp\+plain:\/\/0.0.0.0:7000 /,
    ],
    [2, [...socket, ...listen(1), ...listen(1)], /option --link names port 1 twice; a port has one link/],
    [1, [...socket, '--link', '1=listen:/none/x'], /^vuhca device: the link of port 1 at \/none\/x cannot listen \(E/m],
  ];
  for (const [status, words, stderr] of mistakes) {
    const perform = status === 2 ? runWords : runCli;
    const result = await perform(['device', ...words], { XDG_RUNTIME_DIR: directory });
    t.match(result, { status, stderr, stdout: '' }, words.join(' '));
    t.notMatch(result.stderr, /\n +at /, 'no stack');
  }
  t.same(readdirSync(directory), ['vuhca'], 'nothing is left');
});
