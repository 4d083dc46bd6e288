// SPDX-License-Identifier: Apache-2.0
/**
 * Breakpoints in the adapter of a live guest. While the adapter is stopped at one, the guest stands
 * still or waits; afterwards it continues undisturbed. The adapter is stopped under traffic for
 * VUHCA_BREAKPOINT_SECONDS (60), and inside a management command for longer than the time-out of a
 * driver.
 */
import { SourceMap } from 'node:module';
import t from 'tap';
import { buildCaseImage, provideModules } from '../session/guest-image.ts';
import { Session } from '../session/session.ts';
import { InspectorClient, type InspectorEvent } from './inspector-client.ts';

const TRAFFIC_SECONDS = Number(process.env.VUHCA_BREAKPOINT_SECONDS ?? 60);
const MANAGEMENT_SECONDS = Math.min(TRAFFIC_SECONDS, 15);
const PORT = 'vuhca.breakpoint';

/** Places in the running code, by the text of their line, which has no needless spaces. */
const collectWrite = { source: 'device/hca/collect/collect-unit.ts', line: 'buffer.store(inPage,sizeBytes,' };
const managementCommand = {
  source: 'device/hca/management/management-processor.ts',
  line: 'return entry.handler(context)',
};

/**
 * Traffic, and a suite of tests in a loop, which reads registers and issues management commands.
 */
const CASE = `#!/bin/sh
mount -t debugfs debugfs /sys/kernel/debug
insmod /modules/vuhca_test.ko && insmod /modules/vuhca_traffic.ko
(until [ -e /tmp/end ]; do cat /sys/kernel/debug/vuhca-test/suites/identity; done; : >/tmp/tested) &
(read -r _ </dev/virtio-ports/${PORT}; : >/tmp/end) &
until [ -e /tmp/tested ]; do
  cat /sys/kernel/debug/vuhca-traffic/counters
  sleep 1
done
rmmod vuhca_traffic && rmmod vuhca_test && rmmod vuhca && echo unloaded
`;

/** The reports of the guest. */
class Reports {
  readonly lines: string[] = [];
  readonly #delivered: number[] = [0, 0];
  /** Results of tests, and datagrams that did not arrive as they were sent. */
  passed = 0;
  errors = 0;
  #reports = 0;

  readonly push = (line: string): void => {
    this.lines.push(line);
    if (/^ *ok /.test(line)) this.passed++;
    const [, port, delivered, errors] = /^port (\d) .* delivered (\d+) .* errors (\d+)$/.exec(line) ?? [];
    if (port === undefined) return;
    this.#delivered[Number(port) - 1] = Number(delivered);
    this.errors += Number(errors);
    this.#reports++;
  };

  /** Resolves when, from now on, both ports have delivered datagrams and a test has passed. */
  async news(): Promise<void> {
    const before = [...this.#delivered];
    const [passed, reports] = [this.passed, this.#reports];
    const isNews = (): boolean =>
      this.passed > passed &&
      this.#reports >= reports + 2 &&
      this.#delivered.every((count, port) => count > before[port]);
    while (!isNews()) await pause(50);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

/** A debugger that knows the scripts of the process. */
class Debugger {
  readonly #inspector: InspectorClient;
  readonly #scripts: InspectorEvent[] = [];

  static async attach(url: string): Promise<Debugger> {
    const inspector = await InspectorClient.connect(url);
    const attached = new Debugger(inspector);
    await inspector.call('Debugger.enable');
    return attached;
  }

  private constructor(inspector: InspectorClient) {
    this.#inspector = inspector;
    inspector.onEvent((event) => event.method === 'Debugger.scriptParsed' && this.#scripts.push(event));
  }

  /** Stops at a line for `seconds`. Returns its original source and the value of `expression`. */
  async holdAt(place: { source: string; line: string }, expression: string, seconds: number) {
    const { originalSource, location } = await this.#find(place);
    const paused = this.#inspector.waitFor('Debugger.paused');
    const { breakpointId } = await this.#inspector.call('Debugger.setBreakpoint', { location });
    const { callFrameId } = (await paused).params.callFrames[0];
    const { result } = await this.#inspector.call('Debugger.evaluateOnCallFrame', { callFrameId, expression });
    await this.#inspector.call('Debugger.removeBreakpoint', { breakpointId });
    await pause(seconds * 1000);
    await this.#inspector.call('Debugger.resume');
    return { originalSource, value: result.value };
  }

  async detach(): Promise<void> {
    await this.#inspector.close();
  }

  async #find({ source, line }: { source: string; line: string }) {
    const script = this.#scripts.find(({ params }) => params.url.endsWith(source));
    if (script === undefined) throw new Error(`the debugger knows no script ${source}`);
    const { scriptId, sourceMapURL } = script.params;
    const { scriptSource } = await this.#inspector.call('Debugger.getScriptSource', { scriptId });
    const before = scriptSource.slice(0, scriptSource.indexOf(line)).split('\n');
    const [lineNumber, columnNumber] = [before.length - 1, before[before.length - 1].length];
    const map = JSON.parse(Buffer.from(sourceMapURL.split(',')[1], 'base64').toString());
    const { originalSource } = new SourceMap(map).findEntry(lineNumber, columnNumber) as { originalSource: string };
    return { originalSource, location: { scriptId, lineNumber, columnNumber } };
  }
}

// Only the guest's silence bounds the wait: a busy machine takes long.
t.setTimeout(0);

t.test('breakpoints are held in the adapter of a live guest', async (t) => {
  const log: string[] = [];
  const reports = new Reports();
  const modules = await provideModules(['driver', 'kernel', 'traffic'], ['vuhca']);
  const session = await Session.start({
    device: { arguments: ['--inspect=127.0.0.1:0'], onLogLine: (line) => log.push(line) },
    guest: { initramfs: await buildCaseImage(modules, CASE), ports: [PORT], patient: true },
  });
  t.teardown(() => session.stop());
  session.guest.port().onLine(reports.push);
  await reports.news();
  const adapter = await Debugger.attach(/ws:\S+/.exec(log.join('\n'))?.[0] ?? '');

  const collecting = await adapter.holdAt(collectWrite, 'sizeBytes', TRAFFIC_SECONDS);
  t.match(collecting.originalSource, /device\/hca\/collect\/collect-unit\.ts$/, 'the source map leads to the source');
  t.equal(collecting.value, 8, 'variables have their values');
  await reports.news();
  t.pass('traffic and tests go on');

  const managing = await adapter.holdAt(managementCommand, 'header.opcode > 0', MANAGEMENT_SECONDS);
  t.match(managing.originalSource, /device\/hca\/management\/management-processor\.ts$/);
  t.equal(managing.value, true);
  await reports.news();
  t.pass('traffic and tests go on after a management command that took very long');
  await adapter.detach();

  await session.guest.port(PORT).write('end\n');
  const end = await session.whenEnded;
  t.equal(reports.errors, 0, 'every datagram arrived as it was sent');
  t.same(
    reports.lines.filter((line) => /^ *not ok/.test(line)),
    [],
    'no test failed',
  );
  t.same(end.complaints, [], "the guest's kernel has nothing to say");
  t.equal(end.deviceFailure, undefined);
  t.equal(end.guest.status, 0);
  t.ok(reports.lines.includes('unloaded'), 'the driver can be unloaded');
});
