// SPDX-License-Identifier: Apache-2.0
/**
 * The copies that `bench:transport --only trace-off` compares: without hooks, and with several in
 * place of each. Both behave as the adapter itself.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t, { type Test } from 'tap';
import { SendOpcode, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import { copySources, multiplyHooks, multiplyText, stripHooks, stripText } from './hook-copies.ts';
import { summarize } from './statistics.ts';

const ROOT = join(import.meta.dirname, '..', '..');

t.test('each kind of hook is removed', async (t) => {
  const same = (before: string, after: string, hooks = 1): void =>
    void t.same(stripText(before), { text: after, hooks }, before);
  same('  qp.trace?.endMessage(Status.OK, f(1));\n', '  ;\n');
  same('  else this.timeline?.note(\n    Step.BIND,\n    vcb,\n  );\n', '  else \n\n\n;\n');
  same('  if (record.trace !== undefined) this.#build.tracePacket(record, record.trace);\n', '  ;\n');
  same('  if (resource.trace !== undefined) {\n    a();\n  }\n  b();\n', '  ;\n\n\n  b();\n');
  same('  record.trace = qp.trace;\n  record.trace?.launch(record);\n', '  ;\n  ;\n', 2);
  same('  const trace = qp.trace;\n', '  const trace = qp.trace;\n', 0);
});

t.test('each kind of hook gets two more, on fields of their own', async (t) => {
  const same = (before: string, after: string): void => void t.equal(multiplyText(before, 2).text, after);
  same('  if (a) qp.trace?.f(1);\n', '  if (a) qp.trace?.f(1), qp.trace1?.f(1), qp.trace2?.f(1);\n');
  same(
    '  if (r.trace !== undefined) f(r.trace);\n',
    '  if (r.trace !== undefined) f(r.trace); if (r.trace1 !== undefined) f(r.trace); if (r.trace2 !== undefined) f(r.trace);\n',
  );
  same(
    '  record.trace = qp.trace;\n',
    '  record.trace = qp.trace; record.trace1 = qp.trace1; record.trace2 = qp.trace2;\n',
  );
  const field = '  timeline: Timeline | undefined = undefined;';
  same(field, [field, field.replace(':', '1:'), field.replace(':', '2:')].join('\n'));
});

t.test('a copy with more hooks has their fields, and sends messages', async (t) => {
  const directory = t.testdir();
  copySources(ROOT, directory);
  t.ok(multiplyHooks(directory, 3) > 40);
  const url = pathToFileURL(join(directory, 'device/hca/transport/state/send-record.ts')).href;
  const { SendRecord } = (await import(url)) as typeof import('../../device/hca/transport/state/send-record.ts');
  const traces = Object.keys(new SendRecord()).filter((name) => /^trace\d*$/.test(name));
  t.same(traces, ['trace', 'trace1', 'trace2', 'trace3']);
  await sendThrough(t, directory);
});

t.test('the copy has no hook, and sends messages', async (t) => {
  const directory = t.testdir();
  copySources(ROOT, directory);
  const hooks = stripHooks(directory);
  t.ok(hooks > 40, `${hooks} hooks`);
  for (const room of ['transport', 'scheduler', 'collect', 'lane', 'pio', 'events', 'function', 'queues']) {
    const folder = join(directory, 'device/hca', room);
    for (const path of readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
      path.endsWith('.ts'),
    )) {
      const text = readFileSync(join(folder, path), 'utf8');
      if (/(trace|timeline)\?\./.test(text)) t.fail(`${room}/${path} has a hook`);
    }
  }
  await sendThrough(t, directory);
});

/** Sends messages with all QPs traced. */
async function sendThrough(t: Test, directory: string): Promise<void> {
  const url = pathToFileURL(join(directory, 'scripts/bench/transport-traffic.ts')).href;
  const { TransportTraffic } = (await import(url)) as typeof import('./transport-traffic.ts');
  const common = { size: 64, queuePairs: 1, batch: 16, inFlight: 64 };
  const traffic = new TransportTraffic(
    { ...common, serviceType: ServiceType.RC, opcode: SendOpcode.RDMA_WRITE },
    {},
    1 << 24,
  );
  traffic.trace();
  for (let round = 0; round < 10; round++) traffic.round();
  traffic.verify();
  t.equal(traffic.messages, 640);
}

t.test('the interval of a median', async (t) => {
  const values = Array.from({ length: 12 }, (_, index) => 12 - index);
  t.same(summarize(values), { ratio: 6.5, low: 3, high: 10 }, 'the third from either end of twelve: 96 %');
  t.same(summarize([3, 1, 2]), { ratio: 2, low: 1, high: 3 }, 'too few to leave one out');
});
