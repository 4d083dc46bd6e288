// SPDX-License-Identifier: Apache-2.0
/**
 * The commands of the control socket of a live adapter: status, queue pairs, contents of buffers
 * and queues, resource requests, traces and captures. One capture runs at a time, as long as its
 * connection lives. `ControlServer` calls them.
 */
import { ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { isSameFile } from '../../../protocol/system/same-file.ts';
import type { LinkEnd } from '../../fabric/port/link.ts';
import { showContents } from '../../hca/adapter/contents/contents.ts';
import { Refusal } from '../../hca/adapter/refusal.ts';
import { showViews } from '../../personality/shared/contents.ts';
import {
  type AdapterProcess,
  isLoneDevice,
  isPersonality,
  type ServedAdapter,
  type ServedNode,
  type ServedPersonality,
} from '../host/adapter-process.ts';
import { type FabricReport, reportFabric } from '../reports/fabric-report.ts';
import { FailedQueuePairs } from '../reports/failed-queue-pairs.ts';
import { reportManagers } from '../reports/manager-report.ts';
import { listQueuePairs } from '../reports/queue-pair-report.ts';
import { reportResources } from '../reports/resource-report.ts';
import { describeRefusal, encodeRequest, readResourceWords } from '../reports/resource-syntax.ts';
import { type RouteReport, reportRoute } from '../reports/route-report.ts';
import { reportProcess, type StatusReport } from '../reports/status-report.ts';
import { readCondition } from '../trace/conditions.ts';
import { CaptureFile, type CaptureOptions, makeWallTime } from './capture-file.ts';
import type { ControlRequest } from './control-protocol.ts';
import type { ControlClientHandle, ControlCommand } from './control-server.ts';
import { makeLinkCommand } from './link-commands.ts';
import { makePersonalityCommands } from './personality-commands.ts';
import { makeStepCommand } from './step-commands.ts';
import { TraceControl } from './trace-control.ts';

const NS_PER_MS = 1e6;

/** The commands of one process. */
export class ControlCommands {
  /** The commands by name, for `ControlServer`. */
  readonly table: ReadonlyMap<string, ControlCommand> = new Map<string, ControlCommand>([
    ['status', ({ parameters }) => this.#reportStatus(parameters.adapter)],
    ['fabric', () => this.#reportFabric()],
    ['route', ({ parameters }) => this.#reportRoute(parameters)],
    ['queue-pairs', (request) => this.#listQueuePairs(request)],
    ['failed-queue-pairs', ({ parameters }) => this.#failures.get(this.#findServed(parameters.adapter))?.list()],
    ['show', ({ parameters }) => this.#show(parameters)],
    ['objects', ({ parameters }) => this.#countObjects(parameters.adapter)],
    ['resources', ({ parameters }) => reportResources(this.#findAdapter(parameters.adapter).core)],
    ['set-resources', (request) => this.#setResources(request)],
    ['capture-start', (request, client) => this.#startCapture(request, client)],
    ['capture-progress', () => this.#capture?.progress ?? null],
    ['capture-stop', () => this.#stopCapture()],
  ]);
  readonly #process: AdapterProcess;
  readonly #pid: number;
  readonly #warn: (sentence: string) => void;
  readonly #failures: ReadonlyMap<ServedNode, FailedQueuePairs>;
  #capture: CaptureFile | undefined = undefined;

  /** `warn` takes what is to be logged, for instance that a capture has ended early. */
  constructor(process: AdapterProcess, pid: number, warn: (sentence: string) => void) {
    this.#process = process;
    this.#pid = pid;
    this.#warn = warn;
    const nowNs = (): number => process.clock.now();
    this.#failures = new Map(process.served.map((served) => [served, new FailedQueuePairs(served.core, nowNs)]));
    const trace = new TraceControl({
      served: process.served,
      nowNs,
      wallTimeNs: Date.now() * NS_PER_MS - process.clock.now(),
      findAdapter: (name) => this.#findServed(name),
    });
    const personality = makePersonalityCommands(
      (name) => findPersonality(this.#findServed(name)),
      () => process.pump.wake(),
    );
    const step = makeStepCommand(process, (text) => {
      const begin = readCondition(text);
      return begin({ adapters: trace.watchAll(), switches: process.switches });
    });
    this.table = new Map([
      ...this.table,
      ...trace.table,
      ...personality,
      ['link', makeLinkCommand(process)],
      ['step', step],
    ]);
  }

  /** Ends a running capture and closes its file. */
  async close(): Promise<void> {
    await this.#capture?.stop();
  }

  /** Of the adapter of that name, or of all. */
  #reportStatus(name: unknown): StatusReport {
    return reportProcess(this.#process, this.#pid, name === undefined ? undefined : this.#findServed(name));
  }

  #reportFabric(): FabricReport {
    const { clock, nodes, managers } = this.#process;
    const timeNs = clock.now();
    return { timeNs, ...reportFabric(nodes), managers: reportManagers(managers, timeNs) };
  }

  /** The way from a node to another one. */
  #reportRoute({ from, to }: ControlRequest['parameters']): RouteReport {
    const { nodes } = this.#process;
    const [source, target] = [from, to].map((name) => {
      const node = nodes.find((one) => one.name === name);
      if (node !== undefined) return node;
      throw new Refusal(`there is no node ${name}; there are ${nodes.map((one) => one.name).join(', ')}`);
    });
    return reportRoute(nodes, source, target);
  }

  #countObjects(name: unknown): Readonly<Record<string, number>> {
    const served = this.#findServed(name);
    return isPersonality(served) ? served.core.hca.objectCounts : this.#findAdapter(name).core.tables.counts;
  }

  /** QPs in the order of their numbers, `first` and those after it. */
  #listQueuePairs({ parameters: { first = 0, adapter } }: ControlRequest): unknown {
    if (!Number.isSafeInteger(first)) throw new Refusal('first must be a whole number');
    return listQueuePairs(this.#findServed(adapter).core, first as number);
  }

  /** Rows of a view of `vuhca show`, with guest memory as the hosts have it. */
  #show(parameters: ControlRequest['parameters']): unknown {
    const served = this.#findServed(parameters.adapter);
    if (isPersonality(served)) return showViews(served.core, parameters);
    const { core: adapter, hosts } = this.#findAdapter(parameters.adapter);
    return showContents({ adapter, hosts }, parameters);
  }

  /**
   * Makes one resource request, as a whole or not at all, with the rights of the virtual machine
   * manager.
   */
  #setResources({ parameters: { words, adapter: name } }: ControlRequest): unknown {
    if (!Array.isArray(words) || !words.every((word) => typeof word === 'string'))
      throw new Refusal('words must be a list of strings');
    const adapter = this.#findAdapter(name);
    const changes = readResourceWords(words, adapter.core.lanes.count);
    const answer = adapter.functions[0].requestResources(encodeRequest(changes));
    // A recording has the request, like every call on a function. Guests see it in the next pass.
    this.#process.pump.wake();
    if (answer.status !== ManagementStatus.OK) throw new Refusal(describeRefusal(changes, answer));
    return reportResources(adapter.core);
  }

  #startCapture({ parameters }: ControlRequest, client: ControlClientHandle): unknown {
    const options = readCaptureOptions(parameters);
    const { clock } = this.#process;
    const wallTime = makeWallTime(() => clock.now());
    const ports = this.#findPorts(parameters.adapter);
    if (options.port !== undefined && options.port > ports.length)
      throw new Refusal(`port is ${options.port}; the last one is ${ports.length}`);
    const recording = this.#process.recording?.path;
    if (recording !== undefined && isSameFile(recording, options.path))
      throw new Refusal(`${options.path} has the recording of this adapter; name another file`);
    // Each node counts its own ports; those of all functions of a device are counted in order.
    const isWhole = parameters.adapter === undefined && this.#process.served.length > 1;
    const numberOf = isWhole ? (port: LinkEnd) => ports.indexOf(port) + 1 : undefined;
    const capture = new CaptureFile(options, ports, wallTime, this.#warn, numberOf);
    this.#capture = capture;
    client.onClose(() => void capture.stop());
    return capture.progress;
  }

  /**
   * The ports of a node of that name: an adapter, a switch, or one of a client of the door. Without
   * a name those of the only device, whose functions may be nodes.
   */
  #findPorts(name: unknown): readonly LinkEnd[] {
    const { nodes, served } = this.#process;
    const found = nodes.find((one) => one.name === name);
    if (found !== undefined) return found.mads.node.ports;
    if (name === undefined && isLoneDevice(served)) return served.flatMap(({ core }) => core.ports);
    return this.#findServed(name).core.ports;
  }

  /** As `#findServed`, for what only adapters with our own front end have. */
  #findAdapter(name: unknown): ServedAdapter {
    const served = this.#findServed(name);
    if (!isPersonality(served)) return served as ServedAdapter;
    throw new Refusal(
      `adapter ${served.name} has the personality ${served.core.personality}, which does not have this`,
    );
  }

  /** The adapter of that name; the only one when none is named. */
  #findServed(name: unknown): ServedNode {
    const { served } = this.#process;
    if (name !== undefined && typeof name !== 'string') throw new Refusal('adapter must be a string');
    const found = name === undefined && served.length === 1 ? served[0] : served.find((one) => one.name === name);
    if (found !== undefined) return found;
    const known = served.map((one) => one.name).join(', ');
    throw new Refusal(`${name === undefined ? 'name an adapter' : `there is no adapter ${name}`}; there are ${known}`);
  }

  #stopCapture(): unknown {
    void this.#capture?.stop();
    return this.#capture?.progress ?? null;
  }
}

/** For what only personalities have. */
function findPersonality(served: ServedNode): ServedPersonality {
  if (isPersonality(served)) return served;
  throw new Refusal(`adapter ${served.name} has no personality, and only those have this`);
}

function readCaptureOptions(parameters: Readonly<Record<string, unknown>>): CaptureOptions {
  const { path, port, direction, count, limitBytes } = parameters;
  if (typeof path !== 'string' || !path.startsWith('/')) throw new Refusal('path must be an absolute path');
  if (port !== undefined && !(Number.isSafeInteger(port) && (port as number) > 0))
    throw new Refusal('port must be a whole number above 0');
  if (direction !== undefined && direction !== 'sent' && direction !== 'received')
    throw new Refusal('direction must be sent or received');
  if (count !== undefined && !(Number.isSafeInteger(count) && (count as number) > 0))
    throw new Refusal('count must be a whole number above 0');
  if (limitBytes !== undefined && !(Number.isSafeInteger(limitBytes) && (limitBytes as number) > 0))
    throw new Refusal('limitBytes must be a whole number above 0');
  return {
    path,
    ...(port === undefined ? {} : { port: port as number }),
    ...(direction === undefined ? {} : { direction }),
    ...(count === undefined ? {} : { count: count as number }),
    ...(limitBytes === undefined ? {} : { limitBytes: limitBytes as number }),
  };
}
