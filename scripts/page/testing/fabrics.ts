// SPDX-License-Identifier: Apache-2.0
/**
 * Fabrics of real switches and adapters under a real subnet manager, in simulated time, with their
 * reports: the content of the false server of the page. Called by tests of the page and its server.
 */
import { type FabricReport, reportFabric } from '../../../device/process/reports/fabric-report.ts';
import { reportManagers } from '../../../device/process/reports/manager-report.ts';
import { ManagedFabric, type ManagedFabricPlan } from '../../../device/rig/fixtures/managed-fabric.ts';
import type { NamedNode } from '../../../device/topology/named-nodes.ts';

/** Switches in two rows, each of the lower row joined to each of the upper one; adapters below. */
export function treePlan(roots: number, leaves: number, adapters: number): ManagedFabricPlan {
  const perLeaf = Math.ceil(adapters / leaves);
  const trunks = Array.from({ length: roots }, (_, root) =>
    Array.from({ length: leaves }, (_, leaf): [string, string] => [`s${root}`, `s${roots + leaf}`]),
  );
  const plugs = Array.from({ length: adapters }, (_, adapter): [string, string] => [
    `a${adapter}`,
    `s${roots + Math.floor(adapter / perLeaf)}`,
  ]);
  return {
    switches: Array.from({ length: roots + leaves }, (_, index) => (index < roots ? leaves + 1 : roots + perLeaf + 1)),
    adapters,
    links: [...trunks.flat(), ...plugs],
  };
}

export class ReportedFabric {
  readonly fabric: ManagedFabric;
  readonly nodes: readonly NamedNode[];

  /** `isSettled`: runs until the manager has configured everything. */
  constructor(plan: ManagedFabricPlan, isSettled = true) {
    this.fabric = new ManagedFabric(plan);
    this.nodes = [
      ...this.fabric.adapters.map((node, index) => ({ name: `a${index}`, mads: node.mads })),
      ...this.fabric.switches.map((node, index) => ({ name: `s${index}`, mads: node.mads })),
    ];
    if (isSettled) this.settle();
  }

  /** Until every port is active and the manager rests. */
  settle(): void {
    const { fabric } = this;
    const isDone = () => fabric.allActive && fabric.managers.every((manager) => manager.isSettled);
    if (!fabric.runUntil(isDone)) throw new Error('the subnet manager does not come to an end');
  }

  report(): FabricReport {
    const { clock, managers } = this.fabric;
    const timeNs = clock.now();
    return { timeNs, ...reportFabric(this.nodes), managers: reportManagers(managers, timeNs) };
  }
}
