// SPDX-License-Identifier: Apache-2.0
/** The pump by itself: hooks, alarms, wake-ups, and the event loop beside it, hot and cold. */
import t from 'tap';
import type { VfioUserContext } from './context.ts';
import { type PassHook, Pump } from './pump.ts';

/** A hook that counts its calls and does the work that a test sets. */
class Hook implements PassHook {
  passes = 0;
  alarmNs = Number.POSITIVE_INFINITY;
  more = false;
  onPass: () => void = () => undefined;

  pass(): boolean {
    this.passes++;
    this.onPass();
    return this.more;
  }

  nextAlarmNs(): number {
    return this.alarmNs;
  }
}

/** Resolves when `condition` holds in `hook.pass`. */
function passed(hook: Hook, condition: () => boolean): Promise<void> {
  return new Promise((resolve) => {
    hook.onPass = () => {
      if (condition()) resolve();
    };
  });
}

for (const [name, options] of [
  ['hot', { hotUs: 1e6 }],
  ['cold', { hotUs: 0, spinUs: 0 }],
] as const) {
  t.test(`alarms fire in order and not early when ${name}`, async (t) => {
    const pump = new Pump(options);
    t.teardown(() => pump.destroy());
    const hook = new Hook();
    pump.onPass(hook);
    pump.start();
    for (const delayMs of [0.05, 0.4, 3, 12]) {
      const alarmNs = pump.nowNs() + delayMs * 1e6;
      hook.alarmNs = alarmNs;
      const fired = passed(hook, () => pump.nowNs() >= alarmNs);
      pump.wake();
      await fired;
      t.pass(`${delayMs} ms`);
      hook.alarmNs = Number.POSITIVE_INFINITY;
    }
  });

  t.test(`timers, immediates and promises run when ${name}`, async (t) => {
    const pump = new Pump(options);
    t.teardown(() => pump.destroy());
    const hook = new Hook();
    pump.onPass(hook);
    pump.start();
    for (let i = 0; i < 5; i++) {
      await new Promise((resolve) => setTimeout(resolve, 2));
      await new Promise((resolve) => setImmediate(resolve));
      await new Promise((resolve) => process.nextTick(resolve));
    }
    hook.more = true;
    pump.wake();
    const before = hook.passes;
    do await new Promise((resolve) => setTimeout(resolve, 5));
    while (hook.passes <= before + 100);
    t.pass('a hook with endless work is called again and again, and timers still fire');
  });

  t.test(`wake requests a pass when ${name}`, async (t) => {
    const pump = new Pump(options);
    t.teardown(() => pump.destroy());
    const hook = new Hook();
    pump.onPass(hook);
    pump.start();
    await new Promise((resolve) => setTimeout(resolve, 30));
    for (let i = 0; i < 20; i++) {
      const before = hook.passes;
      const again = passed(hook, () => hook.passes > before);
      pump.wake();
      await again;
    }
    t.pass('each time');
  });
}

/** A pump in simulated time, which a look at the clock takes. */
class SimulatedPump extends Pump {
  timeNs = 0;

  override nowNs(): number {
    this.timeNs += 500;
    return this.timeNs;
  }
}

t.test('before it waits the pump lets its hooks rest, and goes on while they find work', async (t) => {
  // In real time the turn of a busy processor may end between two finds, with a pass in the next.
  const pump = new SimulatedPump({ hotUs: 0, spinUs: 0 });
  t.teardown(() => pump.destroy());
  const found: { passes: number; waits: number; sleeps: number }[] = [];
  const hook = new Hook();
  // Without a CPU to spare the pump does not poll, whatever a hook requests.
  const resting = Object.assign(hook, {
    polls: () => true,
    rest: () => found.push({ ...pump.counters }) < 4,
  });
  pump.onPass(resting);
  pump.start();
  while (pump.counters.sleeps === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  const [first] = found;
  t.same(
    found.slice(0, 4),
    [0, 1, 2, 3].map((more) => ({ ...first, passes: first.passes + more })),
    'a pass follows each find, and no wait comes before the last one',
  );
});

t.test('it polls longer for requests that come too late for a short poll', async (t) => {
  const pump = new SimulatedPump({ spinUs: undefined });
  // A single processor has nothing to poll with.
  const isAlone = pump.report.spinNs === 0;
  t.teardown(() => pump.destroy());
  let served = 0;
  const context = {
    ...{ socketPath: 'x', state: 'attached', pollFd: -1, pollEvents: 0, acceptFailed: false },
    ...{ owner: undefined as { wake(): void } | undefined, serve: () => ++served < 0, destroy: () => {} },
  };
  const hook = new Hook();
  hook.alarmNs = 100_000;
  const done = passed(hook, () => {
    if (pump.timeNs < hook.alarmNs) return served > 20;
    hook.alarmNs = pump.timeNs + 100_000;
    context.owner?.wake();
    return false;
  });
  pump.add(context as unknown as VfioUserContext);
  pump.onPass(hook);
  pump.start();
  await done;
  const { spinNs } = pump.report;
  t.ok(isAlone ? spinNs === 0 : spinNs > 150_000 && spinNs < 300_000, `${spinNs} ns`);
});

t.test('an idle pump sleeps', async (t) => {
  const pump = new Pump({ hotUs: 1000 });
  t.teardown(() => pump.destroy());
  const hook = new Hook();
  pump.onPass(hook);
  pump.start();
  while (pump.counters.sleeps === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  const before = hook.passes;
  await new Promise((resolve) => setTimeout(resolve, 200));
  t.equal(hook.passes, before);
  t.equal(pump.counters.sleeps, 1);
});

t.test('a hot pump without work waits instead of turning the event loop', async (t) => {
  const pump = new Pump({ hotUs: 1e6, spinUs: 0 });
  t.teardown(() => pump.destroy());
  const hook = new Hook();
  pump.onPass(hook);
  pump.start();
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setTimeout(resolve, 20));
  const { passes, waits } = pump.counters;
  t.ok(waits > 0);
  // Each timer of the test costs a few passes; turns without a wait would cost thousands.
  t.ok(passes < waits + 200, `${passes} passes, ${waits} waits`);
});

t.test('stopping and destroying', async (t) => {
  const pump = new Pump();
  const hook = new Hook();
  pump.onPass(hook);
  pump.start();
  pump.start();
  await new Promise((resolve) => setTimeout(resolve, 5));
  pump.stop();
  const before = hook.passes;
  pump.wake();
  await new Promise((resolve) => setTimeout(resolve, 20));
  t.equal(hook.passes, before);
  pump.start();
  await passed(hook, () => hook.passes > before);
  hook.onPass = () => pump.destroy();
  pump.wake();
  await new Promise((resolve) => setTimeout(resolve, 20));
  pump.destroy();
  t.throws(() => pump.start(), /destroyed/);
});
