// SPDX-License-Identifier: Apache-2.0
/**
 * The in-kernel tests of guest.test.ts on other adapters: the fewest resources, combined stores,
 * other numbers of ports, memory that is late, and an adapter that dies.
 */
import t from 'tap';
import { runGuestCases } from './harness/kernel-cases.ts';
import { hasQemuAborted, runPastOthersFaults } from './harness/others-faults.ts';
import { hasPassed, report } from './harness/report.ts';
import { combinedRun, orderedRun } from './seeded-runs.ts';

/**
 * The smallest possible numbers of buffers and credits: commands are refused, wait and fall back
 * everywhere.
 */
const SCARCE = [
  ...['--pcbs', '4', '--pcb-guaranteed', '2,1', '--scheduler-buffers', '1'],
  ...['--execution-credits', '1', '--completion-credits', '1', '--port-queue', '2'],
];

/** Number of runs in which QEMU may abort by itself, plus the one that counts. */
const ATTEMPTS = 11;

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('commands and their copies, with the fewest resources', async (t) => {
  const collected = ['datagram', 'collect', 'collect_errors', 'shares', 'parallel', 'stop', 'overflow', 'overload'];
  const suites = [...collected, 'waiting', 'once', 'flush', 'connected_bulk', 'connected_breaks'];
  const run = await runGuestCases({ suites, count: 300, seed: 2, deviceArguments: SCARCE });
  report(t, run);
  const scarce = [
    'collect_errors/refused',
    'collect_errors/host-queue',
    'shares/shortage-level-0',
    'shares/shortage-level-1',
  ];
  hasPassed(t, run, [...scarce, 'overload/threshold-rises', 'waiting/links']);
  t.comment(`${run.results.length} results in ${run.seconds.toFixed(1)} s`);
});

t.test('suites that post commands, with combined stores', async (t) => {
  report(t, await runGuestCases(combinedRun(3)));
});

t.test('four ports at a switch, several dedicated buffers, a bus as PCI Express has it', async (t) => {
  const bus = ['--bus', 'pcie', '--bus-depth', '1', '--doorbell-entries', '64'];
  const deviceArguments = ['--ports', '4', '--fabric', 'switch', '--management-buffers', '3', ...bus];
  const suites = ['dedicated', 'management', 'refusal', 'blocked_bus', 'port_count', 'mad'];
  const run = await runGuestCases({ suites, deviceArguments });
  report(t, run);
  for (const { path, skipped } of run.results) t.equal(skipped, undefined, `${path.join('/')} did run`);
});

t.test('suites that poll and get events, on memory that lags and is disordered', async (t) => {
  report(t, await runGuestCases(orderedRun(1)));
});

t.test('an adapter with one port, which dies under the driver', async (t) => {
  // A lone port has no cable: a switch makes it active.
  const options = {
    script: 'gone.sh',
    suites: ['port_count'],
    deviceArguments: ['--ports', '1', '--fabric', 'switch'],
  };
  const run = await runPastOthersFaults(t, ATTEMPTS, () => runGuestCases(options));
  hasPassed(t, run, ['port_count/each', 'port_count/special', 'port_count/beyond']);
  if (hasQemuAborted(run)) t.pass('the driver was not judged', { skip: `QEMU aborted by itself ${ATTEMPTS} times` });
  else report(t, run);
});
