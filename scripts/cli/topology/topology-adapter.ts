// SPDX-License-Identifier: Apache-2.0
/**
 * The adapters of a topology file (docs/TOPOLOGY.md): with our own front end, or of a personality.
 * Each has options of its kind; those that the file leaves out follow from its place.
 * `topology-file.ts` calls it.
 */
import { resolve } from 'node:path';
import { defaultAdapterOptions, PORTS_DEFAULT } from '../../../device/hca/adapter/options.ts';
import type { AdapterPlan } from '../../../device/process/host/topology.ts';
import { makeTwoFunctions } from '../../../device/topology/device-functions.ts';
import { isObject, type JsonObject, readObject } from '../options/json-shape.ts';
import { functionCountsOf, type Personality, personalityNode, personalityWords } from '../options/personality.ts';
import { UsageError } from '../options/usage-error.ts';

const { portLink: _, ...vuhcaDefaults } = defaultAdapterOptions;
/** Members that have no default. */
const LATER = {
  writeCombining: { seed: 0 },
  dmaLatencyNs: 0,
  orderCheck: false,
  pollsPause: false,
  nodeDescription: '',
};
const vuhcaMembers = { ...vuhcaDefaults, portModel: '', bus: '', portCount: PORTS_DEFAULT, ...LATER };
/** Of a device of any personality. */
const personalityMembers = {
  nodeGuid: '',
  nodeDescription: '',
  portLids: [0, 0],
  portQueuePackets: 0,
  orderCheck: false,
};
const GUIDS_OF_ADAPTER = 0x10n;
/** Adapters with embedded switches take more GUIDs, after those of other adapters. */
const GUIDS_OF_EMBEDDING = 0x100n;
const FIRST_EMBEDDING = 0x1000n;

/** Place of an adapter in its file: its index, and the first free LID. */
export interface AdapterPlace {
  readonly index: number;
  readonly lid: number;
}

/**
 * Reads one adapter, which is a node, or a node for each function. `folder` is that of the file.
 */
export function readAdapter(name: string, value: unknown, place: AdapterPlace, folder: string): AdapterPlan[] {
  const personality = readPersonality(name, value);
  const members = personality === 'vuhca' ? vuhcaMembers : personalityMembers;
  const like = { sockets: [''], ...members, personality: '' };
  const { sockets = [], personality: _kind, ...given } = readObject(value, `adapter ${name}`, like);
  const paths = sockets as readonly string[];
  const served = { name, sockets: paths.map((path) => resolve(folder, path)) };
  const implied = {
    portLids: [place.lid, place.lid + 1] as const,
    nodeGuid: guidOf(place.index, given),
    nodeDescription: name,
  };
  if (personality === 'vuhca') {
    const functionCount = Math.max(1, paths.length);
    return [{ ...served, options: { ...defaultAdapterOptions, functionCount, ...implied, ...given } }];
  }
  const device = personalityNode(name, personality);
  const node = { ...device, options: { ...device.options, ...implied, ...given } };
  // A different number of sockets is a mistake, which the checks of the topology report.
  if (paths.length === 1 || !functionCountsOf(personality).includes(paths.length)) return [{ ...node, ...served }];
  return makeTwoFunctions(node).map((one, number) => ({ ...one, sockets: [served.sockets[number]] }));
}

function readPersonality(name: string, value: unknown): Personality {
  const { personality = 'vuhca' } = isObject(value) ? value : {};
  const found = personalityWords.find((one) => one === personality);
  if (found !== undefined) return found;
  throw new UsageError(
    `adapter ${name}: personality is ${JSON.stringify(personality)}; it must be ${personalityWords.join(', ')}`,
  );
}

function guidOf(index: number, { portModel }: JsonObject): string {
  const place = BigInt(index);
  const offset = portModel === 'vswitch' ? FIRST_EMBEDDING + GUIDS_OF_EMBEDDING * place : GUIDS_OF_ADAPTER * place;
  return (BigInt(`0x${defaultAdapterOptions.nodeGuid}`) + offset).toString(16).padStart(16, '0');
}
