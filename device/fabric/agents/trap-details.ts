// SPDX-License-Identifier: Apache-2.0
/**
 * Details of the notices of traps (IBTA 14.2.5.1): what each trap says besides its number. `Traps`
 * and `MadInterface` call it.
 */

import {
  copyBadKeyNoticeGid1From,
  copyBadKeyNoticeGid2From,
  setBadKeyNoticeKey,
  setBadKeyNoticeLid1,
  setBadKeyNoticeLid2,
  setBadKeyNoticeQpn1,
  setBadKeyNoticeQpn2,
  setBadKeyNoticeServiceLevel,
} from '../../../protocol/infiniband/mad/gen/bad-key-notice.gen.ts';
import {
  BAD_M_KEY_NOTICE_RETURN_PATH_BYTES,
  BAD_M_KEY_NOTICE_RETURN_PATH_OFFSET,
  setBadMKeyNoticeAttributeId,
  setBadMKeyNoticeAttributeModifier,
  setBadMKeyNoticeDrSlid,
  setBadMKeyNoticeHopCount,
  setBadMKeyNoticeIsDirected,
  setBadMKeyNoticeIsTruncated,
  setBadMKeyNoticeLid,
  setBadMKeyNoticeMethod,
  setBadMKeyNoticeMKeyHigh,
  setBadMKeyNoticeMKeyLow,
} from '../../../protocol/infiniband/mad/gen/bad-m-key-notice.gen.ts';
import {
  copyBadPartitionNoticeGid1From,
  copyBadPartitionNoticeGid2From,
  setBadPartitionNoticeDataValid,
  setBadPartitionNoticeLid1,
  setBadPartitionNoticeLid2,
  setBadPartitionNoticePKey,
  setBadPartitionNoticePortNumber,
  setBadPartitionNoticeQpn1High,
  setBadPartitionNoticeQpn1Low,
  setBadPartitionNoticeQpn2High,
  setBadPartitionNoticeQpn2Low,
  setBadPartitionNoticeServiceLevel,
  setBadPartitionNoticeSwitchLid,
} from '../../../protocol/infiniband/mad/gen/bad-partition-notice.gen.ts';
import {
  DIRECTED_ROUTE_SMP_RETURN_PATH_OFFSET,
  getDirectedRouteSmpDrSlid,
  getDirectedRouteSmpHopCount,
  getDirectedRouteSmpManagementClass,
  getDirectedRouteSmpMKeyHigh,
  getDirectedRouteSmpMKeyLow,
} from '../../../protocol/infiniband/mad/gen/directed-route-smp.gen.ts';
import {
  getMadHeaderAttributeId,
  getMadHeaderAttributeModifier,
  getMadHeaderMethod,
} from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import { MadClass } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import type { KeyViolation } from '../port/key-violation.ts';
import type { MadAddress } from './mad-packet.ts';

export type { KeyViolation } from '../port/key-violation.ts';

const NO_GID = new Uint8Array(16);
/** All fields of the notice of trap 259 that a local packet has. */
const LOCAL_FIELDS = 0x3f;
const ALL_FIELDS = 0xff;

/** Traps 257 and 258. */
export function describeKeyViolation(view: DataView, notice: number, violation: Readonly<KeyViolation>): void {
  const { slid, dlid, serviceLevel, sourceQpn, destQpn, key, sgid = NO_GID, dgid = NO_GID } = violation;
  setBadKeyNoticeLid1(view, notice, slid);
  setBadKeyNoticeLid2(view, notice, dlid);
  setBadKeyNoticeKey(view, notice, key);
  setBadKeyNoticeServiceLevel(view, notice, serviceLevel);
  setBadKeyNoticeQpn1(view, notice, sourceQpn);
  setBadKeyNoticeQpn2(view, notice, destQpn);
  copyBadKeyNoticeGid1From(view, notice, sgid, 0);
  copyBadKeyNoticeGid2From(view, notice, dgid, 0);
}

/** Trap 259: the packet, and where it came into the switch. */
export function describeBadPartition(
  view: DataView,
  notice: number,
  violation: Readonly<KeyViolation>,
  switchLid: number,
  portNumber: number,
): void {
  const { slid, dlid, serviceLevel, sourceQpn, destQpn, key, sgid, dgid } = violation;
  setBadPartitionNoticeDataValid(view, notice, sgid === undefined ? LOCAL_FIELDS : ALL_FIELDS);
  setBadPartitionNoticeLid1(view, notice, slid);
  setBadPartitionNoticeLid2(view, notice, dlid);
  setBadPartitionNoticePKey(view, notice, key);
  setBadPartitionNoticeServiceLevel(view, notice, serviceLevel);
  setBadPartitionNoticeQpn1High(view, notice, sourceQpn >>> 16);
  setBadPartitionNoticeQpn1Low(view, notice, sourceQpn & 0xffff);
  setBadPartitionNoticeQpn2High(view, notice, destQpn >>> 16);
  setBadPartitionNoticeQpn2Low(view, notice, destQpn & 0xffff);
  copyBadPartitionNoticeGid1From(view, notice, sgid ?? NO_GID, 0);
  copyBadPartitionNoticeGid2From(view, notice, dgid ?? NO_GID, 0);
  setBadPartitionNoticeSwitchLid(view, notice, switchLid);
  setBadPartitionNoticePortNumber(view, notice, portNumber);
}

/** Trap 256: the request that lacked the management key. */
export function describeBadKey(view: DataView, notice: number, address: Readonly<MadAddress>, request: DataView): void {
  setBadMKeyNoticeLid(view, notice, address.slid);
  setBadMKeyNoticeMethod(view, notice, getMadHeaderMethod(request, 0));
  setBadMKeyNoticeAttributeId(view, notice, getMadHeaderAttributeId(request, 0));
  setBadMKeyNoticeAttributeModifier(view, notice, getMadHeaderAttributeModifier(request, 0));
  setBadMKeyNoticeMKeyHigh(view, notice, getDirectedRouteSmpMKeyHigh(request, 0));
  setBadMKeyNoticeMKeyLow(view, notice, getDirectedRouteSmpMKeyLow(request, 0));
  if (getDirectedRouteSmpManagementClass(request, 0) !== MadClass.SUBNET_DIRECTED_ROUTE) return;
  const hops = getDirectedRouteSmpHopCount(request, 0);
  setBadMKeyNoticeDrSlid(view, notice, getDirectedRouteSmpDrSlid(request, 0));
  setBadMKeyNoticeIsDirected(view, notice, 1);
  setBadMKeyNoticeHopCount(view, notice, hops);
  setBadMKeyNoticeIsTruncated(view, notice, hops >= BAD_M_KEY_NOTICE_RETURN_PATH_BYTES ? 1 : 0);
  for (let hop = 0; hop < BAD_M_KEY_NOTICE_RETURN_PATH_BYTES && hop <= hops; hop++)
    view.setUint8(
      notice + BAD_M_KEY_NOTICE_RETURN_PATH_OFFSET + hop,
      request.getUint8(DIRECTED_ROUTE_SMP_RETURN_PATH_OFFSET + hop),
    );
}
