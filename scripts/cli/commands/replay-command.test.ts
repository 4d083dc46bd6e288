// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca replay`: a recording that replays identically, one that differs, one that is cut short,
 * and files that are no recordings; and a debugger that stops at a step.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { Recorder } from '../../../device/hosts/recording.ts';
import { AdapterFixture } from '../../../device/rig/fixtures/adapter-fixture.ts';
import { InspectorClient } from '../debugger/inspector-client.ts';
import { makeDirectory } from '../testing/directory.ts';
import { CliProcess, runCli } from '../testing/run-cli.ts';
import { runWords } from '../testing/run-words.ts';

/**
 * A recording of an adapter that is brought up, sends and receives; `spoil` changes the bytes that
 * are recorded as written by it.
 */
function record(t: Test, spoil = false): { path: string; bytes: Buffer; directory: string } {
  const pieces: Uint8Array[] = [];
  let recorder: Recorder | undefined;
  const fixture = new AdapterFixture({
    seed: 9,
    record: (options, count) => {
      recorder = new Recorder(options, count, (bytes) => pieces.push(bytes.slice()));
      return spoil ? new SpoilingRecorder(recorder) : recorder;
    },
  });
  fixture.proveItWorks();
  recorder?.flush();
  const directory = makeDirectory(t);
  const path = join(directory, 'x.rec');
  const bytes = Buffer.concat(pieces);
  writeFileSync(path, bytes);
  return { path, bytes, directory };
}

/** Hands out wrappers whose vectors are recorded as if they had been refused. */
class SpoilingRecorder extends Recorder {
  readonly #recorder: Recorder;

  constructor(recorder: Recorder) {
    super({} as never, 1, () => {});
    this.#recorder = recorder;
  }

  override wrapClock(clock: Parameters<Recorder['wrapClock']>[0]) {
    return this.#recorder.wrapClock(clock);
  }

  override wrapAdapter(adapter: Parameters<Recorder['wrapAdapter']>[0]) {
    return this.#recorder.wrapAdapter(adapter);
  }

  override wrapHost(host: Parameters<Recorder['wrapHost']>[0], index: number) {
    const wrapped = this.#recorder.wrapHost(host, index);
    const publish: typeof wrapped.publish = (address, entry, offset, length, valid) => {
      const other = entry.slice();
      other[offset] ^= 0xff;
      wrapped.publish(address, other, offset, length, valid);
      return host.publish(address, entry, offset, length, valid);
    };
    return {
      readMemory: (...args) => wrapped.readMemory(...args),
      writeMemory: (...args) => wrapped.writeMemory(...args),
      raiseVector: (...args) => wrapped.raiseVector(...args),
      compareAndSwap: (...args) => wrapped.compareAndSwap(...args),
      publish,
    } as typeof wrapped;
  }
}

t.test('an identical replay', async (t) => {
  const { path, bytes, directory } = record(t);
  const whole = await runCli(['replay', path]);
  t.match(whole, { status: 0, stdout: /x\.rec: identical: \d+ steps, \d+ records, \d+\.\d+ s of adapter time\n$/ });
  const until = await runWords(['replay', '--until=7', '--trace', path]);
  t.match(until, { status: 0, stdout: /identical so far: 7 steps/ });
  t.equal(until.stdout.split('\n').length, 9, 'seven steps, the result, the end');
  t.match(until.stdout, /^ {7}0 +0\.000000 s {2}function 0 {2}\w+/);
  const cut = join(directory, 'cut.rec');
  writeFileSync(cut, bytes.subarray(0, bytes.length - 5));
  t.match(await runWords(['replay', cut]), { status: 0, stdout: /\(the end of the recording is missing\)/ });
});

t.test('the first difference is reported', async (t) => {
  const { path } = record(t, true);
  const { status, stdout } = await runWords(['replay', path]);
  t.equal(status, 3);
  t.match(stdout, /the adapter did something else after \d+ steps/);
  t.match(stdout, /^ {2}where {5}step \d+: run, record \d+ at byte \d+/m);
  t.match(stdout, /^ {2}recorded {2}byte 0x\w+ \(0 of \d+\): 0x\w+$/m);
  t.match(stdout, /^ {2}now {7}byte 0x\w+ \(0 of \d+\): 0x\w+$/m);
  t.match(stdout, /vuhca replay --inspect-brk --break-at=\d+ /);
});

t.test('files that are no recordings', async (t) => {
  const { bytes, directory } = record(t);
  const other = join(directory, 'other');
  t.match(await runWords(['replay', other]), {
    status: 1,
    stderr: /^vuhca replay: .*other cannot be read \(ENOENT\): it does not exist, .*\n$/,
  });
  writeFileSync(other, 'Dear diary');
  t.match(await runWords(['replay', other]), { status: 1, stderr: /This is not a recording/ });
  const damaged = Buffer.from(bytes);
  damaged[damaged.length - 3] ^= 1;
  writeFileSync(other, damaged);
  t.match(await runWords(['replay', other]), { status: 1, stderr: /The recording is damaged: .* wrong CRC/ });
  t.match(await runWords(['replay']), { status: 2, stderr: /^vuhca replay: FILE is missing/ });
});

t.test('a debugger stops at the step it wants', async (t) => {
  const { path } = record(t);
  const replay = new CliProcess(['replay', '--inspect-brk=127.0.0.1:0', '--break-at=12', path]);
  t.teardown(() => replay.child.kill('SIGKILL'));
  const inspector = await InspectorClient.connect((await replay.until(/ws:\S+/))[0]);
  const paused = inspector.waitFor('Debugger.paused');
  await inspector.call('Debugger.enable');
  await inspector.call('Runtime.runIfWaitingForDebugger');
  const [frame] = (await paused).params.callFrames;
  const evaluate = { callFrameId: frame.callFrameId, expression: 'step.index' };
  t.match(await inspector.call('Debugger.evaluateOnCallFrame', evaluate), { result: { value: 12 } });
  await inspector.call('Debugger.resume');
  // Node keeps a process that has ended until its debugger leaves.
  await inspector.close();
  t.equal(await replay.whenExited, 0);
  t.match(replay.stdout, /identical/);
});
