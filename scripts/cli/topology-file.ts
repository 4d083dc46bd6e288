// SPDX-License-Identifier: Apache-2.0
/**
 * Reads a topology file (docs/TOPOLOGY.md): JSON with every name and type checked, so that each
 * mistake gets a sentence. device/main/topology.ts checks how the values fit together. Called by
 * `vuhca device`.
 */
import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { type AdapterOptions, defaultAdapterOptions } from '../../device/adapter/options.ts';
import { defaultFaultyLinkOptions, linkFaults, type PortLinkOptions } from '../../device/fabric/link-options.ts';
import { type AdapterPlan, findTopologyError, type LinkPlan, type Topology } from '../../device/main/topology.ts';
import { UsageError } from './usage-error.ts';

type JsonObject = Readonly<Record<string, unknown>>;

const { portLink: _, ...adapterDefaults } = defaultAdapterOptions;
const faultDefaults = { seed: 1, ...defaultFaultyLinkOptions };
/** Kinds of values in objects whose names are not those of defaults. */
const probabilities = Object.fromEntries(linkFaults.map((fault) => [fault, 0]));
const scheduled = { fault: '', direction: 0, packet: 0, atNs: 0, byte: 0, flip: 0 };
const flap = { atNs: 0, lengthNs: 0 };
/**
 * Numbers of LIDs and of GUIDs that an adapter takes. Without values in the file, an adapter has
 * those that follow the adapter before.
 */
const LIDS_OF_ADAPTER = 2;
const GUIDS_OF_ADAPTER = 0x10n;

/** The topology a file describes; paths in it are taken from its folder. Throws UsageError. */
export function readTopologyFile(path: string): Topology {
  try {
    const root = readObject(parseFile(path), 'the file', { adapters: {}, links: [] });
    if (root.adapters === undefined) throw new UsageError('adapters is missing; it names each adapter and its sockets');
    const folder = dirname(resolve(path));
    const adapters = Object.entries(root.adapters as JsonObject).map(([name, value], index) =>
      readAdapter(name, value, index, folder),
    );
    const links = ((root.links ?? []) as unknown[]).map((value, index) => readLink(value, index, folder));
    const topology = { adapters, links };
    const error = findTopologyError(topology);
    if (error !== undefined) throw new UsageError(error);
    return topology;
  } catch (error) {
    if (error instanceof UsageError) throw new UsageError(`topology ${path}: ${error.message}`);
    throw error;
  }
}

function parseFile(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new UsageError(`it cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UsageError(`it is no JSON: ${(error as Error).message}`);
  }
}

function readAdapter(name: string, value: unknown, index: number, folder: string): AdapterPlan {
  const { sockets, ...given } = readObject(value, `adapter ${name}`, { sockets: [''], ...adapterDefaults });
  const lid = 1 + index * LIDS_OF_ADAPTER;
  const guid = BigInt(`0x${defaultAdapterOptions.nodeGuid}`) + GUIDS_OF_ADAPTER * BigInt(index);
  const options: AdapterOptions = {
    ...defaultAdapterOptions,
    functionCount: Math.max(1, (sockets as string[] | undefined)?.length ?? 1),
    portLids: [lid, lid + 1],
    nodeGuid: guid.toString(16).padStart(16, '0'),
    ...(given as Partial<AdapterOptions>),
  };
  return { name, sockets: ((sockets ?? []) as string[]).map((path) => resolve(folder, path)), options };
}

function readLink(value: unknown, index: number, folder: string): LinkPlan {
  const name = `link ${index + 1}`;
  if (isObject(value) && 'port' in value) {
    const { port, listen, connect } = readObject(value, name, { port: '', listen: '', connect: '' });
    if ((listen === undefined) === (connect === undefined))
      throw new UsageError(`${name}: port ${port} needs either listen or connect, with a path`);
    const path = resolve(folder, (listen ?? connect) as string);
    return { port: port as string, role: listen === undefined ? 'connect' : 'listen', endpoint: { path } };
  }
  const { ports, ...given } = readObject(value, name, { ports: [''], ...faultDefaults });
  if (!Array.isArray(ports) || ports.length !== 2)
    throw new UsageError(`${name} must have ports, two of them, or port with listen or connect`);
  checkFaults(given, name);
  const link = Object.keys(given).length === 0 ? { kind: 'cable' } : { kind: 'faulty', seed: 1, ...given };
  return { ports: [ports[0], ports[1]], link: link as PortLinkOptions };
}

function checkFaults({ faults, schedule, flaps }: JsonObject, name: string): void {
  readObject(faults ?? {}, `${name}: faults`, probabilities);
  for (const [index, entry] of ((schedule ?? []) as unknown[]).entries()) {
    const what = `${name}: schedule entry ${index + 1}`;
    const { fault, direction } = readObject(entry, what, scheduled);
    if (!linkFaults.some((one) => one === fault))
      throw new UsageError(`${what}: fault is ${fault}; it must be ${linkFaults.join(', ')}`);
    if (direction !== 0 && direction !== 1)
      throw new UsageError(`${what}: direction is ${direction}; it must be 0 or 1`);
  }
  for (const [index, entry] of ((flaps ?? []) as unknown[]).entries())
    readObject(entry, `${name}: flap ${index + 1}`, flap);
}

/** An object with names of `like` only, whose values are of the same kinds. */
function readObject(value: unknown, what: string, like: JsonObject): JsonObject {
  if (!isObject(value)) throw new UsageError(`${what} is ${describe(value)}; it must be an object`);
  for (const [name, given] of Object.entries(value)) {
    if (!Object.hasOwn(like, name))
      throw new UsageError(`${what}: unknown name ${name}; known are ${Object.keys(like).join(', ')}`);
    const wanted = findMismatch(given, like[name]);
    if (wanted !== undefined) throw new UsageError(`${what}: ${name} is ${describe(given)}; it must be ${wanted}`);
  }
  return value;
}

/** The kind of the example, when the value is of another kind. Checks the elements of arrays. */
function findMismatch(value: unknown, example: unknown): string | undefined {
  if (Array.isArray(example)) {
    const [first] = example;
    const isFit = Array.isArray(value) && (first === undefined || value.every((one) => typeof one === typeof first));
    if (isFit && (typeof first !== 'number' || value.length === example.length)) return undefined;
    if (first === undefined) return 'a list';
    return typeof first === 'number' ? `a list of ${example.length} numbers` : 'a list of strings';
  }
  if (isObject(example)) return isObject(value) ? undefined : 'an object';
  return typeof value === typeof example ? undefined : `a ${typeof example}`;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function describe(value: unknown): string {
  return JSON.stringify(value)?.slice(0, 60) ?? 'missing';
}
