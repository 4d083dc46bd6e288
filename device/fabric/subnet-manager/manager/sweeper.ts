// SPDX-License-Identifier: Apache-2.0
/**
 * The sweeps of a subnet manager: when each is due, and what follows from it. The manager stands
 * by, hands over, or configures the subnet as its master (IBTA 14.4.1 to 14.4.4). Each due action
 * is a job of SMPs; `SubnetManager` runs one at a time.
 */
import {
  getPortInfoCapabilityMask,
  getPortInfoMKeyProtect,
  getPortInfoPortState,
  setPortInfoCapabilityMask,
} from '../../../../protocol/infiniband/mad/gen/port-info.gen.ts';
import { getSmInfoSmState } from '../../../../protocol/infiniband/mad/gen/sm-info.gen.ts';
import {
  getSwitchInfoLinearTop,
  getSwitchInfoPortStateChange,
  setSwitchInfoPortStateChange,
} from '../../../../protocol/infiniband/mad/gen/switch-info.gen.ts';
import {
  MadStatus,
  PortCapability,
  SmState,
  SubnetAttribute,
} from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { PortState } from '../../../../protocol/layout/gen/values.gen.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import type { AdapterClock } from '../../../host.ts';
import type { Administration } from '../administration/administration.ts';
import type { KnownManager } from '../administration/table-records.ts';
import { decideHandover, type Peer, type Rank, readPeers, SmControl } from '../election/handover.ts';
import type { SmStateMachine } from '../election/state-machine.ts';
import { protectionOf, type SubnetManagerOptions } from '../options.ts';
import { get, type SmpJob, set } from '../smp-client.ts';
import { Subnet, type SubnetNode, type SubnetPort } from '../subnet.ts';
import { discover } from '../sweep/discovery.ts';
import { LidAssignment } from '../sweep/lids.ts';
import type { SweepCounters } from '../sweep/port-settings.ts';
import { configure, lookForChanges } from '../sweep/sweep.ts';

const SECOND = 1_000_000_000;
/** Sweeps for which a master waits for another, lesser master to hand over. */
const LONGEST_WAIT = 10;

/** Rank and SMInfo of the manager itself. */
interface OwnManager extends Rank {
  info(): Uint8Array;
}

export class Sweeper {
  /** The subnet as last configured; without nodes until then. */
  subnet = new Subnet();
  /** Other managers that the last sweep found. */
  peers: readonly Peer[] = [];
  heavySweeps = 0;
  lightSweeps = 0;
  readonly counters: SweepCounters = { writes: 0, refusals: 0, silent: 0, cutKeys: 0 };
  readonly lids = new LidAssignment();
  readonly #own: OwnManager;
  readonly #stateMachine: SmStateMachine;
  readonly #options: SubnetManagerOptions;
  readonly #administration: Administration;
  readonly #clock: AdapterClock;
  #heavyNs = 0;
  #lightNs = Infinity;
  #waits = 0;
  #retryNs = SECOND;
  #lastHeavyNs = 0;
  /** LIDs of ports that are to be read again. */
  readonly #toRead = new Set<number>();

  constructor(
    own: OwnManager,
    stateMachine: SmStateMachine,
    options: SubnetManagerOptions,
    administration: Administration,
    clock: AdapterClock,
  ) {
    this.#own = own;
    this.#stateMachine = stateMachine;
    this.#options = options;
    this.#administration = administration;
    this.#clock = clock;
  }

