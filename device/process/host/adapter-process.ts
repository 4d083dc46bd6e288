// SPDX-License-Identifier: Apache-2.0
/**
 * The composition root of a live process: builds from options the adapters of a topology, their
 * vfio-user hosts, their links and the pump that runs them. Called by scripts/cli.
 */
import { type Libvfio, type LogTarget, loadLibrary, Pump, throwUncaught } from '../../../protocol/vfio-user/index.ts';
import type { Fabric } from '../../fabric/link/fabric.ts';
import type { Joint } from '../../fabric/link/joint.ts';
import type { LinkEnd } from '../../fabric/port/link.ts';
import type { SubnetManager } from '../../fabric/subnet-manager/manager/subnet-manager.ts';
import { Adapter } from '../../hca/adapter/adapter.ts';
import type { AdapterClock, AdapterPort, FunctionPort } from '../../host.ts';
import { OrderingModel } from '../../hosts/ordering/ordering-model.ts';
import { type OrderingOptions, strictOrdering } from '../../hosts/ordering/ordering-options.ts';
import { Recorder } from '../../hosts/recording.ts';
import { recordedPlan } from '../../hosts/recording-format.ts';
import { type BuiltFabric, buildFabric, findFabricPort } from '../../topology/build-fabric.ts';
import type { FabricPlan } from '../../topology/fabric-plan.ts';
import { listNodes, type NamedAdapter, type NamedNode, type NamedSwitch } from '../../topology/named-nodes.ts';
import type { AnyAdapter } from '../../topology/node-kinds.ts';
import type { PersonalityAdapter } from '../../topology/personalities.ts';
import { HostDoor } from '../ibsim/host-door.ts';
import { raiseInliningBudget } from './inlining-budget.ts';
import { warnOfLateStores } from './late-stores.ts';
import { makePassHook } from './pass-hook.ts';
import { identityOf } from './pci-identity.ts';
import { RecordingFile } from './recording-file.ts';
import { SocketLink } from './socket-link.ts';
import { Stepper } from './stepper.ts';
import { type AdapterPlan, fabricOf, findTopologyError, type SocketLinkPlan, type Topology } from './topology.ts';
import { VfioUserHost } from './vfio-user-host.ts';
import { WallClock } from './wall-clock.ts';

interface AdapterProcessOptions {
  /** Path of libvfio-user. */
  readonly libraryPath: string;
  readonly topology: Topology;
  /** Path of the recording of the run; none when absent. */
  readonly recordPath?: string;
  /** The recording ends before it would become longer. */
  readonly recordLimitBytes?: number;
  /** Delay and order in which guests see the writes of an adapter. */
  readonly ordering?: OrderingOptions;
  /** UDP port of the host door; none when absent. */
  readonly doorPort?: number;
  /** `PumpOptions.spinUs`. */
  readonly spinUs?: number | undefined;
  /** It stands still, and makes steps when it is told to. */
  readonly isStepwise?: boolean;
  readonly log: LogTarget;
  /**
   * Called once, when something has thrown and everything is closed: guests read ones, and no
   * socket is left. When absent the error is thrown again as an uncaught exception.
   */
  readonly onFailure?: (where: string, error: unknown) => void;
}

/** An adapter of a live process, and the hosts of its functions. */
export interface ServedNode<Core extends AnyAdapter = AnyAdapter> extends NamedAdapter<Core> {
  /** The node of function 0 of its device, in another function. */
  readonly functionOf?: string | undefined;
  readonly hosts: readonly VfioUserHost[];
  /** Its functions as hosts call them. */
  readonly functions: readonly FunctionPort[];
}

/** One with our own front end. */
export type ServedAdapter = ServedNode<Adapter>;
/** One of a personality. */
export type ServedPersonality = ServedNode<PersonalityAdapter>;

export function isOwn(one: ServedNode): one is ServedAdapter {
  return one.core instanceof Adapter;
}

/** True for the nodes of one device, which is the only one of its process. */
export function isLoneDevice([first, ...others]: readonly ServedNode[]): boolean {
  return others.every(({ functionOf }) => functionOf === first.name);
}

