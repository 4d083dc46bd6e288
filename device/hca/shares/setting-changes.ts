// SPDX-License-Identifier: Apache-2.0
/**
 * Settings that a resource request may change beside shares: controls of the adapter (US 8,484,392
 * par. 30, 64) and how doorbells of a function are processed when resources run short
 * (US 9,069,485 par. 72, 90, 92). Software has registers for them; the virtual machine manager sets
 * them here. `share-changes.ts` calls it; the settings are copies until the request is accepted.
 */
import {
  CSR_ADAPTER_CONTROL_DISABLE_MASK,
  CSR_ADAPTER_CONTROL_FREEZE_SENDS_MASK,
  CSR_ADAPTER_CONTROL_LEND_IDLE_MASK,
  CSR_ADAPTER_CONTROL_RETURN_SHARES_MASK,
} from '../../../protocol/layout/gen/registers.gen.ts';
import type { ResourceChange } from '../../../protocol/layout/gen/resource-change.gen.ts';
import { LinkCheck, ManagementStatus, OverflowPolicy, ResourceKind } from '../../../protocol/layout/gen/values.gen.ts';
import { badAmount, type ShareRefusal } from './share-refusal.ts';

/** How doorbells of one function are processed. */
export interface DoorbellSettings {
  /** Of `OverflowPolicy` and `LinkCheck`. */
  policy: number;
  linkCheck: number;
  /** 1: the adapter adjusts the low threshold. */
  adaptive: number;
  /** 1: commands that found no PCB are queued in the overflow buffer. */
  hostQueue: number;
  /** 1: at a deadlock, doorbells of the scheduler buffer are spilled too. */
  spillBuffered: number;
  /** 1: while doorbells are spilled, commands by collect buffer are spilled too. */
  spillCommands: number;
  /** Thresholds on free entries: 1 <= low < high <= entries. */
  low: number;
  high: number;
  readonly entries: number;
}

export interface Settings {
  /** ADAPTER_CONTROL. */
  control: number;
  /** By function number. */
  readonly doorbells: readonly DoorbellSettings[];
  /** The lane table in host memory: whether there is one; by function, 1 for an invalid entry. */
  readonly hasLaneTable: boolean;
  readonly invalidEntries: number[];
}

const controlBits = new Map<number, number>([
  [ResourceKind.ADAPTER_DISABLE, CSR_ADAPTER_CONTROL_DISABLE_MASK],
  [ResourceKind.ADAPTER_RETURN_SHARES, CSR_ADAPTER_CONTROL_RETURN_SHARES_MASK],
  [ResourceKind.ADAPTER_LEND_IDLE, CSR_ADAPTER_CONTROL_LEND_IDLE_MASK],
  [ResourceKind.ADAPTER_FREEZE_SENDS, CSR_ADAPTER_CONTROL_FREEZE_SENDS_MASK],
]);
const doorbellFields = new Map<number, Exclude<keyof DoorbellSettings, 'entries'>>([
  [ResourceKind.DOORBELL_POLICY, 'policy'],
  [ResourceKind.DOORBELL_LINK_CHECK, 'linkCheck'],
  [ResourceKind.DOORBELL_ADAPTIVE, 'adaptive'],
  [ResourceKind.DOORBELL_HOST_QUEUE, 'hostQueue'],
  [ResourceKind.DOORBELL_SPILL_BUFFERED, 'spillBuffered'],
  [ResourceKind.DOORBELL_SPILL_COMMANDS, 'spillCommands'],
  [ResourceKind.DOORBELL_THRESHOLD_LOW, 'low'],
  [ResourceKind.DOORBELL_THRESHOLD_HIGH, 'high'],
]);

/** Settings of the adapter, whose target is 0. */
export const adapterSettingKinds: readonly number[] = [...controlBits.keys()];
/** Settings of a function, which the function itself may change too. */
export const functionSettingKinds: readonly number[] = [...doorbellFields.keys()];

/** Makes a change of a setting; the kind and the target are valid. */
export function changeSetting(
  settings: Settings,
  { resource, target, amount }: ResourceChange,
): ShareRefusal | undefined {
  const bit = controlBits.get(resource);
  if (bit !== undefined) {
    if (amount > 1) return badAmount(ManagementStatus.BAD_FIELD, 1);
    settings.control = (amount === 1 ? settings.control | bit : settings.control & ~bit) >>> 0;
    return undefined;
  }
  if (resource === ResourceKind.TVL_TABLE_ENTRY) return markEntry(settings, target, amount);
  const field = doorbellFields.get(resource);
  if (field === undefined) return undefined;
  const doorbells = settings.doorbells[target];
  const most = {
    policy: OverflowPolicy.MOST_SPILLED,
    linkCheck: LinkCheck.COMPARE_SWAP,
    adaptive: 1,
    hostQueue: 1,
    spillBuffered: 1,
    spillCommands: 1,
    low: doorbells.entries - 1,
    high: doorbells.entries,
  }[field];
  if (amount > most) return badAmount(ManagementStatus.BAD_FIELD, most);
  doorbells[field] = amount;
  return undefined;
}

/** An entry of the table in host memory is read later, so there must be a table. */
function markEntry(settings: Settings, target: number, amount: number): ShareRefusal | undefined {
  if (amount > 1) return badAmount(ManagementStatus.BAD_FIELD, 1);
  if (!settings.hasLaneTable && amount === 1) return badAmount(ManagementStatus.BAD_STATE, 0);
  settings.invalidEntries[target] = amount;
  return undefined;
}

/**
 * Both thresholds may be changed in any order, so their final values count: blames `change` if it
 * leaves a threshold that is not 1 <= low < high.
 */
export function findBadThreshold(
  { doorbells }: Settings,
  { resource, target }: ResourceChange,
): ShareRefusal | undefined {
  if (resource !== ResourceKind.DOORBELL_THRESHOLD_LOW && resource !== ResourceKind.DOORBELL_THRESHOLD_HIGH)
    return undefined;
  const { low, high } = doorbells[target];
  if (low < 1) return badAmount(ManagementStatus.BAD_FIELD, 1);
  if (low < high) return undefined;
  return badAmount(ManagementStatus.BAD_FIELD, resource === ResourceKind.DOORBELL_THRESHOLD_LOW ? high - 1 : low + 1);
}
