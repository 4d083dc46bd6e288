// SPDX-License-Identifier: Apache-2.0
/**
 * A device of the personality mlx5, our own adapter and one of mthca behind one switch, recorded,
 * with a driver and a reliable queue pair each; for tests of fabrics, traces and reports.
 */
import { CompletionOpcode, PathMtu } from '../../../protocol/mlx5/gen/values.gen.ts';
import { defaultAdapterOptions } from '../../hca/adapter/options.ts';
import type { Mlx5Adapter } from '../../personality/mlx5/mlx5-adapter.ts';
import type { MthcaAdapter } from '../../personality/mthca/mthca-adapter.ts';
import { defaultSwitchNode, type FabricPlan } from '../../topology/fabric-plan.ts';
import { RecordedFabric } from '../machine/fabric-machine.ts';
import type { Piece } from '../machine/personality-driver.ts';
import { DataFixture } from '../mlx5/driver/data-fixture.ts';
import { Mlx5Driver } from '../mlx5/driver/mlx5-driver.ts';
import { mlx5Node } from '../mlx5/driver/mlx5-fabric.ts';
import type { Mlx5DriverQueuePair } from '../mlx5/driver/queue-pair.ts';
import { BYTES, MthcaPeer, mthcaNode, VuhcaPeer } from '../mthca/driver/mixed-fabric.ts';
import { MthcaDriver } from '../mthca/driver/mthca-driver.ts';

const PSN = 100;
/** 2048 bytes: the largest MTU of mthca. */
const MTU_CODE = 4;
const cable = { kind: 'cable' } as const;

/** Device m of mlx5, our own adapter v, and n of mthca, at one switch. */
const plan: FabricPlan = {
  adapters: [mlx5Node('m', 1), { name: 'v', options: defaultAdapterOptions }, mthcaNode('n', 2, 1)],
  switches: [{ ...defaultSwitchNode, name: 's', ports: 4 }],
  links: ['m:1', 'v:1', 'n:1'].map((port, index) => ({ ports: [port, `s:${index + 1}`], link: cable }) as const),
  subnet: 'managed',
};

export class ThreeKinds extends RecordedFabric {
  readonly m: { readonly fixture: DataFixture; readonly qp: Mlx5DriverQueuePair; readonly memory: Piece };
  readonly v: VuhcaPeer;
  readonly n: MthcaPeer;

  constructor() {
    super(plan);
    const { machine, built } = this;
    const [first, , third] = built.adapters;
    const fixture = new DataFixture(new Mlx5Driver(machine, 0, first as Mlx5Adapter));
    this.m = { fixture, qp: fixture.queuePair({ context: { mtu: PathMtu.MTU_2048 } }), memory: fixture.memory(BYTES) };
    this.v = new VuhcaPeer(machine, 1);
    this.n = new MthcaPeer(new MthcaDriver(machine, 2, third as MthcaAdapter));
    machine.runUntil(() => built.adapters.every(({ ports: [port] }) => port.active), 'active ports');
  }

  /** Connects m and our own adapter. */
  connectOwn(): void {
    const { m, v } = this;
    const [lidOfM, lidOfV] = this.lids;
    m.qp.start(v.qp.qpn, lidOfV);
    v.qp.connect({
      ...{ reliable: true, port: 1, dlid: lidOfM, remoteQpn: m.qp.number },
      ...{ pathMtu: MTU_CODE, sendPsn: PSN, receivePsn: PSN },
    });
  }

  /** Connects m and n. */
  connectStock(): void {
    const { m, n } = this;
    const [lidOfM, , lidOfN] = this.lids;
    m.qp.start(n.qp.number, lidOfN);
    n.qp.start(m.qp.number, lidOfM);
  }

  /** Runs until the QP of m has a completion, and takes it. Throws if it is an error. */
  expectOne(what: string): void {
    const { cq } = this.m.qp.setup;
    this.machine.runUntil(() => cq.peek() !== undefined, what);
    const [{ opcode }] = cq.take(1);
    if (opcode === CompletionOpcode.REQUEST_ERROR || opcode === CompletionOpcode.RESPONSE_ERROR)
      throw new Error(`${what}: completion of an error`);
  }

  /** Runs until the QP of n has its completion. */
  expectReceive(): void {
    let taken = this.n.qp.take();
    this.machine.runUntil(() => {
      if (taken.length === 0) taken = this.n.qp.take();
      return taken.length > 0;
    }, 'a receive of n');
    if (taken[0].syndrome !== 0) throw new Error(`n: syndrome ${taken[0].syndrome}`);
  }
}
