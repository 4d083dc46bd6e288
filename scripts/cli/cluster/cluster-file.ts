// SPDX-License-Identifier: Apache-2.0
/**
 * Reads what `vuhca cluster up` is asked for, from its options and its file: a topology file
 * (docs/TOPOLOGY.md) whose adapters are those of nodes, with a member `nodes` beside. Each mistake
 * is a UsageError of one sentence. up.ts calls it before anything starts.
 */
import { dirname, resolve } from 'node:path';
import type { TcgThread } from '../../../qemu/guest-options.ts';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { TCG_THREADS } from '../options/adapter-arguments.ts';
import { describe, isObject, type JsonObject, readObject } from '../options/json-shape.ts';
import { PACKAGE_NAME } from '../options/option-values.ts';
import { type Personality, personalityWords } from '../options/personality.ts';
import { UsageError } from '../options/usage-error.ts';
import { parseFile, readTopologyValue } from '../topology/topology-file.ts';
import { readGenerator } from '../topology/topology-generator.ts';
import { readSecret } from './cluster-keys.ts';
import { addressOf, type ClusterSpec, NODES_MAX, type NodeSpec } from './cluster-spec.ts';

/** Nodes that do not say otherwise. */
export interface NodeDefaults {
  readonly personality: Personality;
  readonly cpus: number;
  readonly tcgThread: TcgThread;
  readonly memoryMiB?: number;
  readonly packages: readonly string[];
  readonly disk?: string;
}

export interface ClusterChoice extends NodeDefaults {
  readonly nodes?: number;
  /** A rule by name. */
  readonly fabric?: FabricRule;
  /** A file with nodes, or only a topology. */
  readonly file?: string;
}

/** With the folder that paths of the file begin in. */
type FileDefaults = NodeDefaults & { readonly folder: string };

/** The parts of a spec that options and file decide. */
export type ClusterShape = Pick<ClusterSpec, 'nodes' | 'others' | 'keyFile' | 'free' | 'topology' | 'isUnmanaged'>;

export const FABRIC_RULES = ['star', 'ring', 'fat-tree'] as const;
export type FabricRule = (typeof FABRIC_RULES)[number];

const NODES_DEFAULT = 2;
const NODE_NAME = /^[a-z][a-z0-9-]{0,30}$/i;
const MEMORY_MIN_MIB = 256;
const MEMORY_MAX_MIB = 1 << 20;
const CPUS_MAX = 64;
/** Members of a node in the file. */
const nodeMembers = { personality: '', memory: 0, cpus: 0, tcgThread: '', packages: [''], disk: '' };
/** The place of a part in the whole, which machine-plan.ts writes. */
const partMembers = { first: 0, others: {}, keys: '', managed: false };
const fabricMembers = ['switches', 'links', 'generate'];

/** Throws UsageError. */
export function readCluster(choice: ClusterChoice): ClusterShape {
  if (choice.file === undefined) return shapeOf({}, '.', choice);
  const { file } = choice;
  try {
    return shapeOf(readRoot(parseFile(file)), dirname(resolve(file)), choice);
  } catch (error) {
    if (error instanceof UsageError || error instanceof SetupError)
      throw new UsageError(`cluster ${file}: ${error.message}`);
    throw error;
  }
}

function readRoot(value: unknown): JsonObject {
  if (!isObject(value)) throw new UsageError(`the file is ${describe(value)}; it must be an object`);
  return value;
}

