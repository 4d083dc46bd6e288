// SPDX-License-Identifier: Apache-2.0
/**
 * A running cluster: an adapter process with the fabric, and a guest for each node. A node that
 * fails leaves the others alone; without the adapter process all have ended. supervisor.ts holds
 * one.
 */
import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ControlClient } from '../../../device/process/control/control-client.ts';
import type { FabricReport } from '../../../device/process/reports/fabric-report.ts';
import { describeDeviceExit } from '../../../qemu/describe-exit.ts';
import { DeviceChild } from '../../../qemu/device-child.ts';
import type { GuestOptions } from '../../../qemu/guest-options.ts';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { type ClusterPlace, nodeLogPath } from '../cluster-client/cluster-place.ts';
import type { AttachedPlace, ClusterReport, NodeReport } from '../cluster-client/cluster-protocol.ts';
import { type GuestArguments, prepareGuest } from '../run/run-guest.ts';
import { type ClusterKeys, makeKeys, readSecret } from './cluster-keys.ts';
import { ClusterNode, describeState, describeTaker } from './cluster-node.ts';
import { adapterOf, type ClusterSpec, type NodeSpec } from './cluster-spec.ts';
import { prepareDiskNode } from './disk-node.ts';
import { makeNodeWords } from './node-words.ts';

/** What others get to know of a cluster. */
export interface ClusterEvents {
  /** A word for users. */
  say(text: string): void;
  /** A line of the adapter process. */
  log(line: string): void;
  /** A line of a node. */
  logNode(name: string, line: string): void;
}

const NODE_SCRIPT = fileURLToPath(new URL('node.sh', import.meta.url));
/** More guests that boot at once would only wait for each other. */
const BOOTS_PER_PROCESSOR = 2;

export class Cluster {
  readonly spec: ClusterSpec;
  readonly device: DeviceChild;
  readonly nodes: readonly ClusterNode[];
  /** Why no node works any more. */
  failure: string | undefined;
  /** Resolves when guests at its places have no adapter any more. */
  readonly whenLost: Promise<void>;
  readonly #events: ClusterEvents;
  /** Processes with a guest at an adapter without a node. */
  readonly #takers = new Map<string, number>();
  #lose: () => void = () => {};
  #isEnding = false;
  /** All nodes have been started once. */
  #isUp = false;

  /** Starts the adapter process; nodes follow by `up`. Throws SetupError when it does not start. */
  static async start(spec: ClusterSpec, events: ClusterEvents): Promise<Cluster> {
    const device = await DeviceChild.start({
      topology: spec.topology,
      arguments: spec.deviceArguments,
      onLogLine: events.log,
    });
    return new Cluster(spec, device, events);
  }

