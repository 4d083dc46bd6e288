// SPDX-License-Identifier: Apache-2.0
/**
 * The screens of `vuhca status` and `vuhca top` for adapters of personalities, alone and in a
 * process with others.
 */
import t from 'tap';
import { Firmware } from '../../../device/personality/shared/firmware.ts';
import { reportPersonality } from '../../../device/process/reports/personality-report.ts';
import type { StatusReport } from '../../../device/process/reports/status-report.ts';
import { Mlx5Driver } from '../../../device/rig/mlx5/driver/mlx5-driver.ts';
import { DataFixture } from '../../../device/rig/mthca/driver/data-fixture.ts';
import type { PersonalityAdapter } from '../../../device/topology/personalities.ts';
import { HealthSyndrome } from '../../../protocol/mlx5/gen/values.gen.ts';
import { WorkOpcode } from '../../../protocol/mthca/gen/values.gen.ts';
import { computeRates } from '../commands/status-sample.ts';
import { renderStatus } from './status-screen.ts';

const SOCKET = {
  path: '/tmp/m.sock',
  attached: true,
  inD0: true,
  sharedMemoryBytes: 2 ** 30,
  requests: 1000,
  attaches: 1,
  refusedClients: 0,
  lostConnections: 0,
  exceptions: 0,
  registerReads: 10,
  registerWrites: 20,
  collectWrites: 30,
  pioWrites: 0,
  blockedTooLong: 0,
};

function reportOf(devices: Readonly<Record<string, PersonalityAdapter>>, uptimeNs: number): StatusReport {
  const personalities = Object.entries(devices).map(([name, device]) => ({
    name,
    sockets: [SOCKET],
    ...reportPersonality(device),
  })) as unknown as StatusReport['personalities'];
  const pump = { spinNs: 50_000, isCrowded: false, longSpins: { found: 0, missed: 0 }, passes: 9, waits: 2, sleeps: 1 };
  return { pid: 42, uptimeNs, pump, recording: undefined, adapters: [], personalities, switches: [], links: [] };
}

t.test('an adapter at work, and its rates', (t) => {
  const fixture = new DataFixture();
  const { device } = fixture.driver;
  const before = reportOf({ a: device }, 1e9);
  const [first, second] = fixture.connect();
  const local = fixture.memory(64);
  for (let count = 0; count < 4; count++) second.postReceive(local);
  first.post(...Array.from({ length: 4 }, () => ({ opcode: WorkOpcode.SEND, pieces: [local] })));
  fixture.run();
  const after = reportOf({ a: device }, 3e9);
  const rates = computeRates(before, after);
  t.match(rates, { commands: 2, personalities: [{ sends: 2, completions: 4 }] });
  const text = renderStatus(after, rates);
  t.match(text, /^guest +attached, 1.0 GiB within reach, \/tmp\/m.sock$/m);
  t.match(text, /^HCA +running, bus master on, never reset$/m);
  t.match(text, /^objects +\d+ memory regions, 0 shared receive queues, \d+ context pages$/m);
  t.match(text, /^QPs +2 RTS$/m);
  t.match(text, /^CQs +2, 8 entries posted, 0 in error$/m);
  t.match(text, /^sends +4 launched, 0 waiting, 0 buffers busy, QP0 and QP1: 0 dropped$/m);
  t.match(text, /^port 1 +ACTIVE, LID 1, \d+ sent, \d+ received, 0 dropped$/m);
  t.ok(
    text.split('\n').every((one) => one.length <= 80),
    'it fits a narrow terminal',
  );
  t.match(
    renderStatus(after, rates, { perSecond: true }),
    /^activity +2 requests\/s, 4 completions\/s, \d+ interrupts\/s, \d+ commands\/s$/m,
  );
  t.end();
});

t.test('several adapters have their names', (t) => {
  const [{ driver }, mlx5] = [new DataFixture(), new Mlx5Driver()];
  mlx5.start();
  const report = reportOf({ m: driver.device, n: mlx5.device }, 1e9);
  const text = renderStatus(report, computeRates(report, report));
  t.match(text, /^adapter +m, mthca$[\s\S]*^adapter +n, mlx5$[\s\S]*^HCA +running, bus master on, never reset$/m);
  t.match(text, /^objects +0 memory keys, 0 shared receive queues, 0 user pages$\s+80 firmware pages$/m);
  mlx5.device.hca.fail(HealthSyndrome.HARDWARE, Firmware.SILENT);
  const failed = reportOf({ n: mlx5.device }, 1e9);
  t.match(renderStatus(failed, computeRates(failed, failed)), /^HCA +!failed, /m);
  t.end();
});
