// SPDX-License-Identifier: Apache-2.0
/**
 * The personalities by name (docs/verbs/PERSONALITIES.md): their options, and how a device of each
 * is made. A further personality is a row here, an identity in device/process/host/pci-identity.ts,
 * and whatever else the type checker then misses.
 */
import type { AdapterClock, HostPort } from '../host.ts';
import { Mlx5Adapter } from '../personality/mlx5/mlx5-adapter.ts';
import { defaultMlx5Options, mlx5FunctionCounts, mlx5PortCounts } from '../personality/mlx5/options.ts';
import { MthcaAdapter } from '../personality/mthca/mthca-adapter.ts';
import { defaultMthcaOptions, mthcaFunctionCounts, mthcaPortCounts } from '../personality/mthca/options.ts';
import type { PersonalityOptions } from '../personality/shared/options.ts';

/** A device of any personality. */
export type PersonalityAdapter = MthcaAdapter | Mlx5Adapter;

interface Personality {
  readonly defaults: PersonalityOptions;
  /** Numbers of ports that a function can have. */
  readonly portCounts: readonly number[];
  /** Numbers of functions that a device can have; each is a node (`device-functions.ts`). */
  readonly functionCounts: readonly number[];
  make(options: PersonalityOptions, clock: AdapterClock, host: HostPort): PersonalityAdapter;
}

const table = {
  mthca: {
    defaults: defaultMthcaOptions,
    portCounts: mthcaPortCounts,
    functionCounts: mthcaFunctionCounts,
    make: (options, clock, host) => new MthcaAdapter(options, clock, host),
  },
  mlx5: {
    defaults: defaultMlx5Options,
    portCounts: mlx5PortCounts,
    functionCounts: mlx5FunctionCounts,
    make: (options, clock, host) => new Mlx5Adapter(options, clock, host),
  },
} satisfies Readonly<Record<string, Personality>>;

export type PersonalityName = keyof typeof table;

export const personalities: Readonly<Record<PersonalityName, Personality>> = table;
