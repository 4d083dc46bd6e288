// SPDX-License-Identifier: Apache-2.0
/**
 * The composition root of a live process: builds from options the adapters of a topology, their
 * vfio-user hosts, their links and the pump that runs them. Called by scripts/cli.
 */
import { type Libvfio, type LogTarget, loadLibrary, type PassHook, Pump } from '../../protocol/vfio-user/index.ts';
import { Adapter } from '../adapter/adapter.ts';
import { getCollectPages } from '../adapter/options.ts';
import { joinPorts } from '../adapter/port-links.ts';
import { Fabric } from '../fabric/fabric.ts';
import type { AdapterPort, FunctionPort, ResourceAnswer } from '../host.ts';
import { OrderingModel } from '../hosts/ordering/ordering-model.ts';
import { type OrderingOptions, strictOrdering } from '../hosts/ordering/ordering-options.ts';
import { Recorder } from '../hosts/recording.ts';
import type { Port } from '../port/port.ts';
import { raiseInliningBudget } from './inlining-budget.ts';
import { RecordingFile } from './recording-file.ts';
import { SocketLink } from './socket-link.ts';
import { type AdapterPlan, findTopologyError, type SocketLinkPlan, splitPort, type Topology } from './topology.ts';
import { VfioUserHost } from './vfio-user-host.ts';
import { WallClock } from './wall-clock.ts';

/** Units of work in one pass: few enough that the next register access never waits long. */
const PASS_BUDGET = 256;
/** Period of recorded events that a killed process may lose while busy. */
const FLUSH_INTERVAL_NS = 50_000_000;

export interface AdapterProcessOptions {
  /** Path of libvfio-user. */
  readonly libraryPath: string;
  readonly topology: Topology;
  /** Path of the recording of the run; none when absent. */
  readonly recordPath?: string;
  /** Delay and order in which guests see the writes of an adapter. */
  readonly ordering?: OrderingOptions;
  readonly log: LogTarget;
}

/** An adapter of a live process, and the hosts of its functions. */
export interface ServedAdapter {
  readonly name: string;
  readonly core: Adapter;
  readonly hosts: readonly VfioUserHost[];
  /** Its functions as hosts call them. */
  readonly functions: readonly FunctionPort[];
}

/** Adapters that serve guests over vfio-user sockets until `close`. */
export class AdapterProcess {
  readonly adapters: readonly ServedAdapter[];
  readonly pump: Pump;
  readonly clock: WallClock;
  readonly recording: RecordingFile | undefined;
  readonly socketLinks: readonly SocketLink[];
  readonly #recorder: Recorder | undefined;
  readonly #opened: VfioUserHost[] = [];