  private constructor(spec: ClusterSpec, device: DeviceChild, events: ClusterEvents) {
    this.spec = spec;
    this.device = device;
    this.#events = events;
    this.whenLost = new Promise((resolve) => {
      this.#lose = resolve;
    });
    const keys = makeKeys(spec.keyFile === undefined ? undefined : readSecret(spec.keyFile));
    this.nodes = spec.nodes.map((node) => this.#makeNode(node, keys));
    events.say(`adapter  process ${device.pid} serves ${spec.nodes.length} nodes`);
    void device.whenExited.then((exit) => {
      if (this.#isEnding) return;
      this.failure = describeDeviceExit(exit);
      events.say(`adapter  ${this.failure}`);
      this.#lose();
      for (const node of this.nodes) void node.stop(true);
    });
  }

  /** Starts all nodes and waits until each is up or has failed; returns a sentence for those. */
  async up(): Promise<string[]> {
    const waiting = [...this.nodes];
    const target = this.spec.isUnmanaged ? (['up', 'answers'] as const) : (['up'] as const);
    const boot = async (): Promise<void> => {
      for (let node = waiting.shift(); node !== undefined && !this.#isEnding; node = waiting.shift()) {
        await node.start();
        await node.reach(...target);
      }
    };
    await Promise.all(Array.from({ length: availableParallelism() * BOOTS_PER_PROCESSOR }, boot));
    this.#isUp = true;
    return this.nodes.filter(({ state }) => !target.some((one) => one === state)).map(describeNode);
  }

  /** The node of that name. Throws SetupError when there is none. */
  find(name: string): ClusterNode {
    const node = this.nodes.find(({ spec }) => spec.name === name);
    if (node !== undefined) return node;
    throw new SetupError(`there is no node ${name}; there are ${this.nodes.map(({ spec }) => spec.name).join(', ')}`);
  }

  /** Starts a stopped node again and waits until it is up. Throws SetupError when it fails. */
  async startNode(name: string): Promise<void> {
    if (this.failure !== undefined) throw new SetupError(this.failure);
    const node = this.find(name);
    await node.start();
    await node.reach('up', ...(this.spec.isUnmanaged ? (['answers'] as const) : []));
    if (node.state === 'failed' || node.state === 'stopped') throw new SetupError(describeNode(node));
  }

  async stopNode(name: string): Promise<void> {
    await this.find(name).stop();
  }

  /** Gives a free place to a guest of that process. Throws SetupError when it has no such place. */
  takePlace(name: string, pid: number): AttachedPlace {
    const { spec, device, failure } = this;
    if (failure !== undefined) throw new SetupError(failure);
    if (!spec.free.includes(name)) this.#takeNode(name, pid);
    else {
      const taker = this.#takers.get(name);
      if (taker !== undefined) throw new SetupError(`place ${name} is taken ${describeTaker(taker)}: end that first`);
      this.#takers.set(name, pid);
    }
    const { personality, orderCheck = false, pollsPause = false } = adapterOf(spec, name);
    const node = spec.nodes.find((one) => one.name === name);
    return {
      devices: device.devices(this.#socketsOf(name)),
      personality,
      orderCheck,
      tcgThread: node?.tcgThread ?? (pollsPause ? 'single' : 'multi'),
      control: device.controlPath,
      ...(node === undefined ? {} : { address: node.address }),
    };
  }

  /** The guest at that place has ended. */
  leavePlace(name: string): void {
    if (!this.#takers.delete(name)) this.find(name).leave();
  }

  /** Why guests at its places have no adapter any more; undefined while they have. */
  async findLoss(): Promise<string | undefined> {
    // QEMU may crash when it loses its adapter, and its end may be seen first.
    if (this.device.hasEnded) await this.device.whenExited;
    return this.failure ?? (this.#isEnding ? `cluster ${this.spec.name} was ended, and the guest with it` : undefined);
  }

  /** Changes a link, as `vuhca link` does. `port` may be a node, whose first port is meant. */
  async changeLink(port: string, words: readonly string[]): Promise<string> {
    const end = port.includes(':') ? port : `${port}:1`;
    return this.#ask(async (client) => (await client.request('link', { port: end, words })).text);
  }

  /** What `vuhca cluster list` shows; `place` is its folder. */
  async report(place: ClusterPlace): Promise<ClusterReport> {
    const { spec, device, failure } = this;
    const fabric = await this.#ask((client) => client.request('fabric')).catch(() => undefined);
    return {
      name: spec.name,
      pid: process.pid,
      devicePid: device.pid,
      control: device.controlPath,
      log: place.logPath,
      ...(failure === undefined ? {} : { failure }),
      nodes: this.nodes.map((node) => reportNode(node, fabric, nodeLogPath(place, node.spec.name))),
      free: spec.free.map((name) => ({ ...this.#reportFree(name), ...reportPort(name, fabric) })),
    };
  }

  /** Ends all guests and the adapter process. Safe to call again. */
  async end(): Promise<void> {
    this.#isEnding = true;
    this.#lose();
    await Promise.all(this.nodes.map((node) => node.stop(true)));
    await this.device.stop();
  }

  /** The place of a stopped node. */
  #takeNode(name: string, pid: number): void {
    const { spec } = this;
    const node = this.nodes.find((one) => one.spec.name === name);
    if (node === undefined) {
      const names = [...spec.nodes.map((one) => one.name), ...spec.free];
      throw new SetupError(`cluster ${spec.name} has no node ${name}; it has ${names.join(', ')}`);
    }
    // A node that waits for its turn to boot is stopped, too.
    if (!this.#isUp) throw new SetupError(`cluster ${spec.name} is not up yet: wait for \`vuhca cluster up\``);
    node.take(pid);
  }

  #reportFree(name: string): Pick<NodeReport, 'name' | 'state' | 'why' | 'sockets'> {
    const taker = this.#takers.get(name);
    return {
      name,
      ...(taker === undefined ? { state: 'free' } : { state: 'taken', why: describeTaker(taker) }),
      sockets: this.#socketsOf(name),
    };
  }

  #makeNode(node: NodeSpec, keys: ClusterKeys): ClusterNode {
    const { spec, device } = this;
    return new ClusterNode(node, this.#socketsOf(node.name), {
      device,
      prepare: (one) => prepareNode(spec, one),
      words: (one) => makeNodeWords(one, [...spec.nodes, ...(spec.others ?? [])], keys, Date.now()),
      privateKey: keys.user.private,
      silenceSeconds: spec.silenceSeconds,
      log: (line) => this.#events.logNode(node.name, line),
      say: (text) => this.#events.say(text),
    });
  }

  /** The sockets of an adapter, which cluster-file.ts has named after it. */
  #socketsOf(name: string): string[] {
    return this.device.sockets.filter((path) => basename(path).replace(/(\.\d+)?\.sock$/, '') === name);
  }

  async #ask<Result>(question: (client: ControlClient) => Promise<Result>): Promise<Result> {
    if (this.failure !== undefined) throw new SetupError(this.failure);
    const client = await ControlClient.connect(this.device.controlPath);
    try {
      return await question(client);
    } finally {
      client.close();
    }
  }
}

/** The guest of a node: of its disk, or that of `vuhca run --distribution` with node.sh. */
export function prepareNode(spec: Pick<ClusterSpec, 'kernel'>, node: NodeSpec): Promise<GuestOptions> {
  if (node.disk !== undefined) return prepareDiskNode(node);
  const given: GuestArguments = {
    ...(spec.kernel === undefined ? {} : { kernel: spec.kernel }),
    ...(node.memoryMiB === undefined ? {} : { memory: node.memoryMiB }),
    case: NODE_SCRIPT,
    cpus: node.cpus,
    tcgThread: node.tcgThread,
    distribution: true,
    personality: node.personality,
    packages: node.packages,
    set: 'cluster',
  };
  return prepareGuest(given);
}

function describeNode(node: ClusterNode): string {
  return `node ${node.spec.name} ${describeState(node)}`;
}

function reportNode(node: ClusterNode, fabric: FabricReport | undefined, log: string): NodeReport {
  const { spec, state, why, complaint, sockets, pid } = node;
  return {
    name: spec.name,
    state,
    ...(why === undefined ? {} : { why }),
    address: spec.address,
    personality: spec.personality,
    ...reportPort(spec.name, fabric),
    sockets,
    log,
    ...(complaint === undefined ? {} : { complaint }),
    ...(pid === undefined ? {} : { pid }),
  };
}

/** What the fabric says of the first port of an adapter. */
function reportPort(name: string, fabric: FabricReport | undefined): Pick<NodeReport, 'guid' | 'lid' | 'portState'> {
  const port = fabric?.nodes.find((node) => node.name === name)?.ports.find(({ number }) => number === 1);
  if (port === undefined) return {};
  const { guid, lid, link } = port;
  return {
    guid,
    ...(lid === undefined ? {} : { lid }),
    ...(link === undefined ? {} : { portState: link.state }),
  };
}
