// SPDX-License-Identifier: Apache-2.0
/**
 * The nodes of a subnet that an adapter is, by name (docs/FABRIC.md): one channel adapter with the
 * adapter's name, or with embedded switches one for each function, `NAME/FUNCTION` for the virtual
 * ones, and the switches `NAME/s1` and `NAME/s2`. Reports, captures and the host door use them.
 */
import { MthcaAdapter } from '../../personality/mthca/mthca-adapter.ts';
import type { AnyAdapter } from '../../topology/node-kinds.ts';
import type { NamedNode } from '../ibsim/host-directory.ts';

/** The channel adapters. */
export function listChannels(name: string, core: AnyAdapter): readonly NamedNode[] {
  if (core instanceof MthcaAdapter) return [{ name, management: core.management }];
  const { functions, inner } = core;
  const own = inner.length === 0 ? functions.slice(0, 1) : functions;
  return own.map(({ management }, number) => ({ name: number === 0 ? name : `${name}/${number}`, management }));
}

/** The embedded switches. */
export function listEmbedded(name: string, { inner }: AnyAdapter): readonly NamedNode[] {
  return inner.map(({ management }, index) => ({ name: `${name}/s${index + 1}`, management }));
}
