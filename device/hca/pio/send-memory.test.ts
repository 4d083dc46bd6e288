// SPDX-License-Identifier: Apache-2.0
/**
 * Shares of the PIO send memory (US 2015/0378953 claim 1, partitioning; docs/DOCUMENTS.md decision
 * 26): a function makes contexts of its share only, whatever the others do, and is told what is
 * left; the physical function and the host divide the memory.
 */
import t, { type Test } from 'tap';
import {
  COMMAND_HEADER_BYTES,
  SEND_CONTEXT_BLOCKS_MAX,
  SEND_CONTEXT_MAX,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { MANAGEMENT_COMMAND_OBJECT_NUMBER_OFFSET } from '../../../protocol/layout/gen/management-command.gen.ts';
import { CSR, CSR_ADAPTER_CONTROL_RETURN_SHARES_MASK } from '../../../protocol/layout/gen/registers.gen.ts';
import { SEND_CONTEXT_ATTRIBUTES_BLOCKS_OFFSET } from '../../../protocol/layout/gen/send-context-attributes.gen.ts';
import { ManagementOpcode, ManagementStatus, ResourceKind } from '../../../protocol/layout/gen/values.gen.ts';
import { Random } from '../../random.ts';
import { sendContextPayload } from '../../rig/driver/payloads.ts';
import { InProcessMachine } from '../../rig/machine/machine.ts';
import { Tenant } from '../../rig/qos/tenant.ts';
import { defaultAdapterOptions, findOptionError, SEND_BLOCKS_DEFAULT } from '../adapter/options.ts';

const { BAD_FIELD, CONVERGING, NO_RESOURCES, NOT_PERMITTED, OK, SHARE_USED_UP } = ManagementStatus;
const BLOCKS_FIELD = COMMAND_HEADER_BYTES + SEND_CONTEXT_ATTRIBUTES_BLOCKS_OFFSET;

/** Functions with a driver each, over a send memory of `blocks` blocks. */
class Partitioned {
  readonly machine: InProcessMachine;
  readonly tenants: Tenant[];
  readonly #lines: number[];

  constructor(functionCount: number, sendBlockCount?: number) {
    const adapter = sendBlockCount === undefined ? {} : { sendBlockCount };
    this.machine = new InProcessMachine({ functionCount, memoryBytes: 1024 * 1024, adapter });
    this.tenants = Array.from({ length: functionCount }, (_, index) => new Tenant(this.machine, index));
    this.#lines = this.tenants.map(({ driver }) => driver.allocator.allocate(64));
  }

  /** Creates a context; the result, whatever the status. */
  create(index: number, blocks: number) {
    const payload = sendContextPayload({ blocks, port: 1, virtualLanes: 1, creditAddress: this.#lines[index] });
    const { management } = this.tenants[index].driver;
    return management.execute({ opcode: ManagementOpcode.CREATE_SEND_CONTEXT, payload });
  }

  destroy(index: number, objectNumber: number): void {
    const { management } = this.tenants[index].driver;
    management.perform({ opcode: ManagementOpcode.DESTROY_SEND_CONTEXT, objectNumber });
  }

  /** Changes shares as a function, the physical one unless another is named; the result. */
  give(resource: ResourceKind, target: number, amount: number, as = 0) {
    return this.tenants[as].driver.resources.request([{ resource, target, amount }]);
  }

  /** Creates contexts until one is refused; the numbers. */
  exhaust(index: number, blocks: number): number[] {
    const made: number[] = [];
    for (;;) {
      const { status, objectNumber } = this.create(index, blocks);
      if (status === SHARE_USED_UP) return made;
      if (status !== OK) throw new Error(`status ${status} after ${made.length} contexts`);
      made.push(objectNumber);
    }
  }
}

/** What registers and query of a function say is right. */
function expectShare(
  t: Test,
  { tenants }: Partitioned,
  index: number,
  expected: readonly number[],
  what: string,
): void {
  const { driver } = tenants[index];
  const { sendContexts, sendContextsInUse, sendBlocks, sendBlocksInUse } = driver.resources.query(index);
  t.same([sendContexts, sendContextsInUse, sendBlocks, sendBlocksInUse], expected, what);
  const registers = [CSR.SEND_CONTEXTS, CSR.SEND_CONTEXTS_IN_USE, CSR.SEND_BLOCKS, CSR.SEND_BLOCKS_IN_USE];
  t.same(
    registers.map((register) => tenants[index].read(register)),
    expected,
    `${what}, by registers`,
  );
}

t.test('functions divide the send memory, whose size is an option', async (t) => {
  for (const [functions, option, contexts, blocks] of [
    [1, undefined, SEND_CONTEXT_MAX, SEND_BLOCKS_DEFAULT],
    [1, 4096, SEND_CONTEXT_MAX, 4096],
    [3, undefined, 53, 5461],
    [3, 100, 53, 33],
  ] as const) {
    const partitioned = new Partitioned(functions, option);
    for (let index = 0; index < functions; index++) {
      expectShare(t, partitioned, index, [contexts, 0, blocks, 0], `function ${index} of ${functions}`);
      t.equal(partitioned.tenants[index].read(CSR.SEND_MEMORY_BLOCKS), option ?? SEND_BLOCKS_DEFAULT);
    }
    const { driver } = partitioned.tenants[0];
    const { sendContextsUnallocated, sendBlocksUnallocated } = driver.resources.query(0);
    t.equal(sendContextsUnallocated, SEND_CONTEXT_MAX - functions * contexts);
    t.equal(sendBlocksUnallocated, (option ?? SEND_BLOCKS_DEFAULT) - functions * blocks);
  }
  for (const sendBlockCount of [0, 1, 163_841, 1.5])
    t.match(findOptionError({ ...defaultAdapterOptions, sendBlockCount }), /sendBlockCount/);
});

t.test('a function that takes all that it can leaves the others their shares', async (t) => {
  for (const blocks of [2, 33, SEND_CONTEXT_BLOCKS_MAX]) {
    const partitioned = new Partitioned(3);
    const [first, second] = [partitioned.exhaust(0, blocks), partitioned.exhaust(2, blocks)];
    t.same(first, second, 'as many, under the same numbers');
    t.equal(first.length, Math.min(53, Math.floor(5461 / blocks)));
    expectShare(t, partitioned, 1, [53, 0, 5461, 0], 'the other one');
    t.same(partitioned.exhaust(1, blocks), first);
  }
});

t.test('a refusal says whether contexts or blocks are used up, and what is left; nothing changes', async (t) => {
  const partitioned = new Partitioned(2, 200);
  t.match(partitioned.create(0, 101), { status: SHARE_USED_UP, badOffset: BLOCKS_FIELD, limit: 100 });
  t.equal(partitioned.create(0, 60).status, OK);
  t.match(partitioned.create(0, 41), { status: SHARE_USED_UP, badOffset: BLOCKS_FIELD, limit: 40 });
  expectShare(t, partitioned, 0, [80, 1, 100, 60], 'after refusals');
  t.match(partitioned.create(0, SEND_CONTEXT_BLOCKS_MAX + 1), { status: BAD_FIELD, badOffset: BLOCKS_FIELD });
  t.equal(partitioned.give(ResourceKind.SEND_CONTEXTS, 0, 1).status, OK);
  const noContext = { status: SHARE_USED_UP, badOffset: MANAGEMENT_COMMAND_OBJECT_NUMBER_OFFSET, limit: 0 };
  t.match(partitioned.create(0, 2), noContext);
  partitioned.destroy(0, 0);
  expectShare(t, partitioned, 0, [1, 0, 100, 0], 'given back');
  t.equal(partitioned.create(0, 100).status, OK);
});

t.test('the physical function and the host give and take; a virtual function does not', async (t) => {
  const partitioned = new Partitioned(3, 300);
  t.match(partitioned.give(ResourceKind.SEND_BLOCKS, 1, 101), { status: NO_RESOURCES, limit: 100 });
  t.equal(partitioned.give(ResourceKind.SEND_BLOCKS, 2, 10).status, OK);
  t.match(partitioned.give(ResourceKind.SEND_BLOCKS, 1, 191), { status: NO_RESOURCES, limit: 190 });
  t.equal(partitioned.give(ResourceKind.SEND_BLOCKS, 1, 190).status, OK);
  expectShare(t, partitioned, 1, [53, 0, 190, 0], 'given');
  expectShare(t, partitioned, 2, [53, 0, 10, 0], 'taken');
  for (const resource of [ResourceKind.SEND_BLOCKS, ResourceKind.SEND_CONTEXTS])
    for (const target of [0, 1, 2]) t.equal(partitioned.give(resource, target, 1, 1).status, NOT_PERMITTED);
  const { sendBlocksUnallocated, sendContextsUnallocated } = partitioned.tenants[1].driver.resources.query(1);
  t.same([sendBlocksUnallocated, sendContextsUnallocated], [0, 0], 'a virtual function does not see what is left');
});

t.test('a share that shrinks below its use converges, and no context is lost', async (t) => {
  const partitioned = new Partitioned(2, 200);
  const held = partitioned.create(1, 90).objectNumber;
  t.equal(partitioned.give(ResourceKind.SEND_BLOCKS, 1, 20).status, OK);
  t.equal(partitioned.give(ResourceKind.SEND_BLOCKS, 0, 180).status, OK);
  expectShare(t, partitioned, 1, [80, 1, 20, 90], 'below its use');
  t.match(partitioned.create(1, 2), { status: SHARE_USED_UP, limit: 0 });
  t.equal(partitioned.create(0, 100).status, OK, 'blocks that no function uses');
  t.equal(partitioned.create(0, 80).status, CONVERGING, 'what the other function still uses');
  expectShare(t, partitioned, 0, [80, 1, 180, 100], 'a refusal changes nothing');
  partitioned.destroy(1, held);
  t.equal(partitioned.create(0, 80).status, OK);
  t.equal(partitioned.create(1, 20).status, OK);
});

t.test('a reset frees the blocks of its function; a guest that leaves returns its share and regains it', async (t) => {
  const partitioned = new Partitioned(2, 200);
  const { machine, tenants } = partitioned;
  for (const index of [0, 1]) t.equal(partitioned.create(index, 70).status, OK);
  machine.reset(1, 'function');
  expectShare(t, partitioned, 0, [80, 1, 100, 70], 'not reset');
  const { memory } = machine.device.sendContexts;
  t.same([memory.contextsUsed[1], memory.blocksUsed[1]], [0, 0]);
  tenants[0].access.writeRegister(CSR.ADAPTER_CONTROL, 4, CSR_ADAPTER_CONTROL_RETURN_SHARES_MASK, 0);
  machine.reset(1, 'lost');
  t.match(tenants[0].driver.resources.query(0), { sendBlocksUnallocated: 100, sendContextsUnallocated: 80 });
  t.equal(partitioned.give(ResourceKind.SEND_BLOCKS, 0, 130).status, OK);
  machine.resume(1);
  tenants[1].bringUp();
  expectShare(t, partitioned, 1, [80, 0, 70, 0], 'as far as there is something left');
});

/** Random creation, destruction and division; returns what went wrong. */
function findFault(seed: number): string | undefined {
  const random = new Random(seed);
  const total = 100;
  const partitioned = new Partitioned(3, total);
  const { memory } = partitioned.machine.device.sendContexts;
  const held = partitioned.tenants.map((): { number: number; blocks: number }[] => []);
  const shares = partitioned.tenants.map(() => ({ contexts: 53, blocks: 33 }));
  for (let step = 0; step < 80; step++) {
    const index = random.below(3);
    const mine = held[index];
    const where = `seed ${seed}, step ${step}, function ${index}`;
    if (random.oneIn(3) && mine.length > 0) {
      const [{ number }] = mine.splice(random.below(mine.length), 1);
      partitioned.destroy(index, number);
    } else if (random.oneIn(4)) {
      const [resource, name, all] = random.oneIn(2)
        ? ([ResourceKind.SEND_BLOCKS, 'blocks', total] as const)
        : ([ResourceKind.SEND_CONTEXTS, 'contexts', SEND_CONTEXT_MAX] as const);
      const amount = random.below(70);
      const others = shares.reduce((sum, share, number) => sum + (number === index ? 0 : share[name]), 0);
      const { status } = partitioned.give(resource, index, amount);
      if ((status === OK) !== amount + others <= all) return `${where}: status ${status} for ${amount} ${name}`;
      if (status === OK) shares[index][name] = amount;
    } else {
      const blocks = random.between(2, 30);
      const used = mine.reduce((sum, one) => sum + one.blocks, 0);
      const free = total - held.flat().reduce((sum, one) => sum + one.blocks, 0);
      const fits = mine.length < shares[index].contexts && used + blocks <= shares[index].blocks;
      const expected = fits ? (blocks <= free ? OK : CONVERGING) : SHARE_USED_UP;
      const { status, objectNumber } = partitioned.create(index, blocks);
      if (status !== expected) return `${where}: status ${status} in place of ${expected} for ${blocks} blocks`;
      if (status === OK) mine.push({ number: objectNumber, blocks });
    }
    const used = held.map((contexts) => contexts.reduce((sum, one) => sum + one.blocks, 0));
    if (used.join() !== memory.blocksUsed.join())
      return `${where}: ${memory.blocksUsed} blocks are in use, not ${used}`;
  }
  return undefined;
}

t.test('whatever functions do, each has what its share says', async (t) => {
  for (let seed = 1; seed <= 10; seed++) t.equal(findFault(seed), undefined);
});
