// SPDX-License-Identifier: Apache-2.0
/**
 * Timeline steps of a launched command: its flags, keys and SGEs (IPCOM000010133D par. 4, "info on
 * command"). `TransmitVirtualLanes` calls it while a timeline is attached.
 */
import { COMMAND_HEADER_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { getRdmaTargetRkey } from '../../../protocol/layout/gen/rdma-target.gen.ts';
import {
  getSendCommandFence,
  getSendCommandInline,
  getSendCommandOpcode,
  getSendCommandSequence,
  getSendCommandSgeAddressHigh,
  getSendCommandSgeAddressLow,
  getSendCommandSgeCount,
  getSendCommandSgeLength,
  getSendCommandSgeLkey,
  getSendCommandSignaled,
  getSendCommandSolicited,
  SEND_COMMAND_TARGET_OFFSET,
} from '../../../protocol/layout/gen/send-command.gen.ts';
import {
  getSgeAddressHigh,
  getSgeAddressLow,
  getSgeLength,
  getSgeLkey,
  SGE_SIZE,
} from '../../../protocol/layout/gen/sge.gen.ts';
import { Step, type Timeline } from '../function/timeline.ts';
import { CommandFlag } from '../function/timeline-values.ts';

/** `view`: the whole command. */
export function noteCommand(timeline: Timeline, functionNumber: number, qpn: number, view: DataView): void {
  const sequence = getSendCommandSequence(view, 0);
  const isInline = getSendCommandInline(view, 0) === 1;
  const count = isInline ? 0 : getSendCommandSgeCount(view, 0);
  const flags =
    (getSendCommandSignaled(view, 0) ? CommandFlag.SIGNALED : 0) |
    (getSendCommandSolicited(view, 0) ? CommandFlag.SOLICITED : 0) |
    (getSendCommandFence(view, 0) ? CommandFlag.FENCE : 0) |
    (isInline ? CommandFlag.INLINE : 0);
  const rkey = getRdmaTargetRkey(view, SEND_COMMAND_TARGET_OFFSET);
  timeline.note(Step.COMMAND, functionNumber, qpn, sequence, getSendCommandOpcode(view, 0), flags, rkey);
  const note = (lkey: number, length: number, low: number, high: number): void =>
    timeline.note(Step.SGE, functionNumber, qpn, sequence, lkey, length, low, high);
  // One element is in the header, several follow it (IBTA 11.4.1.1).
  if (count === 1)
    note(
      getSendCommandSgeLkey(view, 0),
      getSendCommandSgeLength(view, 0),
      getSendCommandSgeAddressLow(view, 0),
      getSendCommandSgeAddressHigh(view, 0),
    );
  if (count < 2 || COMMAND_HEADER_BYTES + count * SGE_SIZE > view.byteLength) return;
  for (let index = 0; index < count; index++) {
    const at = COMMAND_HEADER_BYTES + index * SGE_SIZE;
    note(getSgeLkey(view, at), getSgeLength(view, at), getSgeAddressLow(view, at), getSgeAddressHigh(view, at));
  }
}
