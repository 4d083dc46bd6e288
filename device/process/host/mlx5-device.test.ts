// SPDX-License-Identifier: Apache-2.0
/**
 * A device of the personality mlx5 in a live process, as a client of its socket sees it:
 * configuration space, the one BAR, commands in shared memory, a failure and its recovery. The
 * recording replays, with timer and health counter as the client has read them. A device of two
 * functions has a node, a socket and a port for each.
 */
import t from 'tap';
import { swapBytes } from '../../../protocol/layout/dwords.ts';
import {
  COMMAND_ENTRY_SIZE,
  getCommandEntryOwner,
  setCommandEntryInputBytes,
  setCommandEntryOutputBytes,
  setCommandEntryOwner,
  setCommandEntryType,
} from '../../../protocol/mlx5/gen/command-entry.gen.ts';
import {
  BAR_BYTES,
  COMMAND_ADDRESS_OFFSET,
  COMMAND_DOORBELL_OFFSET,
  FIRST_UAR,
  HEALTH_COUNTER_OFFSET,
  HEALTH_OFFSET,
  MSIX_PBA_OFFSET,
  MSIX_TABLE_OFFSET,
  TIMER_OFFSET,
  UAR_PAGE_BYTES,
} from '../../../protocol/mlx5/gen/constants.gen.ts';
import { CommandOpcode, HealthSyndrome } from '../../../protocol/mlx5/gen/values.gen.ts';
import { CONFIG_REGION } from '../../../protocol/vfio-user/client/client.ts';
import { SharedMemory } from '../../../protocol/vfio-user/client/unix-socket.ts';
import { defaultMlx5Options } from '../../personality/mlx5/options.ts';
import { encodeFault } from '../../personality/shared/injected-faults.ts';
import type { PersonalityOptions } from '../../personality/shared/options.ts';
import { AttachedProcess } from '../../rig/live/attached-process.ts';
import { makeTwoFunctions } from '../../topology/device-functions.ts';
import type { AdapterNode, PersonalityNode } from '../../topology/fabric-plan.ts';
import { type LoneFabric, loneFabrics } from '../../topology/lone-fabric.ts';
import { findTopologyError, type LinkPlan, loneDevice, portNamesOf, slotsOf, type Topology } from './topology.ts';

const BAR = 0;
const PCI_COMMAND = 4;
const MEMORY_AND_BUS_MASTER = 6;
const BAR_REGISTERS = 0x10;
const ONES = 0xffff_ffff;
const MSIX_CAPABILITY = 0x11;
const EXPRESS_CAPABILITY = 0x10;
const MEMORY = 0x12_3456_0000;
const MEMORY_BYTES = 0x10000;
const PCIE = 7;
const FULL_DRIVER = 0;
const RESET = 7;
const OFF = 1;

const NODE_GUID = defaultMlx5Options.nodeGuid;

const node: AdapterNode = { name: 'a', personality: 'mlx5', options: defaultMlx5Options };

/** Offset of a capability in configuration space, or 0. */
async function findCapability(device: AttachedProcess, id: number): Promise<number> {
  const at = (offset: number) => device.readBytes(CONFIG_REGION, offset, 1).then((view) => view.getUint8(0));
  let place = await at(0x34);
  while (place !== 0 && (await at(place)) !== id) place = await at(place + 1);
  return place;
}

t.test('configuration space', async (t) => {
  const device = await AttachedProcess.start(t, node);
  const read = (offset: number) => device.read(CONFIG_REGION, offset);
  t.equal(await read(0), 0x101715b3);
  t.equal((await read(8)) >>> 8, 0x020700, 'an InfiniBand controller');
  t.equal(await read(0x2c), 0x101715b3, 'subsystem');
  for (let index = 0; index < 6; index++) await device.write(CONFIG_REGION, BAR_REGISTERS + 4 * index, ONES);
  const bars: number[] = [];
  for (let index = 0; index < 6; index++) bars.push(await read(BAR_REGISTERS + 4 * index));
  t.same(bars, [(ONES - BAR_BYTES + 1 + 0xc) >>> 0, ONES, 0, 0, 0, 0], 'one BAR of 64 bits, prefetchable');
  const msix = await findCapability(device, MSIX_CAPABILITY);
  t.same([await read(msix + 4), await read(msix + 8)], [MSIX_TABLE_OFFSET, MSIX_PBA_OFFSET], 'both in BAR 0');
  t.ok(MSIX_PBA_OFFSET < FIRST_UAR * UAR_PAGE_BYTES, 'below the UAR pages');
  const express = await findCapability(device, EXPRESS_CAPABILITY);
  t.equal((await read(express + 4)) >>> 28, 1, 'function level reset');
});

