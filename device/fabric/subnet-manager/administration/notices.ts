// SPDX-License-Identifier: Apache-2.0
/**
 * Notices that subnet administration issues itself: GIDs that come into service or leave it, groups
 * that are created or deleted (IBTA 14.2.5.1, traps 64 to 67).
 */

import {
  GID_NOTICE_GID_OFFSET,
  GID_NOTICE_SIZE,
  setGidNoticeIsGeneric,
  setGidNoticeIssuerLid,
  setGidNoticeProducerType,
  setGidNoticeTrapNumber,
  setGidNoticeType,
} from '../../../../protocol/infiniband/mad/gen/gid-notice.gen.ts';
import { NoticeType } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { type Gid, writeGidText } from '../guid.ts';

/** Producer type of subnet management itself (IBTA 13.4.8.2). */
const CLASS_MANAGER = 4;

export function gidNotice(trap: number, gid: Gid, issuerLid: number): Uint8Array {
  const notice = new Uint8Array(GID_NOTICE_SIZE);
  const view = viewOf(notice);
  setGidNoticeIsGeneric(view, 0, 1);
  setGidNoticeType(view, 0, NoticeType.SUBNET_MANAGEMENT);
  setGidNoticeProducerType(view, 0, CLASS_MANAGER);
  setGidNoticeTrapNumber(view, 0, trap);
  setGidNoticeIssuerLid(view, 0, issuerLid);
  writeGidText(view, GID_NOTICE_GID_OFFSET, gid);
  return notice;
}
