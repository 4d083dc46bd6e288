// SPDX-License-Identifier: Apache-2.0
/**
 * The member `generate` of a topology file (docs/TOPOLOGY.md): one rule with its parameters, and
 * properties of the links that it makes. `topology-file.ts` calls it.
 */
import type { LocalLinkPlan } from '../../../device/topology/fabric-plan.ts';
import {
  findGeneratorError,
  type GeneratedFabric,
  type GeneratorName,
  generate,
  generators,
} from '../../../device/topology/generate.ts';
import { describe, isObject, readObject } from '../options/json-shape.ts';
import { UsageError } from '../options/usage-error.ts';
import { linkMembers, readLinkMembers } from './topology-links.ts';

const PARAMETER_MAX = 1000;

/** The nodes that a rule has made, and the properties of its links. */
export interface Generated extends GeneratedFabric {
  readonly link: Omit<LocalLinkPlan, 'ports'>;
}

export function readGenerator(value: unknown): Generated {
  const rules = Object.keys(generators).join(', ');
  const entries = isObject(value) ? Object.entries(value) : [];
  if (entries.length !== 1)
    throw new UsageError(`generate is ${describe(value)}; it must be an object with one of ${rules}`);
  const [rule, parameters] = entries[0];
  if (!Object.hasOwn(generators, rule)) throw new UsageError(`generate: unknown name ${rule}; known are ${rules}`);
  const what = `generate ${rule}`;
  const defaults = generators[rule as GeneratorName];
  const { link, ...numbers } = readObject(parameters, what, { ...defaults, link: {} });
  for (const [name, number] of Object.entries(numbers as Record<string, number>)) {
    if (!Number.isInteger(number) || number < 1 || number > PARAMETER_MAX)
      throw new UsageError(`${what}: ${name} is ${number}; it must be a whole number from 1 to ${PARAMETER_MAX}`);
  }
  const error = findGeneratorError(numbers as Record<string, number>);
  if (error !== undefined) throw new UsageError(`${what}: ${error}`);
  const members = readLinkMembers(readObject(link ?? {}, `${what}: link`, linkMembers), `${what}: link`);
  return { ...generate(rule as GeneratorName, numbers as Record<string, number>), link: members };
}