t.test('commands, a failure, and a reset by the driver', async (t) => {
  const device = await AttachedProcess.start(t, node);
  const memory = new SharedMemory(MEMORY_BYTES);
  await device.share(memory, MEMORY);
  const bytes = new Uint8Array(memory.map(), 0, COMMAND_ENTRY_SIZE);
  memory.close();
  const entry = new DataView(bytes.buffer);
  const read = async (offset: number) => swapBytes(await device.read(BAR, offset)) >>> 0;
  const write = (offset: number, value: number) => device.write(BAR, offset, swapBytes(value));
  const setInterface = (state: number) => write(COMMAND_ADDRESS_OFFSET + 4, ((MEMORY % 2 ** 32) | (state << 8)) >>> 0);
  /** Returns the status of the command; undefined when it has not ended. */
  const command = async (opcode: CommandOpcode, outputBytes = 0x10): Promise<number | undefined> => {
    bytes.fill(0);
    setCommandEntryType(entry, 0, PCIE);
    setCommandEntryInputBytes(entry, 0, 0x10);
    setCommandEntryOutputBytes(entry, 0, outputBytes);
    entry.setUint16(0x10, opcode);
    setCommandEntryOwner(entry, 0, 1);
    await write(COMMAND_DOORBELL_OFFSET, 1);
    await device.settle();
    return getCommandEntryOwner(entry, 0) === 0 ? entry.getUint8(0x20) : undefined;
  };
  await device.write(CONFIG_REGION, PCI_COMMAND, MEMORY_AND_BUS_MASTER);
  await write(COMMAND_ADDRESS_OFFSET, Math.floor(MEMORY / 2 ** 32));
  await setInterface(FULL_DRIVER);
  t.equal(await command(CommandOpcode.ENABLE_HCA, 0xc), 0);
  t.equal(await command(CommandOpcode.NOP), 0);
  const [first, second] = [await read(TIMER_OFFSET + 4), await read(TIMER_OFFSET + 4)];
  t.not(first, second, 'the timer moves');
  t.equal((await device.readBytes(BAR, TIMER_OFFSET, 8)).getUint32(0, false), 0, 'its upper half comes first');
  await read(HEALTH_COUNTER_OFFSET);

  device.process.seam.functions[0].plantFault(encodeFault(['fatal', 'cause=hardware']));
  device.process.pump.wake();
  t.equal(await command(CommandOpcode.NOP), undefined, 'no command ends');
  const syndrome = await device.readBytes(BAR, HEALTH_OFFSET + 0x3d, 1);
  t.equal(syndrome.getUint8(0), HealthSyndrome.HARDWARE);
  await setInterface(RESET);
  t.equal(((await read(COMMAND_ADDRESS_OFFSET + 4)) >>> 8) & 7, OFF);
  await write(COMMAND_ADDRESS_OFFSET, Math.floor(MEMORY / 2 ** 32));
  await setInterface(FULL_DRIVER);
  t.equal(await command(CommandOpcode.ENABLE_HCA, 0xc), 0, 'it starts anew');
  t.equal(device.underlying.resets.software, 1);
  t.match(device.replay(), { truncated: false, divergence: undefined });
});

function makeNodes(options: Partial<PersonalityOptions> = {}): readonly [PersonalityNode, PersonalityNode] {
  return makeTwoFunctions({ name: 'a', personality: 'mlx5', options: { ...defaultMlx5Options, ...options } });
}

function makeLone(
  fabric: LoneFabric,
  links: readonly LinkPlan[] = [],
  options?: Partial<PersonalityOptions>,
): Topology {
  return loneDevice('/run/x', makeNodes(options), links, fabric);
}

/** The ports that links of this process join. */
function joined({ links }: Topology): string[] {
  return links.flatMap((link) => ('ports' in link ? [link.ports.join(' ')] : []));
}

