// SPDX-License-Identifier: Apache-2.0
/**
 * Power states of a function of each personality, as a client of its socket sets them: in D3hot it
 * answers accesses of configuration space only, and sends nothing (PCI Express Base Specification
 * 5.3.1.4.1). Its state is kept, and a recording of it replays.
 */
import t from 'tap';
import { CSR, CSR_DEVICE_CONTROL_ENABLE_MASK } from '../../../protocol/layout/gen/registers.gen.ts';
import { CONFIG_REGION } from '../../../protocol/vfio-user/client/client.ts';
import { defaultAdapterOptions } from '../../hca/adapter/options.ts';
import { defaultMlx5Options } from '../../personality/mlx5/options.ts';
import { defaultMthcaOptions } from '../../personality/mthca/options.ts';
import { AttachedProcess } from '../../rig/live/attached-process.ts';
import type { AdapterNode } from '../../topology/fabric-plan.ts';
import { reportProcess } from '../reports/status-report.ts';

const ONES = 0xffff_ffff;
const REGISTER_BAR = 0;
const COLLECT_BAR = 2;
const PCI_COMMAND = 4;
const MEMORY_AND_BUS_MASTER = 6;
/** PMCSR: the capability of power management comes first. */
const POWER_CONTROL = 0x44;
const D0 = 0;
const D3HOT = 3;

const nodes: Record<string, AdapterNode> = {
  vuhca: { name: 'a', options: defaultAdapterOptions },
  mthca: { name: 'a', personality: 'mthca', options: { ...defaultMthcaOptions, portLids: [5, 6] } },
  mlx5: { name: 'a', personality: 'mlx5', options: defaultMlx5Options },
};

for (const [name, node] of Object.entries(nodes))
  t.test(`hazard 55: D3hot of ${name}, and back to D0`, async (t) => {
    const fixture = await AttachedProcess.start(t, node);
    const { underlying, host } = fixture;
    await fixture.write(CONFIG_REGION, PCI_COMMAND, MEMORY_AND_BUS_MASTER);
    const first = await fixture.read(REGISTER_BAR, 0);
    t.ok(underlying.dma.busMaster);
    t.ok(await fixture.triesToInterrupt());

    await fixture.write(CONFIG_REGION, POWER_CONTROL, D3HOT);
    const accesses = { ...host.counters };
    for (const bar of name === 'mlx5' ? [REGISTER_BAR] : [REGISTER_BAR, COLLECT_BAR]) {
      t.equal(await fixture.read(bar, 0), ONES, `BAR${bar} answers with ones`);
      await fixture.write(bar, 0, 1);
    }
    t.same(host.counters, accesses, 'no access reaches the adapter');
    t.notOk(underlying.dma.busMaster, 'no DMA');
    t.notOk(await fixture.triesToInterrupt(), 'no interrupt');
    t.equal(await fixture.read(CONFIG_REGION, PCI_COMMAND), 0x0010_0006, 'configuration space answers');
    t.equal(socketOf(fixture).inD0, false, 'vuhca status shows it');

    await fixture.write(CONFIG_REGION, POWER_CONTROL, D0);
    t.equal(await fixture.read(REGISTER_BAR, 0), first);
    t.ok(underlying.dma.busMaster, 'DMA again, without a write of the command register');
    t.ok(await fixture.triesToInterrupt(), 'interrupts again');
    t.equal(underlying.resetCount, 0, 'the state is kept');
    t.equal(socketOf(fixture).inD0, true);
  });

t.test('a recording of it replays', async (t) => {
  const fixture = await AttachedProcess.start(t, nodes.vuhca);
  await fixture.write(CONFIG_REGION, PCI_COMMAND, MEMORY_AND_BUS_MASTER);
  for (const state of [D3HOT, D0]) {
    await fixture.write(CONFIG_REGION, POWER_CONTROL, state);
    await fixture.write(REGISTER_BAR, CSR.DEVICE_CONTROL, CSR_DEVICE_CONTROL_ENABLE_MASK);
    t.equal(fixture.underlying.enabled, state === D0);
    await fixture.read(REGISTER_BAR, CSR.DEVICE_STATUS);
  }
  t.match(fixture.replay(), { truncated: false, divergence: undefined });
});

function socketOf({ process }: AttachedProcess) {
  const { adapters, personalities } = reportProcess(process, 1);
  return [...adapters, ...personalities][0].sockets[0];
}
