// SPDX-License-Identifier: Apache-2.0
/**
 * Numbers that commands take and give back: as many as the capabilities tell, none while an object
 * uses it, and every field of the commands wrong.
 */
import t, { type Test } from 'tap';
import { CommandOpcode, CommandStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { type Mlx5Command, Mlx5Driver } from '../../../rig/mlx5/driver/mlx5-driver.ts';
import { type FieldWalk, walkFields, walkLengths } from '../../../rig/mlx5/fields/field-walk.ts';
import type { Hca } from '../hca/hca.ts';
import type { Numbers } from '../hca/numbers.ts';

const { OK, BAD_RESOURCE, BAD_SYSTEM_STATE, NO_RESOURCES, RESOURCE_BUSY } = CommandStatus;
const NUMBER_OFFSET = 8;
const NUMBER_MASK = 0xffffff;
const CAPABILITIES = 0x10;

/** A kind of number: its commands, and how many there are, by the general capabilities. */
interface Kind {
  readonly name: string;
  readonly take: number;
  readonly give: number;
  readonly field: string;
  readonly of: (hca: Hca) => Numbers;
  readonly limit: (capabilities: DataView) => number;
}

const kinds: readonly Kind[] = [
  {
    name: 'pd',
    take: CommandOpcode.ALLOC_PD,
    give: CommandOpcode.DEALLOC_PD,
    field: 'pd',
    of: (hca) => hca.domains,
    limit: (view) => 2 ** (view.getUint8(CAPABILITIES + 0x65) & 0x1f),
  },
  {
    name: 'transport-domain',
    take: CommandOpcode.ALLOC_TRANSPORT_DOMAIN,
    give: CommandOpcode.DEALLOC_TRANSPORT_DOMAIN,
    field: 'transportDomain',
    of: (hca) => hca.transportDomains,
    limit: (view) => 2 ** (view.getUint8(CAPABILITIES + 0x64) & 0x1f),
  },
  {
    name: 'xrcd',
    take: CommandOpcode.ALLOC_XRCD,
    give: CommandOpcode.DEALLOC_XRCD,
    field: 'xrcd',
    of: (hca) => hca.xrcDomains,
    limit: (view) => 2 ** (view.getUint8(CAPABILITIES + 0x67) & 0x1f),
  },
  {
    name: 'uar',
    take: CommandOpcode.ALLOC_UAR,
    give: CommandOpcode.DEALLOC_UAR,
    field: 'uar',
    of: (hca) => hca.uars,
    limit: (view) => 2 ** (view.getUint8(CAPABILITIES + 0x49) & 0x3f) * 2 ** 8 - 0x10,
  },
];

function start(): Mlx5Driver {
  const driver = new Mlx5Driver();
  driver.start();
  return driver;
}

function take(driver: Mlx5Driver, { take }: Kind): number {
  return driver.expect(take).getUint32(NUMBER_OFFSET) & NUMBER_MASK;
}

function naming(number: number): Mlx5Command {
  return { fill: (view) => view.setUint32(NUMBER_OFFSET, number) };
}

for (const kind of kinds) {
  const walkOf = (driver: Mlx5Driver): Omit<FieldWalk, 'opcode' | 'prepare' | 'layouts'> => {
    const numbers = kind.of(driver.device.hca);
    return { driver, rules: {}, digest: () => [numbers.size, numbers.usersOf(1)] };
  };

  t.test(`${kind.name}: as many as the capabilities tell`, async (t) => {
    const driver = start();
    const numbers = kind.of(driver.device.hca);
    const limit = kind.limit(driver.expect(CommandOpcode.QUERY_HCA_CAP, { modifier: 1, outputBytes: 0x1010 }));
    const first = take(driver, kind);
    t.not(first, 0, 'a context of zeros names none');
    for (let count = 1; count < limit; count++) numbers.allocate();
    t.equal(driver.command(kind.take).status, NO_RESOURCES);
    t.equal(numbers.size, limit);
    driver.expect(kind.give, naming(first + 1));
    t.equal(take(driver, kind), first + 1);
  });

  t.test(`${kind.name}: given back when nothing uses it, and once`, async (t) => {
    const driver = start();
    const numbers = kind.of(driver.device.hca);
    const number = take(driver, kind);
    numbers.use(number);
    t.equal(driver.command(kind.give, naming(number)).status, RESOURCE_BUSY);
    t.ok(numbers.has(number));
    numbers.release(number);
    t.equal(driver.command(kind.give, naming(number)).status, OK);
    t.equal(driver.command(kind.give, naming(number)).status, BAD_RESOURCE);
  });

  t.test(`${kind.name}: every field and length`, async (t) => {
    const taking = {
      ...walkOf(start()),
      opcode: kind.take,
      prepare: () => ({}),
      layouts: { 0: `alloc-${kind.name}-in` },
    };
    walkFields(t, taking);
    walkLengths(t, taking, 0x10, 0x10);
    const driver = start();
    let number = 0;
    const rule = (value: number): CommandStatus => (value === number ? OK : BAD_RESOURCE);
    const prepare = (): Mlx5Command => {
      const numbers = kind.of(driver.device.hca);
      if (!numbers.has(number)) number = take(driver, kind);
      return naming(number);
    };
    const layouts = { 0: `dealloc-${kind.name}-in` };
    const rules = { [kind.field]: rule };
    const giving = { ...walkOf(driver), opcode: kind.give, prepare, layouts, rules };
    walkFields(t, giving);
    walkLengths(t, giving, 0x10, 0x10);
  });

  t.test(`${kind.name}: only of a running function, and gone with it`, async (t) => {
    const driver = new Mlx5Driver();
    driver.connect();
    driver.expect(CommandOpcode.ENABLE_HCA, { outputBytes: 0xc });
    t.equal(driver.command(kind.take).status, BAD_SYSTEM_STATE);
    t.equal(driver.command(kind.give, naming(1)).status, BAD_SYSTEM_STATE);
    await forgets(t, driver, kind);
  });
}

/** Numbers do not outlive a teardown, nor a reset. */
async function forgets(t: Test, driver: Mlx5Driver, kind: Kind): Promise<void> {
  const numbers = kind.of(driver.device.hca);
  for (const stop of [() => driver.expect(CommandOpcode.TEARDOWN_HCA), () => driver.port.reset('function')]) {
    driver.port.reset('software');
    driver.start();
    numbers.use(take(driver, kind));
    stop();
    t.equal(numbers.size, 0);
  }
}

t.test('a UAR page of an event queue is not given back', async (t) => {
  const driver = start();
  const uar = driver.allocateUar();
  const queue = driver.createEventQueue(uar, 1n);
  t.equal(driver.command(CommandOpcode.DEALLOC_UAR, naming(uar)).status, RESOURCE_BUSY);
  driver.expect(CommandOpcode.DESTROY_EQ, naming(queue.number));
  t.equal(driver.command(CommandOpcode.DEALLOC_UAR, naming(uar)).status, OK);
});