t.test('two functions: the nodes', async (t) => {
  const nodes = makeNodes({ portLids: [7, 9] });
  t.match(nodes, [
    { name: 'a', options: { nodeGuid: NODE_GUID, portLids: [7, 9], portCount: 1 } },
    {
      name: 'a/1',
      personality: 'mlx5',
      functionOf: 'a',
      options: {
        nodeGuid: '0056554843416002',
        systemImageGuid: NODE_GUID,
        nodeDescription: 'vuhca mlx5/1',
        portLids: [9, 9],
        portCount: 1,
      },
    },
  ]);
  t.same(portNamesOf(nodes), ['a:1', 'a/1:1']);
  t.equal(nodes[0].functionOf, undefined);
  t.equal(nodes[0].options.systemImageGuid, undefined, 'that of the node');
  const [, named] = makeNodes({ nodeGuid: '00565548434160FF', nodeDescription: 'card' });
  t.match(named.options, { nodeGuid: '0056554843416101', nodeDescription: 'card/1' });
});

t.test('two functions: sockets, slot and links of a lone device', async (t) => {
  for (const fabric of loneFabrics) {
    const topology = makeLone(fabric);
    t.equal(findTopologyError(topology), undefined, fabric);
    t.match(topology.adapters, [{ sockets: ['/run/x'] }, { sockets: ['/run/x.1'] }]);
    t.same(slotsOf(topology), [['/run/x', '/run/x.1']]);
    t.equal(topology.subnet, fabric === 'switch' ? 'managed' : 'fixed');
  }
  t.same(joined(makeLone('cable')), ['a:1 a/1:1']);
  t.same(joined(makeLone('switch')), ['a:1 s:1', 'a/1:1 s:2']);
  t.same(joined(makeLone('none')), []);
  const faulty = { kind: 'faulty', seed: 7, faults: { drop: 0.01 } } as const;
  t.match(makeLone('cable', [], { portLink: faulty }).links, [{ ports: ['a:1', 'a/1:1'], link: faulty }]);
  for (const port of ['a:1', 'a/1:1']) {
    const away = makeLone('cable', [{ port, role: 'listen', endpoint: { path: '/run/y' } }]);
    t.equal(findTopologyError(away), undefined);
    t.same(joined(away), [], `the neighbour of ${port} is unplugged`);
  }
});

t.test('two functions: each mistake in a plan has its sentence', async (t) => {
  const plan = makeLone('cable');
  const [first, second] = plan.adapters;
  const change = (changes: object): Topology => ({
    ...plan,
    adapters: [first, { ...second, ...changes } as typeof second],
  });
  const set = (options: object): Topology => change({ options: { ...second.options, ...options } });
  const link = (...ports: [string, string]): Topology => ({ ...plan, links: [{ ports, link: { kind: 'cable' } }] });
  for (const [topology, says] of [
    [change({ name: 'b/1' }), /^adapter name "b\/1" must be 1 to 32 letters, digits, dots or dashes$/],
    [change({ name: 'b/1', functionOf: 'b' }), /^adapter name "b\/1" must be/],
    [change({ functionOf: 'b' }), /^adapter name "a\/1" must be/],
    [change({ functionOf: undefined }), /^adapter name "a\/1" must be/],
    [change({ sockets: ['/run/x'] }), /^adapter a\/1: socket \/run\/x is named twice; sockets must differ$/],
    [change({ sockets: ['/y', '/z'] }), /^adapter a\/1 has 2 sockets for 1 or 2 functions; it needs one for each$/],
    [set({ systemImageGuid: '12' }), /^adapter a\/1: option systemImageGuid is 12; it must be 16 hex digits$/],
    [set({ nodeGuid: NODE_GUID }), /^adapters a and a\/1 have nodeGuid .*; they must be at least 2 apart/],
    [set({ portLids: [1, 1] }), /^adapters a and a\/1 both have LID 1; portLids of two adapters must differ$/],
    [set({ portCount: 2 }), /^adapter a\/1: option portCount is 2; it must be 1$/],
    [link('a:1', 'a:2'), /port a:2 must end in :1; the port of its function 1 is a\/1:1$/],
    [link('a:1', 'a/1:2'), /port a\/1:2 must end in :1$/],
    [link('a:1', 'a/2:1'), /there is no adapter a\/2; the adapters are a, a\/1$/],
  ] as const)
    t.match(findTopologyError(topology) ?? '', says);
  t.match(
    findTopologyError(makeLone('cable', [], { nodeGuid: 'x' })) ?? '',
    /^adapter a: option nodeGuid is x; it must/,
  );
  t.match(findTopologyError(makeLone('cable', [], { portLids: [5, 5] })) ?? '', /a and a\/1 both have LID 5/);
});