  /**
   * Opens the sockets; clients are served from `start`. Throws VfioUserError, RecordingError or
   * RangeError, each with one sentence.
   */
  constructor(options: AdapterProcessOptions) {
    const { topology, recordPath } = options;
    const error =
      findTopologyError(topology) ?? (recordPath === undefined ? undefined : findRecordingObjection(topology));
    if (error !== undefined) throw new RangeError(error);
    raiseInliningBudget();
    const library = loadLibrary(options.libraryPath);
    this.pump = new Pump();
    this.clock = new WallClock(() => this.pump.nowNs());
    const hosts = this.#openHosts(library, options);
    this.recording = this.#openRecording(recordPath);
    // A recording covers one adapter: `findRecordingObjection` made sure of it.
    const recorder = this.recording && new Recorder(topology.adapters[0].options, hosts[0].length, this.recording.sink);
    this.#recorder = recorder;
    const ordering = new OrderingModel(options.ordering ?? strictOrdering);
    const clock = recorder?.wrapClock(this.clock) ?? this.clock;
    const cores = topology.adapters.map(
      ({ options }, index) =>
        new Adapter(
          options,
          clock,
          hosts[index].map((host, number) => {
            const ordered = ordering.wrapHost(host);
            return recorder?.wrapHost(ordered, number) ?? ordered;
          }),
        ),
    );
    const fabric = new Fabric(cores);
    const port = ordering.wrapAdapter(recorder?.wrapAdapter(fabric) ?? fabric);
    let first = 0;
    this.adapters = topology.adapters.map(({ name }, index) => {
      const functions = port.functions.slice(first, first + hosts[index].length);
      first += functions.length;
      return { name, core: cores[index], hosts: hosts[index], functions };
    });
    for (const link of topology.links)
      if ('ports' in link) joinPorts(this.findPort(link.ports[0]), this.findPort(link.ports[1]), link.link);
    this.socketLinks = topology.links.flatMap((link) => ('port' in link ? [this.#plug(link)] : []));
    for (const [index, host] of hosts.flat().entries()) {
      host.connect(port.functions[index]);
      this.pump.add(host.context);
    }
    this.pump.onPass(makePassHook(port, this.clock, recorder));
  }

  /**
   * Listens for peers, begins to connect to them, and serves guests until `close`. Rejects with
   * LinkError when a link cannot listen.
   */
  async start(): Promise<void> {
    for (const link of this.socketLinks) await link.start();
    this.pump.start();
  }

  /** The port with this name in the topology. Throws RangeError when there is none. */
  findPort(name: string): Port {
    const [adapter, number] = splitPort(name);
    const port = this.adapters.find((one) => one.name === adapter)?.core.ports[Number(number) - 1];
    if (port === undefined) throw new RangeError(`there is no port ${name}`);
    return port;
  }

  /**
   * Makes a resource request with the rights of the virtual machine manager. The recording has it
   * like every call on a function. Guests are notified in the next pass.
   */
  requestResources({ functions }: ServedAdapter, changes: Uint8Array): ResourceAnswer {
    const answer = functions[0].requestResources(changes);
    this.pump.wake();
    return answer;
  }

  #plug(plan: SocketLinkPlan): SocketLink {
    const port = this.findPort(plan.port);
    // Its bytes come from the event loop, not from the run of another adapter.
    port.onWork = () => this.pump.wake();
    return new SocketLink(port, plan);
  }

  /** Opens the hosts of each adapter. A failure closes those opened before. */
  #openHosts(library: Libvfio, { topology, log }: AdapterProcessOptions): VfioUserHost[][] {
    const open = ({ options }: AdapterPlan, socketPath: string, functionNumber: number): VfioUserHost => {
      const collectPages = getCollectPages(options);
      const host = new VfioUserHost({ library, socketPath, functionNumber, collectPages, log });
      this.#opened.push(host);
      return host;
    };
    try {
      return topology.adapters.map((plan) => plan.sockets.map((path, number) => open(plan, path, number)));
    } catch (error) {
      this.#abandon();
      throw error;
    }
  }

  /**
   * The sockets are open already: neither a recording is begun for a process that cannot serve, nor
   * a socket left by a process that cannot record.
   */
  #openRecording(path: string | undefined): RecordingFile | undefined {
    try {
      return path === undefined ? undefined : new RecordingFile(path);
    } catch (error) {
      this.#abandon();
      throw error;
    }
  }

  /** Releases everything when the construction fails. */
  #abandon(): void {
    for (const host of this.#opened) host.context.destroy();
    this.pump.destroy();
  }

  /**
   * Closes sockets and descriptors and writes the last bytes of the recording. May be called twice.
   */
  close(): void {
    for (const link of this.socketLinks) link.close();
    this.pump.destroy();
    this.#recorder?.flush();
    this.recording?.close();
  }
}

/** One sentence why a process of this topology cannot be recorded, or undefined. */
export function findRecordingObjection({ adapters, links }: Topology): string | undefined {
  // A recording holds the calls of one adapter's hosts: its replay would miss packets from links.
  if (adapters.length === 1 && links.length === 0) return undefined;
  return 'a run with several adapters or with links of its own cannot be recorded; leave out the links or the recording';
}

function makePassHook(port: AdapterPort, clock: WallClock, recorder: Recorder | undefined): PassHook {
  let flushedNs = 0;
  return {
    pass: () => {
      clock.takeDueAlarm();
      const more = port.run(PASS_BUDGET);
      if (recorder !== undefined && clock.now() - flushedNs > FLUSH_INTERVAL_NS) {
        flushedNs = clock.now();
        recorder.flush();
      }
      return more;
    },
    nextAlarmNs: () => clock.nextAlarmNs,
  };
}
