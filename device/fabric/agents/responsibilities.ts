// SPDX-License-Identifier: Apache-2.0
/**
 * The taker of a datagram that has reached its node, by class, method, attribute and door (IBTA
 * 13.4.4 to 13.4.7, 14.2.3, 16.1.1). This is the only place that says so; `Agents` looks here, and
 * a test goes through every cell.
 */

import {
  MadClass,
  MadMethod,
  MadStatus,
  PerformanceAttribute,
  SubnetAttribute,
} from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { RESPONSE_BIT } from '../../../protocol/infiniband/mad/mad-headers.ts';

/** The interface by which a datagram arrives: VL15 and QP0, or QP1. */
type Interface = 'subnet' | 'general';

/**
 * `sma`, `pma`: the agent of subnet or performance management serves the attribute. `refused`: an
 * agent answers with an error. `software`: the doors. `dropped`: there is no answer.
 */
type Responsible = 'sma' | 'pma' | 'refused' | 'software' | 'dropped';

const { GET, SET, TRAP, REPORT, TRAP_REPRESS } = MadMethod;

interface Row {
  readonly attribute: number;
  readonly methods: readonly number[];
  readonly switchOnly?: boolean;
}

const S = SubnetAttribute;
/** Attributes of the subnet management agent. */
export const subnetRows: readonly Row[] = [
  { attribute: S.NOTICE, methods: [GET, SET, TRAP_REPRESS] },
  { attribute: S.NODE_DESCRIPTION, methods: [GET] },
  { attribute: S.NODE_INFO, methods: [GET] },
  { attribute: S.SWITCH_INFO, methods: [GET, SET], switchOnly: true },
  { attribute: S.GUID_INFO, methods: [GET, SET] },
  { attribute: S.PORT_INFO, methods: [GET, SET] },
  { attribute: S.P_KEY_TABLE, methods: [GET, SET] },
  { attribute: S.SL_TO_VL_TABLE, methods: [GET, SET] },
  { attribute: S.VL_ARBITRATION_TABLE, methods: [GET, SET] },
  { attribute: S.LINEAR_FORWARDING_TABLE, methods: [GET, SET], switchOnly: true },
  { attribute: S.MULTICAST_FORWARDING_TABLE, methods: [GET, SET], switchOnly: true },
  { attribute: S.VENDOR_DIAG, methods: [GET] },
  { attribute: S.LED_INFO, methods: [GET, SET] },
];

const P = PerformanceAttribute;
/** Attributes of the performance management agent. */
export const performanceRows: readonly Row[] = [
  { attribute: P.CLASS_PORT_INFO, methods: [GET] },
  { attribute: P.PORT_SAMPLES_CONTROL, methods: [GET, SET] },
  { attribute: P.PORT_SAMPLES_RESULT, methods: [GET] },
  { attribute: P.PORT_COUNTERS, methods: [GET, SET] },
  { attribute: P.PORT_RECEIVE_ERROR_DETAILS, methods: [GET, SET] },
  { attribute: P.PORT_TRANSMIT_DISCARD_DETAILS, methods: [GET, SET] },
  { attribute: P.PORT_COUNTERS_EXTENDED, methods: [GET, SET] },
];

interface Responsibility {
  readonly taker: Responsible;
  /** Status of the answer of an agent that refuses. */
  readonly status: MadStatus;
}

/** `hasSoftware`: software listens at the door. */
export function responsibility(
  door: Interface,
  managementClass: number,
  method: number,
  attribute: number,
  isSwitch: boolean,
  hasSoftware: boolean,
): Responsibility {
  const isSubnet = managementClass === MadClass.SUBNET || managementClass === MadClass.SUBNET_DIRECTED_ROUTE;
  if (isSubnet !== (door === 'subnet')) return DROPPED;
  if (!isSubnet && managementClass !== MadClass.PERFORMANCE) return SOFTWARE;
  if ((method & RESPONSE_BIT) !== 0 || method === TRAP || method === REPORT) return SOFTWARE;
  if (isSubnet && attribute === S.SM_INFO && (method === GET || method === SET) && hasSoftware) return SOFTWARE;
  const row = (isSubnet ? subnetRows : performanceRows).find((candidate) => candidate.attribute === attribute);
  const isServed = row?.methods.includes(method) && (isSwitch || row.switchOnly !== true);
  if (isServed) return isSubnet ? SMA : PMA;
  // TrapRepress has no response.
  if (method === TRAP_REPRESS) return DROPPED;
  return method === GET || method === SET ? BAD_ATTRIBUTE : BAD_METHOD;
}

const SMA: Responsibility = { taker: 'sma', status: MadStatus.SUCCESS };
const PMA: Responsibility = { taker: 'pma', status: MadStatus.SUCCESS };
const SOFTWARE: Responsibility = { taker: 'software', status: MadStatus.SUCCESS };
const DROPPED: Responsibility = { taker: 'dropped', status: MadStatus.SUCCESS };
const BAD_METHOD: Responsibility = { taker: 'refused', status: MadStatus.UNSUPPORTED_METHOD };
const BAD_ATTRIBUTE: Responsibility = { taker: 'refused', status: MadStatus.UNSUPPORTED_ATTRIBUTE };
