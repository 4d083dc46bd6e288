// SPDX-License-Identifier: Apache-2.0
/** The story of a request that changes a key of an mlx5 device tells the new meaning of the key. */
import t from 'tap';
import { TraceObserver } from '../../../device/process/trace/trace-observer.ts';
import { ThreeKinds } from '../../../device/rig/mixed/three-kinds.ts';
import { keyRequest } from '../../../device/rig/mlx5/driver/key-fixture.ts';
import { KeyAccessMode, KeyAttribute } from '../../../protocol/mlx5/gen/values.gen.ts';
import { tellEnd } from './trace-lines.ts';
import { hex } from './wire-text.ts';

const { FREE, LENGTH, START_ADDRESS, LOCAL_READ } = KeyAttribute;
const SETTINGS = { blocksLog2: 4, snapLength: 16, stopOnError: false };

t.test('a window is bound, and free again', (t) => {
  const fixture = new ThreeKinds();
  const { m } = fixture;
  const observer = new TraceObserver(fixture.built.adapters[0], () => fixture.machine.clock.now());
  observer.addRule({ service: 'RC' }, SETTINGS);
  observer.startTimeline();
  fixture.connectOwn();
  const window = m.fixture.createKey([], {
    ...{ accessMode10: KeyAccessMode.KEYS, free: 1, umrEn: 1, lr: 0, lw: 0, rr: 0, rw: 0, a: 0, startAddr: 0, len: 0 },
    translationsOctwordSize: 4,
  });
  const { address, key, byteCount } = m.memory;
  const set = { free: 0, lr: 1, startAddr: address, len: byteCount };
  const mask = [LENGTH, START_ADDRESS, FREE, LOCAL_READ];
  m.qp.post(keyRequest({ key: window, set, mask, list: [{ key, address, bytes: byteCount }] }));
  m.qp.post(keyRequest({ key: window, set: { free: 1 }, mask: [FREE] }));
  fixture.expectOne('the bind');
  fixture.expectOne('the invalidation');
  const adapter = observer.read('m', 0);
  const stories = adapter.messages.map((message) => tellEnd({ adapter, message }, 0).map(({ text }) => text.trim()));
  const changes = [
    `key ${hex(window)} stands for ${byteCount} bytes at ${hex(address)}`,
    `key ${hex(window)} is free: nothing may be accessed by it`,
  ];
  t.equal(stories.length, changes.length);
  for (const [index, change] of changes.entries())
    t.same(
      stories[index]?.filter((text) => /^(command \d+ launched|CHANGE_KEY|key |command complete)/.test(text)),
      [`command ${index} launched from lane 0`, 'CHANGE_KEY, signaled', change, 'command complete: it sends nothing'],
    );
  t.match(fixture.replay(), { divergence: undefined, truncated: false });
  t.end();
});
