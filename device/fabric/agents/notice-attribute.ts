// SPDX-License-Identifier: Apache-2.0
/**
 * The attribute Notice for managers that poll (IBTA 13.4.8.1, 14.2.5.1): the oldest notice of the
 * queue, cleared by a Set with its toggle. The subnet management agent calls the handler.
 */
import { getNoticeToggle } from '../../../protocol/infiniband/mad/gen/notice.gen.ts';
import { MadStatus } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { type AttributeHandler, type AttributeRequest, DATA } from './attribute-request.ts';
import { isSwitch } from './managed-node.ts';
import type { NoticeQueue } from './notice-queue.ts';

function queueOf({ node, arrivalPort, notices }: AttributeRequest): NoticeQueue {
  return notices.of(isSwitch(node) ? 0 : arrivalPort);
}

function getNotice(request: AttributeRequest): MadStatus {
  queueOf(request).write(request.bytes, request.view);
  return MadStatus.SUCCESS;
}

function setNotice(request: AttributeRequest): MadStatus {
  queueOf(request).clear(getNoticeToggle(request.view, DATA));
  return MadStatus.SUCCESS;
}

export const noticeHandler: AttributeHandler = { get: getNotice, set: setNotice };
