// SPDX-License-Identifier: Apache-2.0
//
// The copy without hooks that `bench:transport --only trace-off` compares with: nothing of traces is called in it, and it does the same.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import { SendOpcode, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import { summarize } from './statistics.ts';
import { copySources, stripHooks, stripText } from './strip-hooks.ts';

t.test('each kind of hook', async (t) => {
  const same = (before: string, after: string, hooks = 1): void =>
    void t.same(stripText(before), { text: after, hooks }, before);
  same('  qp.trace?.endMessage(Status.OK, f(1));\n', '  ;\n');
  same('  else this.timeline?.note(\n    Step.BIND,\n    vcb,\n  );\n', '  else \n\n\n;\n');
  same('  if (record.trace !== undefined) this.#build.tracePacket(record, record.trace);\n', '  ;\n');
  same('  if (resource.trace !== undefined) {\n    a();\n  }\n  b();\n', '  ;\n\n\n  b();\n');
  same('  record.trace = qp.trace;\n  record.trace?.launch(record);\n', '  ;\n  ;\n', 2);
  same('  const trace = qp.trace;\n', '  const trace = qp.trace;\n', 0);
});

t.test('the copy has no hook left, and sends messages', async (t) => {
  const directory = t.testdir();
  copySources(join(import.meta.dirname, '..', '..'), directory);
  const hooks = stripHooks(directory);
  t.ok(hooks > 40, `${hooks} hooks`);
  for (const folder of ['transport', 'scheduler', 'collect', 'lane', 'pio', 'pci', 'queues'])
    for (const name of readdirSync(join(directory, 'device', folder))) {
      const text = readFileSync(join(directory, 'device', folder, name), 'utf8');
      if (/(trace|timeline)\?\./.test(text)) t.fail(`${folder}/${name} has a hook`);
    }
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
});

t.test('the interval of a median', async (t) => {
  const values = Array.from({ length: 12 }, (_, index) => 12 - index);
  t.same(summarize(values), { ratio: 6.5, low: 3, high: 10 }, 'the third from either end of twelve: 96 %');
  t.same(summarize([3, 1, 2]), { ratio: 2, low: 1, high: 3 }, 'too few to leave one out');
});
