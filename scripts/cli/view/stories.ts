// SPDX-License-Identifier: Apache-2.0
/**
 * The stories of the messages of a queue pair, for the page of `vuhca view`: the text of `vuhca
 * trace show` for each, and the events of its ladder. Made from the traces of all adapters that
 * were read, so both ends appear when both are traced. Pure; sources of both kinds call it.
 */
import type { AdapterTrace, MessageEnd } from '../../../device/hca/trace/adapter-trace.ts';
import { CompletionStatus, completionStatusName } from '../../../protocol/layout/gen/values.gen.ts';
import { makeLadder } from '../trace/ladder.ts';
import { chooseMessages } from '../trace/message-choice.ts';
import { renderMessage } from '../trace/trace-screen.ts';
import type { Story, StoryList, StoryQuery } from './view-protocol.ts';
import { ViewRefusal } from './view-source.ts';

/** Bounds of one answer, which has the newest messages that fit. */
const storyBounds = { stories: 32, packets: 4000 };

export function listStories(all: readonly AdapterTrace[], { adapter: name, qp }: StoryQuery): StoryList {
  const adapter = all.find((one) => (one.ownName ?? one.name) === name);
  if (adapter === undefined) throw new ViewRefusal('unknown', `there is no adapter ${name}`);
  const traced = adapter.queuePairs.filter((one) => one.traced).map((one) => one.qp);
  const told = adapter.messages.map(({ block }) => block.qpn);
  const queuePairs = [...new Set([...traced, ...told])].sort((one, other) => one - other);
  const stories = tellNewest(chooseMessages(all, { adapter: name, qp: [qp] }), all);
  const reason = stories.length > 0 ? undefined : explainNone(name, qp, queuePairs);
  return { queuePairs, stories, ...(reason !== undefined && { reason }) };
}

/** In the order of time. */
function tellNewest(ends: readonly MessageEnd[], all: readonly AdapterTrace[]): Story[] {
  const stories: Story[] = [];
  let packets = 0;
  for (const end of ends.toReversed()) {
    const story = tell(end, all);
    packets += story.packets.length;
    const isTooMuch = stories.length === storyBounds.stories || packets > storyBounds.packets;
    if (isTooMuch && stories.length > 0) break;
    stories.unshift(story);
  }
  return stories;
}

function tell(end: MessageEnd, all: readonly AdapterTrace[]): Story {
  const ladder = makeLadder(end, all);
  return { ...ladder, outcome: describeOutcome(end), lines: renderMessage(end, all).trimEnd().split('\n') };
}

function describeOutcome({ message: { block } }: MessageEnd): string {
  if (block.complete === 0) return 'under way';
  return block.status === CompletionStatus.SUCCESS ? 'completed' : `failed: ${completionStatusName(block.status)}`;
}

function explainNone(name: string, qp: number, queuePairs: readonly number[]): string {
  if (queuePairs.includes(qp)) return `QP ${qp} is traced, and has had no message since`;
  return `QP ${qp} is not traced: \`vuhca trace on --adapter ${name} --qp ${qp} --timeline\` traces its next messages`;
}