function shapeOf(root: JsonObject, folder: string, choice: ClusterChoice): ClusterShape {
  const { nodes: given, part, ...rest } = root;
  const { first = 1, others = {}, keys, managed } = part === undefined ? {} : readObject(part, 'part', partMembers);
  const hasFabric = fabricMembers.some((name) => rest[name] !== undefined);
  if (hasFabric && choice.fabric !== undefined)
    throw new UsageError(`option --fabric is ${choice.fabric}, and the file has a fabric: leave one of them out`);
  const nodes = readNodes(given ?? choice.nodes, rest, { ...choice, folder }, first as number);
  const names = nodes.map(({ name }) => name);
  const adapters = (rest.adapters ?? {}) as JsonObject;
  if (!isObject(adapters)) throw new UsageError(`adapters is ${describe(adapters)}; it must be an object`);
  const free = Object.keys(adapters).filter((name) => !names.includes(name));
  const all = [...nodes.map((node) => [node.name, node] as const), ...free.map((name) => [name, choice] as const)];
  const topology = {
    ...(hasFabric ? {} : { generate: makeRule(choice.fabric ?? 'star', all.length) }),
    ...rest,
    ...(rest.links === undefined ? {} : { links: fixPaths(rest.links, folder) }),
    adapters: Object.fromEntries(all.map(([name, guest]) => [name, makeAdapter(name, guest, adapters[name])])),
  };
  const { subnet } = readTopologyValue(topology, folder);
  return {
    nodes,
    ...(part === undefined ? {} : { others: readOthers(others as JsonObject, names) }),
    ...(keys === undefined ? {} : { keyFile: checkSecret(resolve(folder, keys as string)) }),
    free,
    topology,
    isUnmanaged: subnet === 'external' && managed !== true,
  };
}

/** The nodes: those of the file, or as many as asked for, or as the fabric has places. */
function readNodes(given: unknown, rest: JsonObject, defaults: FileDefaults, first: number): NodeSpec[] {
  const names = isObject(given) ? Object.keys(given) : nameNodes(given ?? countPlaces(rest));
  if (names.length === 0 || names.length > NODES_MAX)
    throw new UsageError(`${names.length} nodes are asked for; a cluster has 1 to ${NODES_MAX}`);
  return names.map((name, index) => {
    if (!NODE_NAME.test(name) || name === 'localhost')
      throw new UsageError(`node ${name}: a name must be a letter, then at most 30 letters, digits and hyphens`);
    // As with `vuhca run --topology`: the guest of such an adapter takes turns.
    const own = hasTurns(rest.adapters, name) ? { ...defaults, tcgThread: 'single' as const } : defaults;
    return readNode(name, first + index, isObject(given) ? given[name] : {}, own);
  });
}

/** The file says of the adapter of that name that its guest takes turns. */
function hasTurns(adapters: unknown, name: string): boolean {
  const adapter = isObject(adapters) ? adapters[name] : undefined;
  return isObject(adapter) && adapter.pollsPause === true;
}

/** Nodes of other parts, by their numbers. */
function readOthers(others: JsonObject, own: readonly string[]): Pick<NodeSpec, 'name' | 'address'>[] {
  return Object.entries(others).map(([name, number]) => {
    if (own.includes(name)) throw new UsageError(`part: others has ${name}, which is a node of this part`);
    checkNumber(`part: others ${name}`, Number(number), 1, NODES_MAX);
    return { name, address: addressOf(number as number) };
  });
}

function checkSecret(path: string): string {
  readSecret(path);
  return path;
}

function nameNodes(given: unknown): string[] {
  if (Array.isArray(given) && given.every((name) => typeof name === 'string')) return given;
  if (typeof given !== 'number' || !Number.isInteger(given) || given < 1 || given > NODES_MAX)
    throw new UsageError(`nodes is ${describe(given)}; it must be an object, or a whole number from 1 to ${NODES_MAX}`);
  return Array.from({ length: given }, (_, index) => `node${index + 1}`);
}

/** Without nodes: the adapters of the file by name, or one for each place of its rule. */
function countPlaces({ adapters, generate }: JsonObject): unknown {
  if (isObject(adapters)) return Object.keys(adapters);
  return generate === undefined ? NODES_DEFAULT : readGenerator(generate).places.length;
}

