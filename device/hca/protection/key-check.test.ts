// SPDX-License-Identifier: Apache-2.0
/**
 * The key check and memory windows alone (IBTA 10.6.2 to 10.6.7): each refusal beside what is
 * allowed, for two functions, two protection domains and two queue pairs.
 */
import t from 'tap';
import { AccessFlag, FaultKind, MrKind, MwKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { WordBlock } from '../../host.ts';
import type { Dma } from '../function/dma.ts';
import type { FaultSubject } from '../function/fault-log.ts';
import { ObjectTable } from '../function/object-table.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import { KeyCheck } from './key-check.ts';
import type { KeyHolder } from './key-holder.ts';
import type { BindRequest } from './key-lookup.ts';
import { MemoryRegion } from './memory-region.ts';
import { FIRST_WINDOW, MemoryWindow } from './memory-window.ts';
import type { ProtectionDomain } from './protection-domain.ts';

const { LOCAL_WRITE, REMOTE_READ, REMOTE_WRITE, WINDOW_BIND, ZERO_BASED, FLUSH_GLOBAL, FLUSH_PERSISTENT } = AccessFlag;
const { NONE, KEY_ACCESS, KEY_BOUNDS, KEY_INVALID, KEY_PD, KEY_STATE } = FaultKind;
const START = 4096;
const LENGTH = 1000;

/** Two functions; the first one has two domains. */
class Bench {
  readonly owners = [0, 1].map((number) => ({ number }) as UnderlyingFunction);
  readonly regions = new ObjectTable<MemoryRegion>(8, 1, 2);
  readonly windows = new ObjectTable<MemoryWindow>(8, FIRST_WINDOW, 2);
  readonly keys = new KeyCheck(this.regions, this.windows);
  readonly pd = this.makeDomain(0);
  readonly qp = this.makeQueuePair(this.pd);

  makeDomain(owner: number): ProtectionDomain {
    return { owner: this.owners[owner], references: 0 } as ProtectionDomain;
  }

  makeQueuePair(pd: ProtectionDomain): KeyHolder {
    return { owner: pd.owner, pd, boundWindows: 0 } as KeyHolder;
  }

  addRegion(fields: Partial<MemoryRegion> = {}, pd = this.pd): MemoryRegion {
    const region = this.regions.add(pd.owner, (number) => new MemoryRegion(number, pd)) as MemoryRegion;
    const access = LOCAL_WRITE | REMOTE_READ | WINDOW_BIND;
    return Object.assign(region, { access, startAddress: START, length: LENGTH, ...fields });
  }

  addWindow(kind: MwKind, pd = this.pd): MemoryWindow {
    return this.windows.add(pd.owner, (number) => new MemoryWindow(number, pd, kind)) as MemoryWindow;
  }

  bind(window: MemoryWindow, region: MemoryRegion, fields: Partial<BindRequest> = {}, qp = this.qp): FaultKind {
    const range = { address: START + 100, lengthBytes: 200, access: REMOTE_READ, keyByte: 9 };
    return this.keys.bind(qp, { windowKey: window.key, regionKey: region.key, ...range, ...fields });
  }

  /** The fault of a local access, or NONE. */
  check(key: number, address: number, lengthBytes: number, access = 0, qp = this.qp): FaultKind {
    const region = this.keys.at(address).check(qp.owner, qp.pd, key, lengthBytes, access);
    return region === undefined ? this.keys.fault : NONE;
  }

  /** The fault of a remote access, or NONE. */
  checkRemote(
    key: number,
    address: number,
    lengthBytes: number,
    access: number = REMOTE_READ,
    qp = this.qp,
  ): FaultKind {
    const region = this.keys.at(address).checkRemote(qp, key, lengthBytes, access);
    return region === undefined ? this.keys.fault : NONE;
  }
}

t.test('a key gives access to its region: function, domain, rights and bounds', async (t) => {
  const bench = new Bench();
  const region = bench.addRegion();
  for (const [address, lengthBytes, fault] of [
    [START, LENGTH, NONE],
    [START + 1, LENGTH - 1, NONE],
    [START - 1, 1, KEY_BOUNDS],
    [START - 1, LENGTH, KEY_BOUNDS],
    [START, LENGTH + 1, KEY_BOUNDS],
    [START + 1, LENGTH, KEY_BOUNDS],
  ])
    t.equal(bench.check(region.key, address, lengthBytes), fault, `${lengthBytes} bytes from ${address} on`);
  t.equal(bench.check(region.key, START, 1, LOCAL_WRITE), NONE);
  t.equal(bench.check(region.key, START, 1, LOCAL_WRITE | REMOTE_WRITE), KEY_ACCESS);
  t.equal(bench.check(region.key, START, 1, 0, bench.makeQueuePair(bench.makeDomain(0))), KEY_PD);
  t.equal(bench.check(region.key, START, 1, 0, bench.makeQueuePair(bench.makeDomain(1))), KEY_INVALID);
  t.equal(bench.check(region.key ^ 1, START, 1), KEY_INVALID, 'another key byte');
  t.equal(bench.check(region.key + 256, START, 1), KEY_INVALID, 'no region');
  region.valid = false;
  t.equal(bench.check(region.key, START, 1), KEY_INVALID);
  t.ok(new MemoryRegion(1, bench.pd).valid, 'a new region is valid unless it waits for its registration');
  const zeroBased = bench.addRegion({ access: ZERO_BASED });
  t.same(
    [0, LENGTH - 1, LENGTH, START].map((address) => bench.check(zeroBased.key, address, 1)),
    [NONE, NONE, KEY_BOUNDS, KEY_BOUNDS],
  );
});

t.test('a key as a whole: its rights count, and not its bounds (IBTA annex A19)', async (t) => {
  const bench = new Bench();
  const region = bench.addRegion({ access: LOCAL_WRITE | WINDOW_BIND | FLUSH_GLOBAL });
  const zeroBased = bench.addRegion({ access: ZERO_BASED | FLUSH_GLOBAL });
  const check = (key: number, access: number, qp = bench.qp): FaultKind =>
    bench.keys.checkWhole(qp, key, access) === undefined ? bench.keys.fault : NONE;
  t.equal(check(region.key, FLUSH_GLOBAL), NONE);
  t.equal(bench.keys.address, START);
  t.equal(check(zeroBased.key, FLUSH_GLOBAL), NONE);
  t.equal(bench.keys.address, 0);
  t.equal(check(region.key, FLUSH_GLOBAL | FLUSH_PERSISTENT), KEY_ACCESS);
  t.equal(check(region.key ^ 1, FLUSH_GLOBAL), KEY_INVALID);
  t.equal(check(region.key, FLUSH_GLOBAL, bench.makeQueuePair(bench.makeDomain(0))), KEY_PD);
  const window = bench.addWindow(MwKind.TYPE_2);
  t.equal(check(window.key, FLUSH_GLOBAL), KEY_INVALID, 'not before it is bound');
  t.equal(bench.bind(window, region, { access: FLUSH_PERSISTENT }), KEY_ACCESS, 'the region lacks the right');
  t.equal(bench.bind(window, region, { access: FLUSH_GLOBAL }), NONE);
  t.equal(check(window.key, FLUSH_GLOBAL), NONE);
  t.equal(bench.keys.address, START + 100);
  t.equal(check(window.key, FLUSH_PERSISTENT), KEY_ACCESS);
});

t.test('a bound window gives access to its part, by its rights (IBTA 10.6.7)', async (t) => {
  for (const kind of [MwKind.TYPE_1, MwKind.TYPE_2]) {
    const bench = new Bench();
    const [window, region] = [bench.addWindow(kind), bench.addRegion()];
    t.equal(bench.checkRemote(window.key, START + 100, 1), KEY_INVALID, 'not before it is bound');
    t.equal(bench.bind(window, region), NONE);
    t.equal(region.windows, 1);
    t.equal(window.keyByte, 9);
    for (const [address, lengthBytes, access, fault] of [
      [START + 100, 200, REMOTE_READ, NONE],
      [START + 99, 1, REMOTE_READ, KEY_BOUNDS],
      [START + 100, 201, REMOTE_READ, KEY_BOUNDS],
      [START + 100, 1, REMOTE_WRITE, KEY_ACCESS],
    ])
      t.equal(bench.checkRemote(window.key, address, lengthBytes, access), fault);
    t.equal(bench.checkRemote(window.key ^ 1, START + 100, 1), KEY_INVALID);
    const inDomain = bench.makeQueuePair(bench.pd);
    t.equal(
      bench.checkRemote(window.key, START + 100, 1, REMOTE_READ, inDomain),
      kind === MwKind.TYPE_1 ? NONE : KEY_PD,
      'a type 2 window is for the QP that bound it',
    );
    const [other, foreign] = [0, 1].map((owner) => bench.makeQueuePair(bench.makeDomain(owner)));
    t.equal(bench.checkRemote(window.key, START + 100, 1, REMOTE_READ, other), KEY_PD);
    t.equal(bench.checkRemote(window.key, START + 100, 1, REMOTE_READ, foreign), KEY_INVALID);
  }
});

t.test('a remote access is checked with the domain that is given in place of that of the QP', async (t) => {
  const bench = new Bench();
  const [region, window] = [bench.addRegion(), bench.addWindow(MwKind.TYPE_1)];
  bench.bind(window, region);
  const other = bench.makeDomain(0);
  const stranger = bench.makeQueuePair(other);
  for (const { key } of [region, window]) {
    const check = (qp: typeof stranger, pd?: typeof other) =>
      bench.keys.at(START + 100).checkRemote(qp, key, 1, REMOTE_READ, pd) === undefined ? bench.keys.fault : NONE;
    t.same([check(stranger), check(stranger, bench.pd)], [KEY_PD, NONE]);
    t.same([check(bench.qp), check(bench.qp, other)], [NONE, KEY_PD]);
  }
});

t.test('a bind is refused with its cause and changes nothing', async (t) => {
  const cases: [string, FaultKind, (bench: Bench) => FaultKind][] = [
    [
      'a window that is a region',
      KEY_INVALID,
      (bench) => {
        const region = bench.addRegion();
        return bench.bind({ key: region.key } as MemoryWindow, region);
      },
    ],
    [
      'an old key of the window',
      KEY_INVALID,
      (bench) => {
        const window = bench.addWindow(MwKind.TYPE_1);
        return bench.bind(window, bench.addRegion(), { windowKey: window.key ^ 1 });
      },
    ],
    [
      'a window of another function',
      KEY_INVALID,
      (bench) => {
        const window = bench.addWindow(MwKind.TYPE_1, bench.makeDomain(1));
        return bench.bind(window, bench.addRegion());
      },
    ],
    [
      'a window of another domain',
      KEY_PD,
      (bench) => {
        const window = bench.addWindow(MwKind.TYPE_1, bench.makeDomain(0));
        return bench.bind(window, bench.addRegion());
      },
    ],
    [
      'a region of another domain',
      KEY_PD,
      (bench) => {
        const region = bench.addRegion({}, bench.makeDomain(0));
        return bench.bind(bench.addWindow(MwKind.TYPE_1), region);
      },
    ],
    [
      'a region without the bind right',
      KEY_ACCESS,
      (bench) => bench.bind(bench.addWindow(MwKind.TYPE_1), bench.addRegion({ access: LOCAL_WRITE })),
    ],
    [
      'remote write to a region without local write',
      KEY_ACCESS,
      (bench) =>
        bench.bind(bench.addWindow(MwKind.TYPE_1), bench.addRegion({ access: WINDOW_BIND }), { access: REMOTE_WRITE }),
    ],
    [
      'a local right',
      KEY_ACCESS,
      (bench) => bench.bind(bench.addWindow(MwKind.TYPE_1), bench.addRegion(), { access: LOCAL_WRITE }),
    ],
    [
      'a zero-based region',
      KEY_ACCESS,
      (bench) =>
        bench.bind(bench.addWindow(MwKind.TYPE_1), bench.addRegion({ access: WINDOW_BIND | ZERO_BASED }), {
          address: 0,
        }),
    ],
    [
      'a range beyond the region',
      KEY_BOUNDS,
      (bench) => bench.bind(bench.addWindow(MwKind.TYPE_1), bench.addRegion(), { lengthBytes: LENGTH - 99 }),
    ],
    [
      'zero bytes of a type 2 window',
      KEY_BOUNDS,
      (bench) => bench.bind(bench.addWindow(MwKind.TYPE_2), bench.addRegion(), { lengthBytes: 0 }),
    ],
    [
      'a type 2 window that is bound',
      KEY_STATE,
      (bench) => {
        const [window, region] = [bench.addWindow(MwKind.TYPE_2), bench.addRegion()];
        bench.bind(window, region);
        return bench.bind(window, region, { keyByte: 10 });
      },
    ],
  ];
  for (const [name, fault, act] of cases) t.equal(act(new Bench()), fault, name);
  const bench = new Bench();
  const region = bench.addRegion({ access: WINDOW_BIND | LOCAL_WRITE });
  t.equal(bench.bind(bench.addWindow(MwKind.TYPE_1), region, { access: REMOTE_WRITE }), NONE);
});

t.test('zero bytes unbind a type 1 window; a bound one may be bound elsewhere', async (t) => {
  const bench = new Bench();
  const [window, first, second] = [bench.addWindow(MwKind.TYPE_1), bench.addRegion(), bench.addRegion()];
  bench.bind(window, first);
  t.equal(bench.qp.boundWindows, 0, 'a type 1 window belongs to its domain');
  t.equal(bench.bind(window, second, { keyByte: 20 }), NONE);
  t.same([first.windows, second.windows, window.keyByte], [0, 1, 20]);
  t.equal(bench.bind(window, second, { lengthBytes: 0, keyByte: 21 }), NONE);
  t.same([second.windows, window.keyByte, window.region], [0, 21, undefined]);
  t.equal(bench.checkRemote(window.key, START + 100, 1), KEY_INVALID);
});

t.test('windows are counted in their region, their QP and their domain', async (t) => {
  const bench = new Bench();
  const [window, region] = [bench.addWindow(MwKind.TYPE_2), bench.addRegion()];
  t.equal(bench.pd.references, 1);
  bench.bind(window, region);
  t.same([region.windows, bench.qp.boundWindows], [1, 1]);
  window.release();
  t.same([region.windows, bench.qp.boundWindows, bench.pd.references, window.holder], [0, 0, 0, undefined]);
});

t.test('rights to invalidate keys (IBTA 10.6.5)', async (t) => {
  const bench = new Bench();
  const { keys, qp } = bench;
  const [sibling, other] = [bench.makeQueuePair(bench.pd), bench.makeQueuePair(bench.makeDomain(0))];
  const fast = bench.addRegion({ kind: MrKind.FAST });
  const foreign = bench.addRegion({ kind: MrKind.FAST }, bench.makeDomain(1));
  for (const [name, holder, key] of [
    ['a region that is not FAST', qp, bench.addRegion().key],
    ['a region of another domain', other, fast.key],
    ['a region of another function', qp, foreign.key],
    ['no region', qp, fast.key + 4096],
    ['no window', qp, bench.addWindow(MwKind.TYPE_2).key + 4096],
    ['a type 1 window', qp, bench.addWindow(MwKind.TYPE_1).key],
    ['a type 2 window that is not bound', qp, bench.addWindow(MwKind.TYPE_2).key],
  ] as const)
    t.notOk(keys.invalidate(holder, key), name);
  const window = bench.addWindow(MwKind.TYPE_2);
  bench.bind(window, fast);
  t.notOk(keys.invalidate(sibling, window.key), 'a type 2 window of another QP');
  t.notOk(keys.invalidate(qp, fast.key), 'a region with a window');
  t.ok(keys.invalidate(qp, window.key));
  t.notOk(keys.invalidate(qp, window.key), 'once');
  t.ok(keys.invalidate(sibling, fast.key));
  t.notOk(fast.valid);
  t.notOk(keys.invalidate(qp, fast.key), 'once');
});

t.test('rights to register memory (IBTA 10.6.3.2)', async (t) => {
  const bench = new Bench();
  const { keys, qp } = bench;
  const fast = bench.addRegion({ kind: MrKind.FAST, valid: false });
  const fault = (holder: KeyHolder, key: number): FaultKind =>
    keys.findRegistrable(holder, key) === undefined ? keys.fault : NONE;
  t.equal(keys.findRegistrable(qp, fast.key ^ 5), fast, 'by any key byte');
  t.equal(fault(bench.makeQueuePair(bench.makeDomain(0)), fast.key), KEY_PD);
  t.equal(fault(bench.makeQueuePair(bench.makeDomain(1)), fast.key), KEY_INVALID);
  t.equal(fault(qp, bench.addRegion({ valid: false }).key), KEY_INVALID, 'not FAST');
  t.equal(fault(qp, bench.addWindow(MwKind.TYPE_2).key), KEY_INVALID);
  fast.valid = true;
  t.equal(fault(qp, fast.key), KEY_STATE);
});

t.test('a range over several pages moves in pieces, and ends at a fault', async (t) => {
  const moved: number[][] = [];
  let failAt = 9;
  const move = (at: number, lengthBytes: number): boolean => moved.push([dma.address, at, lengthBytes]) < failAt;
  const dma = {
    address: 0,
    at(address: number) {
      this.address = address;
      return this;
    },
    readBlock: (_: FaultSubject, lengthBytes: number, _to: WordBlock, at: number) => move(at, lengthBytes),
    writeBlock: (_: FaultSubject, _from: WordBlock, at: number, lengthBytes: number) => move(at, lengthBytes),
  };
  const { pd } = new Bench();
  const region = new MemoryRegion(1, pd);
  const pages = Float64Array.of(0x10000, 0x30000, 0x20000);
  Object.assign(region, { kind: MrKind.FAST, startAddress: 4096 + 100, length: 12000, pages });
  for (const act of ['read', 'write'] as const) {
    const run = () => region[act](dma.at(4096 + 4000) as unknown as Dma, {} as FaultSubject, 5000, {} as WordBlock, 7);
    moved.length = 0;
    failAt = 9;
    t.ok(run());
    t.same(moved, [
      [0x10000 + 4000, 7, 96],
      [0x30000, 103, 4096],
      [0x20000, 4199, 808],
    ]);
    moved.length = 0;
    failAt = 2;
    t.notOk(run());
    t.equal(moved.length, 2);
  }
});
