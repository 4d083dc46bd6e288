// SPDX-License-Identifier: Apache-2.0
/**
 * Which values of PortInfo a subnet manager may set (IBTA 14.2.5.6): one rule for each component
 * that has illegal values. `port-info.ts` calls it before it changes anything.
 */
import { isUnicastLid } from '../../../protocol/infiniband/addresses.ts';
import type { PortInfo } from '../../../protocol/infiniband/mad/gen/port-info.gen.ts';
import { PortPhysicalState } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import type { EndPort } from '../port/end-port.ts';
import type { LinkEnd } from '../port/link.ts';
import { LANES_OF_CODE } from '../port/transmit-queues.ts';
import type { NamedPort } from './attribute-request.ts';

const ALL_WIDTHS = 255;
const ALL_SPEEDS = 15;
const NO_CHANGE = 0;

/** True when a manager may set all components of `info` at the port. */
export function isPortInfoLegal(info: Readonly<PortInfo>, { end, endPort }: NamedPort): boolean {
  if (endPort !== undefined && !addressRules.every((rule) => rule(info, endPort))) return false;
  if (end !== undefined) return linkRules.every((rule) => rule(info, end));
  return isStateOfPortZeroLegal(info);
}

const addressRules: readonly ((info: Readonly<PortInfo>, port: EndPort) => boolean)[] = [
  // A port without a LID may stay so.
  ({ lid }, port) => isUnicastLid(lid) || lid === port.lid,
  ({ masterSmLid }, port) => isUnicastLid(masterSmLid) || masterSmLid === port.smLid,
  // The base LID has zeros where the path bits are.
  ({ lid, lmc }) => (lid & ((1 << lmc) - 1)) === 0,
];

const linkRules: readonly ((info: Readonly<PortInfo>, end: LinkEnd) => boolean)[] = [
  ({ linkWidthEnabled }, end) => isSubset(linkWidthEnabled, ALL_WIDTHS, end.settings.linkWidthSupported),
  ({ linkSpeedEnabled }, end) => isSubset(linkSpeedEnabled, ALL_SPEEDS, end.settings.linkSpeedSupported),
  ({ linkDownDefaultState }) => linkDownDefaultState <= PortPhysicalState.POLLING,
  ({ neighborMtu }, end) => neighborMtu > 0 && neighborMtu <= end.maxMtuCode,
  ({ operationalVls }, { transmitQueues }) => operationalVls <= LANES_OF_CODE.indexOf(transmitQueues.rings.length),
  // The physical state can be set when the link is to go down, or is down.
  ({ portPhysicalState, portState }) =>
    portPhysicalState === PortPhysicalState.NO_CHANGE ||
    (portPhysicalState <= PortPhysicalState.DISABLED && portState <= PortState.DOWN),
  ({ portState }, end) => portState === NO_CHANGE || end.allows(portState as PortState),
];

/** Port 0 is always active: it can be armed and activated, which changes nothing. */
function isStateOfPortZeroLegal({ portState, portPhysicalState }: Readonly<PortInfo>): boolean {
  return (
    portPhysicalState === PortPhysicalState.NO_CHANGE &&
    (portState === NO_CHANGE || portState === PortState.ARMED || portState === PortState.ACTIVE)
  );
}

function isSubset(value: number, all: number, supported: number): boolean {
  return value === all || (value & ~supported) === 0;
}