function readNode(name: string, number: number, value: unknown, defaults: FileDefaults): NodeSpec {
  const what = `node ${name}`;
  const members = readObject(value, what, nodeMembers);
  const { personality = defaults.personality, tcgThread = defaults.tcgThread, disk = defaults.disk } = members;
  const { memory, cpus, packages } = members;
  if (!personalityWords.some((word) => word === personality))
    throw new UsageError(`${what}: personality is ${personality}; it must be ${personalityWords.join(', ')}`);
  if (!TCG_THREADS.some((word) => word === tcgThread))
    throw new UsageError(`${what}: tcgThread is ${tcgThread}; it must be ${TCG_THREADS.join(', ')}`);
  const memoryMiB = (memory as number | undefined) ?? defaults.memoryMiB;
  checkNumber(`${what}: memory`, memoryMiB, MEMORY_MIN_MIB, MEMORY_MAX_MIB);
  checkNumber(`${what}: cpus`, cpus as number | undefined, 1, CPUS_MAX);
  if (disk !== undefined && packages !== undefined)
    throw new UsageError(`${what}: packages cannot be given with disk, which has its own`);
  const all = disk === undefined ? [...defaults.packages, ...((packages ?? []) as readonly string[])] : [];
  const wrong = all.find((one) => !PACKAGE_NAME.test(one));
  if (wrong !== undefined) throw new UsageError(`${what}: ${describe(wrong)} is no name of a Debian package`);
  return {
    name,
    number,
    address: addressOf(number),
    personality: personality as Personality,
    cpus: (cpus as number | undefined) ?? defaults.cpus,
    tcgThread: tcgThread as TcgThread,
    ...(memoryMiB === undefined ? {} : { memoryMiB }),
    packages: [...new Set(all)].sort(),
    ...(disk === undefined ? {} : { disk: resolve(defaults.folder, disk as string) }),
  };
}

function checkNumber(what: string, value: number | undefined, low: number, high: number): void {
  if (value !== undefined && !(Number.isInteger(value) && value >= low && value <= high))
    throw new UsageError(`${what} is ${value}; it must be a whole number from ${low} to ${high}`);
}

/** A rule with at least `count` places. */
export function makeRule(rule: FabricRule, count: number): JsonObject {
  if (rule === 'star') return { star: { adapters: count } };
  if (rule === 'ring') return { ring: { switches: count, adaptersPerSwitch: 1 } };
  const adaptersPerLeaf = Math.max(2, Math.ceil(Math.sqrt(count)));
  return { 'fat-tree': { leaves: Math.ceil(count / adaptersPerLeaf), spines: 2, adaptersPerLeaf } };
}

/** The adapter of a node: as the file says, with sockets that cluster.ts finds by its name. */
function makeAdapter(
  name: string,
  { personality, tcgThread }: Pick<NodeDefaults, 'personality' | 'tcgThread'>,
  given: unknown,
): JsonObject {
  if (given !== undefined && !isObject(given))
    throw new UsageError(`adapter ${name} is ${describe(given)}; it must be an object`);
  const { sockets } = given ?? {};
  const count = Array.isArray(sockets) && sockets.length > 0 ? sockets.length : 1;
  const paths = Array.from({ length: count }, (_, number) =>
    number === 0 ? `${name}.sock` : `${name}.${number}.sock`,
  );
  // Stock drivers do not ask their adapter how to poll.
  const isOurs = (given?.personality ?? personality) === 'vuhca';
  const turns = isOurs && tcgThread === 'single' ? { pollsPause: true } : {};
  return { personality, ...turns, ...given, sockets: paths };
}

/** Links to other processes name paths and keys from the folder of the file. */
function fixPaths(links: unknown, folder: string): unknown {
  if (!Array.isArray(links)) throw new UsageError(`links is ${describe(links)}; it must be a list`);
  return links.map((link) => {
    if (!isObject(link)) return link;
    const fixed = (['listen', 'connect', 'key'] as const).flatMap((role) => {
      const path = link[role];
      return typeof path === 'string' && !path.includes('://') ? [[role, resolve(folder, path)] as const] : [];
    });
    return { ...link, ...Object.fromEntries(fixed) };
  });
}
