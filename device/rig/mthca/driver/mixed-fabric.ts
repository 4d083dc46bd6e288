// SPDX-License-Identifier: Apache-2.0
/**
 * Two devices of the personality mthca and our own adapter behind one switch, recorded, with a
 * driver and a reliable queue pair each, for tests of fabrics, traces and reports.
 */
import { AccessFlag, ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import { defaultAdapterOptions } from '../../../hca/adapter/options.ts';
import { defaultMthcaOptions } from '../../../personality/mthca/options.ts';
import {
  defaultSwitchNode,
  type FabricPlan,
  type LocalLinkPlan,
  type PersonalityNode,
} from '../../../topology/fabric-plan.ts';
import { Driver } from '../../driver/driver.ts';
import type { DriverQueuePair } from '../../driver/queue-pair.ts';
import { InProcessAccess } from '../../machine/access.ts';
import { RecordedFabric } from '../../machine/fabric-machine.ts';
import type { InProcessMachine } from '../../machine/machine.ts';
import type { Piece } from '../../machine/personality-driver.ts';
import { DataFixture, type FixtureQueuePair } from './data-fixture.ts';
import { MthcaDriver } from './mthca-driver.ts';

const FULL_ACCESS =
  AccessFlag.LOCAL_WRITE | AccessFlag.REMOTE_WRITE | AccessFlag.REMOTE_READ | AccessFlag.REMOTE_ATOMIC;
/** Bytes of memory of each end. */
export const BYTES = 6000;
const PSN = 100;
/** 2048 bytes: the largest MTU of the personality. */
const MTU_CODE = 4;

export function mthcaNode(name: string, place: number, portCount: 1 | 2 = 2): PersonalityNode {
  const nodeGuid = `00565548434100${place}0`;
  const portLids = [2 * place + 1, 2 * place + 2] as const;
  return { name, personality: 'mthca', options: { ...defaultMthcaOptions, portCount, nodeGuid, portLids } };
}

/** Our own adapter v, and m and n of the personality, at one switch. */
export function mixedPlan(link: LocalLinkPlan['link']): FabricPlan {
  return {
    adapters: [mthcaNode('m', 1), { name: 'v', options: defaultAdapterOptions }, mthcaNode('n', 2, 1)],
    switches: [{ ...defaultSwitchNode, name: 's', ports: 4 }],
    links: [
      { ports: ['m:1', 's:1'], link },
      { ports: ['v:1', 's:2'], link: { kind: 'cable' } },
      { ports: ['n:1', 's:3'], link },
    ],
    subnet: 'managed',
  };
}

/** A device with its driver, a queue pair, and memory that others may read and write. */
export class MthcaPeer {
  readonly fixture: DataFixture;
  readonly qp: FixtureQueuePair;
  readonly memory: Piece;

  constructor(driver: MthcaDriver) {
    this.fixture = new DataFixture({}, driver);
    this.qp = this.fixture.queuePair();
    this.memory = this.fixture.memory(BYTES);
  }

  get bytes(): Uint8Array {
    return this.fixture.bytes(this.memory);
  }
}

/** The same for our own adapter. */
export class VuhcaPeer {
  readonly qp: DriverQueuePair;
  readonly lkey: number;
  readonly rkey: number;
  readonly memory: ReturnType<Driver['createBuffer']>;

  constructor(machine: InProcessMachine, index: number) {
    const driver = new Driver(new InProcessAccess(machine, index)).bringUp();
    const pd = driver.createProtectionDomain();
    ({ lkey: this.lkey, rkey: this.rkey } = driver.createDmaRegion(pd, FULL_ACCESS));
    this.memory = driver.createBuffer(BYTES);
    const sendCq = driver.createCompletionQueue({ entriesLog2: 6 });
    this.qp = driver.createQueuePair({ pd, sendCq, sendEntriesLog2: 4, creation: { serviceType: ServiceType.RC } });
  }
}

export class MixedFabric extends RecordedFabric {
  readonly m: MthcaPeer;
  readonly v: VuhcaPeer;
  readonly n: MthcaPeer;

  constructor(plan: FabricPlan) {
    super(plan);
    const { machine, built } = this;
    this.m = new MthcaPeer(new MthcaDriver(machine, 0, built.adapters[0]));
    this.v = new VuhcaPeer(machine, 1);
    this.n = new MthcaPeer(new MthcaDriver(machine, 2, built.adapters[2]));
    machine.runUntil(() => built.adapters.every(({ ports: [port] }) => port.active), 'active ports');
  }

  /** Connects m and v. */
  connectOwn(): void {
    const { m, v } = this;
    const [lidOfM, lidOfV] = this.lids;
    m.qp.start(v.qp.qpn, lidOfV, {}, PSN);
    v.qp.connect({
      reliable: true,
      port: 1,
      dlid: lidOfM,
      remoteQpn: m.qp.number,
      pathMtu: MTU_CODE,
      sendPsn: PSN,
      receivePsn: PSN,
    });
  }

  /** Connects m and n. */
  connectStock(): void {
    const { m, n } = this;
    const [lidOfM, , lidOfN] = this.lids;
    m.qp.start(n.qp.number, lidOfN);
    n.qp.start(m.qp.number, lidOfM);
  }

  /** Runs until the QP of a device has one completion. Throws unless it is a success. */
  expectOne(peer: MthcaPeer, what: string): void {
    let taken = peer.qp.take();
    this.machine.runUntil(() => {
      if (taken.length === 0) taken = peer.qp.take();
      return taken.length > 0;
    }, what);
    const [{ syndrome }] = taken;
    if (taken.length > 1 || syndrome !== 0)
      throw new Error(`${what}: ${taken.length} completions, syndrome ${syndrome}`);
  }
}
