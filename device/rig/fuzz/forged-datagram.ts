// SPDX-License-Identifier: Apache-2.0
/**
 * Malformed, foreign and forged management datagrams by seed (IBTA chapters 13 to 16): most are
 * close enough to good ones to reach a handler. The simulation and tests of the agents use it.
 */

import {
  MAD_HEADER_ATTRIBUTE_ID_OFFSET,
  MAD_HEADER_ATTRIBUTE_MODIFIER_OFFSET,
} from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import {
  AdministrationAttribute,
  MadClass,
  MadMethod,
  PerformanceAttribute,
  SubnetAttribute,
} from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { MAD_BYTES } from '../../../protocol/infiniband/mad/mad-headers.ts';
import { generalAddress, type MadAddress, newMadAddress, subnetAddress } from '../../fabric/agents/mad-packet.ts';
import type { Random } from '../../random.ts';

const CLASSES = [...Object.values(MadClass), 0, 0x82, 0xff];
const METHODS = [MadMethod.GET, MadMethod.SET, MadMethod.SET, ...Object.values(MadMethod), 0x44];
const ATTRIBUTES = [
  ...Object.values(SubnetAttribute),
  ...Object.values(PerformanceAttribute),
  ...Object.values(AdministrationAttribute),
  0x7777,
];
const PERMISSIVE_LID = 0xffff;
const STATUS_OFFSET = 4;
const HOPS_OFFSET = 6;
const DR_LIDS_OFFSET = 32;
const INITIAL_PATH_OFFSET = 128;

interface ForgedDatagram {
  readonly address: MadAddress;
  readonly mad: Uint8Array;
}

/** A datagram; `lids`: LIDs of the subnet, which its address names more often than others. */
export function forgeDatagram(random: Random, lids: readonly number[]): ForgedDatagram {
  const mad = Uint8Array.from({ length: MAD_BYTES }, () => (random.oneIn(3) ? random.below(256) : 0));
  const view = new DataView(mad.buffer);
  const isVl15 = !random.oneIn(4);
  const managementClass = forgeClass(random, isVl15);
  const isAdministration = managementClass === MadClass.SUBNET_ADMINISTRATION;
  mad[0] = random.oneIn(50) ? 7 : 1;
  mad[1] = managementClass;
  mad[2] = random.oneIn(50) === isAdministration ? 1 : 2;
  mad[3] = METHODS[random.below(METHODS.length)];
  view.setUint16(STATUS_OFFSET, random.oneIn(10) ? random.below(0x10000) : 0);
  view.setUint16(HOPS_OFFSET, 0);
  if (managementClass === MadClass.SUBNET_DIRECTED_ROUTE) forgeRoute(random, mad, view);
  view.setUint16(MAD_HEADER_ATTRIBUTE_ID_OFFSET, ATTRIBUTES[random.below(ATTRIBUTES.length)]);
  view.setUint32(MAD_HEADER_ATTRIBUTE_MODIFIER_OFFSET, random.oneIn(4) ? random.next() : random.below(4));
  return { address: forgeAddress(random, isVl15, lids), mad };
}

function forgeClass(random: Random, isVl15: boolean): number {
  if (random.oneIn(20)) return CLASSES[random.below(CLASSES.length)];
  if (isVl15) return random.oneIn(2) ? MadClass.SUBNET : MadClass.SUBNET_DIRECTED_ROUTE;
  return random.oneIn(2) ? MadClass.PERFORMANCE : MadClass.SUBNET_ADMINISTRATION;
}

/** A route of up to 4 hops; sometimes pointer, count and LIDs are random. */
function forgeRoute(random: Random, mad: Uint8Array, view: DataView): void {
  if (random.oneIn(10)) {
    view.setUint16(HOPS_OFFSET, random.below(0x10000));
    return;
  }
  const hops = random.below(5);
  view.setUint16(HOPS_OFFSET, hops);
  view.setUint16(DR_LIDS_OFFSET, PERMISSIVE_LID);
  view.setUint16(DR_LIDS_OFFSET + 2, random.oneIn(20) ? random.below(8) : PERMISSIVE_LID);
  for (let hop = 1; hop <= hops; hop++) mad[INITIAL_PATH_OFFSET + hop] = hop === 1 ? 1 : random.below(6);
}

function forgeAddress(random: Random, isVl15: boolean, lids: readonly number[]): MadAddress {
  if (isVl15 && random.oneIn(2)) return newMadAddress();
  const lid = (): number => (random.oneIn(20) ? random.below(0x10000) : lids[random.below(lids.length)]);
  if (isVl15) return subnetAddress(lid(), lid());
  const address = generalAddress(lid(), lid());
  return random.oneIn(20) ? { ...address, pKey: random.below(0x10000), qKey: random.next() } : address;
}