  /** Time of the next job. */
  get dueNs(): number {
    const { state } = this.#stateMachine;
    if (state === SmState.MASTER && this.#toRead.size > 0) return 0;
    return state === SmState.STANDBY ? this.#lightNs : Math.min(this.#heavyNs, this.#lightNs);
  }

  /** The job that is due. */
  next(nowNs: number): SmpJob {
    if (this.#stateMachine.state === SmState.STANDBY) return this.#poll();
    if (this.#heavyNs <= nowNs) return this.#sweep();
    return this.#toRead.size > 0 ? this.#readPorts() : this.#look();
  }

  sweepNow(): void {
    this.#heavyNs = this.#clock.now();
  }

  /**
   * A port is to be read again: its capabilities have changed, or a request without its management
   * key came to it, so that its lease runs (IBTA 14.2.4.2). A port that no sweep has found is
   * swept.
   */
  readPort(lid: number): void {
    if (this.subnet.portOfLid(lid) === undefined) this.sweepNow();
    else this.#toRead.add(lid);
  }

  lookNow(): void {
    this.#lightNs = this.#clock.now();
  }

  /** Sweeps when the last sweep is `ns` ago, or at once if that was earlier. */
  sweepWithin(ns: number): void {
    this.#heavyNs = Math.min(this.#heavyNs, Math.max(this.#clock.now(), this.#lastHeavyNs + ns));
  }

  /** The state has changed by order of another manager. */
  restart(): void {
    this.#waits = 0;
    this.#heavyNs = this.#clock.now();
    this.#lightNs = this.#clock.now() + this.#options.pollNs;
  }

  *#sweep(): SmpJob {
    this.heavySweeps++;
    this.#toRead.clear();
    this.#unplan();
    this.#lastHeavyNs = this.#clock.now();
    const stateMachine = this.#stateMachine;
    const subnet = yield* discover(this.subnet);
    if (subnet.ownPort === undefined) return this.#plan(this.#options.timeoutNs, Infinity);
    yield* this.#acknowledge(subnet);
    this.peers = yield* readPeers(subnet);
    const decision = decideHandover(this.#own, stateMachine.state === SmState.MASTER, this.peers);
    if (decision.kind === 'yield') {
      stateMachine.standBy({ guid: decision.peer.guid, path: decision.peer.port.path });
      return this.#plan(Infinity, this.#options.pollNs);
    }
    if (decision.kind === 'hand-over' && (yield* this.#handOver(decision.peer)))
      return this.#plan(Infinity, this.#options.pollNs);
    if (decision.kind === 'wait' && this.#waits < LONGEST_WAIT) {
      this.#waits++;
      return this.#plan(SECOND, Infinity);
    }
    if (decision.kind !== 'wait') this.#waits = 0;
    yield* this.#govern(subnet);
  }

  /** Configures the subnet as its master. */
  *#govern(subnet: Subnet): SmpJob {
    const stateMachine = this.#stateMachine;
    stateMachine.successor = undefined;
    stateMachine.becomeMaster();
    const { isNew } = stateMachine;
    if (yield* settleStateChanges(subnet)) return this.sweepNow();
    if (isNew) this.#administration.reset();
    else keepTables(this.subnet, subnet);
    const before = this.subnet;
    const silentBefore = this.counters.silent;
    const wasUp = subnet.ownPort?.isUp;
    const groups = () => this.#administration.groups();
    this.#administration.subnet = subnet;
    this.#administration.managers = this.#managers(subnet);
    yield* configure(subnet, this.#options, this.lids, groups, isNew, this.counters);
    this.subnet = subnet;
    stateMachine.isNew = false;
    if (!isNew) this.#administration.subnetChanged(before, this.#clock.now());
    const isComplete = subnet.silent === 0 && this.counters.silent === silentBefore;
    this.#retryNs = isComplete ? SECOND : Math.min(2 * this.#retryNs, this.#options.sweepNs);
    this.#plan(isComplete ? Infinity : this.#retryNs, this.#options.sweepNs);
    // The link has gone up or down since the discovery. The next look would not notice: it compares
    // with the answers to the writes. Switches keep a flag for this, the port of the manager none.
    if (subnet.ownPort?.isUp !== wasUp) this.sweepNow();
  }

  /** SMInfo of this manager and of the others. */
  #managers({ ownPort }: Subnet): KnownManager[] {
    const own = { port: ownPort, info: this.#own.info() };
    return [own, ...this.peers].map(({ port, info }) => ({
      get lid() {
        return port?.lid ?? 0;
      },
      info,
    }));
  }

  /** Answers a master that has handed over. */
  *#acknowledge(subnet: Subnet): SmpJob {
    const guid = this.#stateMachine.toAcknowledge;
    const port = guid === undefined ? undefined : subnet.portOfGuid(guid);
    this.#stateMachine.toAcknowledge = undefined;
    if (port === undefined) return;
    yield [set(port.path, SubnetAttribute.SM_INFO, SmControl.ACKNOWLEDGE, this.#own.info())];
  }

  /**
   * Asks a better manager to take over, and stands by when it agrees: if it does not become master,
   * it counts as dead soon. opensm never acknowledges. Returns false if it does not agree.
   */
  *#handOver({ port, guid }: Peer): SmpJob<boolean> {
    const stateMachine = this.#stateMachine;
    const successor = { guid, path: port.path };
    stateMachine.successor = successor;
    const [answer] = yield [set(port.path, SubnetAttribute.SM_INFO, SmControl.HANDOVER, this.#own.info())];
    if (answer.status !== MadStatus.SUCCESS) return false;
    stateMachine.standBy(successor);
    return true;
  }

  /**
   * A request with the key ends the lease of a port. The subnet is swept for one that does not
   * answer, has lost its protection, or has another manager, or one no longer.
   */
  *#readPorts(): SmpJob {
    const ports = [...this.#toRead].map((lid) => this.subnet.portOfLid(lid)).filter((port) => port !== undefined);
    this.#toRead.clear();
    const answers = yield ports.map(({ path, number }) => get(path, SubnetAttribute.PORT_INFO, number));
    const protection = protectionOf(this.#options);
    const isStrange = answers.some(
      ({ status, view }, index) =>
        status !== MadStatus.SUCCESS ||
        getPortInfoMKeyProtect(view, 0) !== protection ||
        takeCapabilities(ports[index], view),
    );
    if (isStrange) this.sweepNow();
  }

  /** The light sweep of a master. */
  *#look(): SmpJob {
    this.lightSweeps++;
    this.#lightNs = Infinity;
    if (yield* lookForChanges(this.subnet)) this.sweepNow();
    this.#plan(Infinity, this.#options.sweepNs);
  }

  /** Looks whether the watched manager is master and alive. */
  *#poll(): SmpJob {
    const stateMachine = this.#stateMachine;
    this.#unplan();
    const path = stateMachine.watched?.path;
    let state: number | undefined;
    if (path !== undefined) {
      const [answer] = yield [{ ...get(path, SubnetAttribute.SM_INFO), attempts: 1 }];
      if (answer.status === MadStatus.SUCCESS) state = getSmInfoSmState(answer.view, 0);
    }
    const isDead = stateMachine.polled(state, this.#options.pollAttempts);
    this.#plan(isDead ? 0 : Infinity, isDead ? Infinity : this.#options.pollNs);
  }

  /** No sweep is due until one is planned; those asked for meanwhile are kept. */
  #unplan(): void {
    this.#heavyNs = Infinity;
    this.#lightNs = Infinity;
  }

  /** Plans the next sweeps, from now; earlier ones that were asked for stay. */
  #plan(heavyInNs: number, lightInNs: number): void {
    const now = this.#clock.now();
    this.#heavyNs = Math.min(this.#heavyNs, now + heavyInNs);
    this.#lightNs = Math.min(this.#lightNs, now + lightInNs);
  }
}

/** Takes over what a port offers now. Returns true when it has a manager now, or one no longer. */
function takeCapabilities(port: SubnetPort, info: DataView): boolean {
  const hadManager = port.has(PortCapability.IS_SM);
  setPortInfoCapabilityMask(port.view, 0, getPortInfoCapabilityMask(info, 0));
  return port.has(PortCapability.IS_SM) !== hadManager;
}

/** Takes over the tables of switches that have kept what was written to them. */
function keepTables(before: Subnet, after: Subnet): void {
  for (const node of after.switches) {
    const known = before.nodes.get(node.guid);
    if (known === undefined || topOf(known) === 0 || topOf(known) !== topOf(node)) continue;
    for (const [number, block] of known.linear) node.linear.set(number, block);
    for (const [modifier, block] of known.multicast) node.multicast.set(modifier, block);
    for (const port of node.knownPorts) {
      const { vlMaps, arbitration } = known.ports[port.number];
      for (const [input, map] of vlMaps) port.vlMaps.set(input, map);
      for (const [number, block] of arbitration) port.arbitration.set(number, block);
    }
  }
}

/** The last LID in use: a switch that was reset has lost it. */
function topOf({ switchInfo }: SubnetNode): number {
  return getSwitchInfoLinearTop(viewOf(switchInfo), 0);
}

/**
 * Clears the flags of switches that say that a port has changed its state (IBTA 14.2.5.4). A port
 * may change between the sweep's look at it and the end of the flag, so ports are looked at again
 * behind that. Returns true when a link has come up or gone down since the ports were read.
 */
function* settleStateChanges({ switches }: Subnet): SmpJob<boolean> {
  const flagged = switches.filter(({ switchInfo }) => getSwitchInfoPortStateChange(viewOf(switchInfo), 0) === 1);
  if (flagged.length === 0) return false;
  // Writing 1 clears the flag.
  const cleared = yield flagged.map((node) => set(node.ports[0].path, SubnetAttribute.SWITCH_INFO, 0, node.switchInfo));
  const settled = flagged.filter((_, index) => cleared[index].status === MadStatus.SUCCESS);
  for (const { switchInfo } of settled) setSwitchInfoPortStateChange(viewOf(switchInfo), 0, 0);
  const ports = settled.flatMap((node) => node.ports.filter(({ number }) => number > 0));
  const answers = yield ports.map((port) => get(port.path, SubnetAttribute.PORT_INFO, port.number));
  return answers.some(({ status, view }, index) => status === MadStatus.SUCCESS && hasMoved(view, ports[index]));
}

function hasMoved(now: DataView, { view }: SubnetPort): boolean {
  return isUp(now) !== isUp(view);
}

function isUp(info: DataView): boolean {
  return getPortInfoPortState(info, 0) !== PortState.DOWN;
}
