// SPDX-License-Identifier: Apache-2.0
/**
 * The command `step` at a process with a client of its socket: steps, runs to conditions, and one
 * sentence for each mistake, which moves nothing.
 */
import t, { type Test } from 'tap';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { CONFIG_REGION } from '../../../protocol/vfio-user/client/client.ts';
import { defaultAdapterOptions } from '../../hca/adapter/options.ts';
import { STEPS_MAX } from '../../hosts/step-limits.ts';
import { AttachedProcess } from '../../rig/live/attached-process.ts';
import { ControlCommands } from './control-commands.ts';
import type { ControlClientHandle } from './control-server.ts';
import type { StepAnswer } from './step-commands.ts';

const PCI_COMMAND = 4;
const MEMORY_AND_BUS_MASTER = 6;

async function start(t: Test, isStepwise: boolean) {
  const fixture = await AttachedProcess.start(t, { name: 'a', options: defaultAdapterOptions }, isStepwise);
  const { table } = new ControlCommands(fixture.process, 1, () => {});
  const ask = (command: string, parameters: object) =>
    table.get(command)?.({ version: 1, id: 1, command, parameters: { ...parameters } }, {} as ControlClientHandle);
  return { fixture, ask, step: (parameters: object) => ask('step', parameters) as StepAnswer };
}

t.test('a process is stepped, run and stopped, and its status says so', async (t) => {
  const { fixture, ask, step } = await start(t, true);
  const stepping = () => (ask('status', {}) as { stepping: object }).stepping;
  t.same(stepping(), { going: 'still', steps: 0, reached: false });
  t.match(step({ count: 10 }), { text: 'the adapter stands still after 10 steps', steps: 10 });
  t.match(step({ go: true }), { text: 'the adapter runs', going: 'runs' });
  await fixture.settle();
  t.match(step({ stop: true }), { going: 'still', steps: 10 });
  t.match(step({ until: 'fault at a' }), { text: 'the adapter runs until fault at a', going: 'seeks' });
  await fixture.settle();
  t.match(stepping(), { going: 'seeks', reached: false });
  await fixture.write(0, CSR.DEVICE_STATUS, 1);
  await fixture.settle();
  t.match(stepping(), { going: 'still', condition: 'fault at a', reached: true });
  t.match(step({ stop: true }), { text: /^the adapter stands still after \d+ steps: fault at a$/ });
});

t.test('a condition about interrupts needs no trace', async (t) => {
  const { fixture, ask, step } = await start(t, true);
  t.match(ask('trace-status', {}), { timeline: undefined });
  step({ until: 'interrupt' });
  await fixture.write(CONFIG_REGION, PCI_COMMAND, MEMORY_AND_BUS_MASTER);
  t.match(step({ stop: true }), { going: 'still', reached: false });
  t.match(ask('trace-status', {}), { timeline: { head: 0 } }, 'the steps are noted from now on');
});

t.test('mistakes are refused, and move nothing', async (t) => {
  const { ask, step } = await start(t, true);
  for (const [parameters, sentence] of [
    [{}, 'give one of count, until, go, stop'],
    [{ count: 1, go: true }, 'give one of count, until, go, stop'],
    [{ go: 'yes' }, 'go and stop must be true'],
    [{ stop: false }, 'go and stop must be true'],
    [{ until: 5 }, 'until must be a condition in words'],
    [{ until: 'moon' }, /^the condition `moon` is not understood; there are `fault`/],
    [{ until: 'fault at b' }, 'there is no adapter b; there are a'],
    ...[0, -1, 1.5, STEPS_MAX + 1, '1'].map(
      (count) => [{ count }, `count must be a whole number from 1 to ${STEPS_MAX}`] as const,
    ),
  ] as const)
    t.throws(() => step(parameters), { name: 'Refusal', message: sentence }, JSON.stringify(parameters));
  t.match(ask('status', {}), { stepping: { going: 'still', steps: 0 } });
});

t.test('a process that was not started so cannot be stepped', async (t) => {
  const { ask, step } = await start(t, false);
  t.throws(() => step({ count: 1 }), { name: 'Refusal', message: /runs and cannot be stepped; .* --stepwise can$/ });
  t.notOk('stepping' in (ask('status', {}) as object));
});
