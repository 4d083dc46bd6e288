// SPDX-License-Identifier: Apache-2.0
/**
 * Makes the PCIe functions of an adapter, each with its host and with the channel adapter that it
 * is, or that it shares with the others. Called by the constructor of `Adapter`.
 */

import type { AdapterClock, HostPort } from '../../host.ts';
import { UnderlyingFunction } from '../function/underlying-function.ts';
import type { ChannelAdapter } from '../management/managed-adapter.ts';
import { capacities } from '../queues/object-tables.ts';
import { PcieFunction, type SharedAdapterParts } from './pcie-function.ts';

/** `channels`: one for all functions, or one for each. */
export function createFunctions(
  hosts: readonly HostPort[],
  clock: AdapterClock,
  channels: readonly ChannelAdapter[],
  adapter: SharedAdapterParts,
): readonly PcieFunction[] {
  const translationQuota = Math.floor(capacities.translationEntries / hosts.length);
  const noteVector = (): void => adapter.pending.noteVector();
  return hosts.map((host, number) => {
    const { deviceMemoryBytes, orderCheck } = adapter.options;
    const underlying = new UnderlyingFunction(number, clock, host, noteVector, deviceMemoryBytes, translationQuota);
    if (orderCheck === true) underlying.checkOrder();
    return new PcieFunction(underlying, channels[number % channels.length], adapter);
  });
}