export function isPersonality(one: ServedNode): one is ServedPersonality {
  return !isOwn(one);
}

/** Adapters that serve guests over vfio-user sockets until `close`. */
export class AdapterProcess {
  /** Adapters of all kinds, in the order of the topology. */
  readonly served: readonly ServedNode[];
  /** Those with our own front end, and those of personalities. */
  readonly adapters: readonly ServedAdapter[];
  readonly personalities: readonly ServedPersonality[];
  readonly switches: readonly NamedSwitch[];
  readonly pump: Pump;
  readonly clock: WallClock;
  readonly recording: RecordingFile | undefined;
  readonly socketLinks: readonly SocketLink<SocketLinkPlan>[];
  /** The fabric as hosts call it. */
  readonly seam: AdapterPort;
  /** The door for tools on this machine. */
  readonly door: HostDoor | undefined;
  /** Of a process that makes steps. */
  readonly stepper: Stepper | undefined;
  readonly #recorder: Recorder | undefined;
  readonly #plan: FabricPlan;
  readonly #built: BuiltFabric;
  readonly #opened: VfioUserHost[] = [];
  readonly #onFailure: (where: string, error: unknown) => void;

  /**
   * Opens the sockets; clients are served from `start`. Throws VfioUserError, RecordingError or
   * RangeError, each with one sentence.
   */
  constructor(options: AdapterProcessOptions) {
    const { topology } = options;
    const error = findTopologyError(topology);
    if (error !== undefined) throw new RangeError(error);
    this.#onFailure = options.onFailure ?? ((_where, error) => throwUncaught(error));
    raiseInliningBudget();
    const library = loadLibrary(options.libraryPath);
    this.pump = new Pump({ spinUs: options.spinUs, onFailure: (where, error) => this.#failed(where, error) });
    this.clock = new WallClock(() => this.pump.nowNs());
    try {
      const hosts = this.#openHosts(library, options);
      // The sockets are open: no recording is begun for a process that cannot serve.
      this.recording = openRecording(options);
      const plan = fabricOf(topology);
      const recorder = this.recording && new Recorder(recordedPlan(plan), hosts.flat().length, this.recording.sink);
      this.#recorder = recorder;
      const ordering = new OrderingModel(options.ordering ?? strictOrdering);
      const seams = hosts.flat().map((host, index) => {
        const ordered = ordering.wrapHost(host);
        return recorder?.wrapHost(ordered, index) ?? ordered;
      });
      this.#plan = plan;
      const clock = recorder?.wrapClock(this.clock) ?? this.clock;
      this.#built = buildFabric(plan, clock, seams);
      const { fabric, adapters: cores, switches } = this.#built;
      warnOfLateStores(cores, (sentence) => options.log.warn({}, sentence));
      this.switches = topology.switches.map(({ name }, index) => ({ name, core: switches[index] }));
      this.seam = ordering.wrapAdapter(recorder?.wrapAdapter(fabric) ?? fabric);
      this.served = joinServed(topology, cores, hosts, this.seam.functions);
      this.adapters = this.served.filter(isOwn);
      this.personalities = this.served.filter(isPersonality);
      const links = topology.links.filter((link) => 'port' in link);
      this.socketLinks = links.map((plan, index) => this.#serveLink(plan, index));
      this.#connectHosts(hosts.flat(), this.seam.functions);
      this.stepper = options.isStepwise === true ? this.#makeStepper(hosts.flat()) : undefined;
      this.pump.onPass(makePassHook(this.seam, this.clock, recorder, this.stepper));
      this.door = this.#openDoor(fabric, clock, options);
    } catch (error) {
      // No socket is left by a process that cannot serve.
      for (const host of this.#opened) host.context.destroy();
      this.pump.destroy();
      throw error;
    }
  }

  /** The built-in subnet managers. */
  get managers(): readonly SubnetManager[] {
    return this.#built.managers;
  }

  /** All nodes of the fabric; those that clients of the door have brought come last. */
  get nodes(): readonly NamedNode[] {
    return [...listNodes(this.served, this.switches), ...(this.door?.nodes ?? [])];
  }

  /**
   * Listens for peers, begins to connect to them, and serves guests until `close`. Rejects with
   * LinkError when a link cannot listen.
   */
  async start(): Promise<void> {
    for (const link of this.socketLinks) await link.start();
    await this.door?.start();
    this.pump.start();
  }

  /** The port with this name in the topology. Throws RangeError when there is none. */
  findPort(name: string): LinkEnd {
    return findFabricPort(this.#plan, this.#built, name);
  }

  /** The links between ports of this process. */
  get joints(): readonly Joint[] {
    return this.#built.joints;
  }

  #makeStepper(hosts: readonly VfioUserHost[]): Stepper {
    const { clock, seam } = this;
    const countStores = (): number => hosts.reduce((sum, { stores }) => sum + stores, 0);
    return new Stepper({ clock, run: (budget) => seam.run(budget), countStores });
  }

  #openDoor(fabric: Fabric, clock: AdapterClock, { doorPort: port, log }: AdapterProcessOptions): HostDoor | undefined {
    if (port === undefined) return undefined;
    const { nodes, managers } = this;
    const wake = (): void => this.pump.wake();
    const door = new HostDoor({ port, fabric, clock, nodes, managers, wake, log: (line) => log.warn({}, line) });
    this.pump.onPass(door.hook);
    return door;
  }

  #serveLink(plan: SocketLinkPlan, index: number): SocketLink<SocketLinkPlan> {
    // Its bytes come from the event loop, not from the run of another adapter.
    const wake = (): void => this.pump.wake();
    return new SocketLink(this.#built.streams[index], { ...plan, wake }, this.seam.linkPorts?.[index]);
  }

  /** Opens the hosts of each adapter. */
  #openHosts(library: Libvfio, { topology, log }: AdapterProcessOptions): VfioUserHost[][] {
    const open = (plan: AdapterPlan, socketPath: string, functionNumber: number): VfioUserHost => {
      const identity = identityOf(plan, functionNumber);
      const failed = (where: string, error: unknown): void => this.fail(where, error);
      const host = new VfioUserHost({ library, socketPath, identity, log, failed });
      this.#opened.push(host);
      return host;
    };
    return topology.adapters.map((plan) => plan.sockets.map((path, number) => open(plan, path, number)));
  }

  #connectHosts(hosts: readonly VfioUserHost[], functions: readonly FunctionPort[]): void {
    for (const [index, host] of hosts.entries()) {
      host.connect(functions[index]);
      this.pump.add(host.context);
    }
  }

  /**
   * Ends everything because something threw: guests get ones for what they still read, and no
   * socket is left. `where` names the place. Only the first failure counts.
   */
  fail(where: string, error: unknown): void {
    this.pump.fail(where, error);
  }

  #failed(where: string, error: unknown): void {
    try {
      this.close();
    } finally {
      this.#onFailure(where, error);
    }
  }

  /**
   * Closes sockets and descriptors and writes the last bytes of the recording. May be called twice.
   */
  close(): void {
    try {
      this.pump.destroy();
    } finally {
      // What links do while they are closed is no part of the session.
      this.#recorder?.flush();
      this.recording?.close();
      for (const link of this.socketLinks) link.close();
      this.door?.close();
    }
  }
}

function openRecording({ recordPath, recordLimitBytes, log }: AdapterProcessOptions): RecordingFile | undefined {
  if (recordPath === undefined) return undefined;
  const onEnd = (sentence: string): void => log.warn({}, sentence);
  return new RecordingFile({ path: recordPath, limitBytes: recordLimitBytes, onEnd });
}

/** Puts together what belongs to each adapter. */
function joinServed(
  { adapters }: Topology,
  cores: readonly AnyAdapter[],
  hosts: readonly (readonly VfioUserHost[])[],
  functions: readonly FunctionPort[],
): ServedNode[] {
  let first = 0;
  return adapters.map(({ name, functionOf }, index) => {
    const own = functions.slice(first, first + hosts[index].length);
    first += own.length;
    return { name, functionOf, core: cores[index], hosts: hosts[index], functions: own };
  });
}
