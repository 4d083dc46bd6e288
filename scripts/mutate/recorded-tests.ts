// SPDX-License-Identifier: Apache-2.0
/**
 * The tests of some files, loaded once into this process and executed any number of times: the root
 * test of tap only records them, and each execution gives one of them a new root. A test ends at
 * its first failed assertion, because one is enough to kill a mutant. Called by test-runner.ts.
 */
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isDeepStrictEqual } from 'node:util';
import t, { Test } from 'tap';

type Body = (t: Test) => unknown;

/** One test of a file's top level. */
export interface RecordedTest {
  /** File and name, and a number when the file uses the name again. */
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly body: Body;
}

/** Of tests that run once for each seed, the first ones are enough here. */
const SEED = /seed (\d+)$/;
const MOST_SEEDS = 3;

/** A mutant that keeps the adapter busy forever soon fails its test. */
const MACHINE = 'device/rig/machine/machine.ts';
const STEPS_UNTIL_IDLE = 4000;

/** Milliseconds; Stryker ends a test much earlier. */
const LONGEST = 1e9;

/** Ends a test whose assertion failed. */
class FailedAssertion extends Error {}

const ASSERTIONS: readonly PropertyKey[] =
  'equal not same notSame match notMatch ok notOk fail throws doesNotThrow has hasStrict strictNotSame type'.split(' ');

/** Loads `paths`, from the working directory, and returns their tests, in order. */
export async function recordTests(paths: readonly string[]): Promise<RecordedTest[]> {
  const found: RecordedTest[] = [];
  let path = '';
  const record = (name: string, ...rest: unknown[]): void => {
    const base = `${path}: ${name}`;
    if (Number(SEED.exec(name)?.[1]) > MOST_SEEDS) return;
    const again = found.filter((test) => test.path === path && test.name === name).length;
    found.push({ id: again === 0 ? base : `${base} #${again + 1}`, name, path, body: rest.at(-1) as Body });
  };
  t.setTimeout(0);
  Object.assign(t, { test: record, setTimeout: () => {}, teardown: () => {} });
  const { idleLimit } = await load(MACHINE);
  Object.assign(idleLimit as object, { steps: STEPS_UNTIL_IDLE });
  for (path of paths) await load(path);
  return found;
}

/** Loads a file of the working directory: a copy of the repository. */
function load(path: string): Promise<Record<string, unknown>> {
  return import(pathToFileURL(resolve(path)).href);
}

/** Executes one test; returns the message of its failure, or nothing. */
export async function executeTest(test: RecordedTest): Promise<string | undefined> {
  const options: ConstructorParameters<typeof Test>[0] = { name: 'root' };
  const root = new Test(options);
  root.setTimeout(LONGEST);
  root.resume();
  let thrown: string | undefined;
  const result = await root.test(test.name, async (t: Test) => {
    try {
      await test.body(endAtFailure(t));
    } catch (error) {
      thrown = String(error);
    }
  });
  root.end();
  return thrown ?? (result === null || result.ok ? undefined : 'failed');
}

/** `t` with assertions that throw when they fail, also in the tests inside. */
function endAtFailure(t: Test): Test {
  return new Proxy(t, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key, target);
      if (typeof value !== 'function') return value;
      if (key === 'test') return (name: string, body: Body) => target.test(name, (inner) => body(endAtFailure(inner)));
      if (!ASSERTIONS.includes(key)) return value.bind(target);
      return (...args: unknown[]): unknown => {
        const passed: unknown = decide(key, args) ?? Reflect.apply(value, target, args);
        if (passed === false) throw new FailedAssertion(`${String(key)}: ${String(args.at(-1))}`);
        return passed;
      };
    },
  });
}

/**
 * The result of an assertion that needs no tap: tap writes a line for each assertion, and a
 * difference for each that fails, which takes longer than most tests.
 */
function decide(key: PropertyKey, [found, wanted]: readonly unknown[]): boolean | undefined {
  if (key === 'equal') return Object.is(found, wanted) || found === wanted;
  if (key === 'ok') return Boolean(found);
  if (key === 'notOk') return !found;
  if (key === 'same' && isDeepStrictEqual(found, wanted)) return true;
  return undefined;
}
