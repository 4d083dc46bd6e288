// SPDX-License-Identifier: Apache-2.0
/**
 * The paragraphs that rule each unit of the picture, with their topics, as docs/DOCUMENTS.md has
 * them: a reader of the page needs neither network nor repository. citations.test.ts compares them.
 */

export interface Citation {
  /** As documents cite it: `US 8,484,392 par. 48`. */
  readonly source: string;
  readonly paragraphs: readonly CitedParagraph[];
}

interface CitedParagraph {
  /** First cell of the row of docs/DOCUMENTS.md, and its topic. */
  readonly paragraph: string;
  readonly topic: string;
}

const QUALITY = 'US 8,484,392';
const DOORBELLS = 'US 9,069,485';
const INTERRUPTS = 'IPCOM000126453D';
const CREDITS = 'US 2015/0378953';

export const citations = {
  collect: cite(
    QUALITY,
    ['48', 'PCB: storage of one command'],
    ['56', 'binding of VCB and PCB, exclusive both ways'],
    ['96', 'search for a PCB: level, function, all'],
  ),
  doorbells: cite(
    DOORBELLS,
    ['67', 'into the scheduler buffer; full means back-pressure, so free entries are watched'],
    ['86-88', 'take QP and sequence number, write them to the overflow buffer, discard the doorbell'],
    ['92', 'thresholds set by software or adapted; below them, go on spilling'],
  ),
  scheduler: cite(
    QUALITY,
    ['34', 'send queue scheduler'],
    ['102-107', 'the scheduler reads queued commands into dedicated PCBs, oldest first'],
  ),
  lanes: cite(
    QUALITY,
    ['42', 'execution credit: held while a command executes'],
    ['43', 'completion credit: held until sent, acknowledged or failed'],
    ['44', 'credits shared by lanes'],
    ['45-46', 'virtual kick list: first in, first out; the kick; command identifiers'],
  ),
  transport: cite(
    QUALITY,
    ['39', 'stages: take, fetch, check, build packets, send'],
    ['40', 'completion list: messages held until acknowledged or failed'],
  ),
  completions: cite(INTERRUPTS, [
    '2',
    'completion event counter: how many CQs of the EQ have their EQ pending bit set',
  ]),
  events: cite(
    INTERRUPTS,
    ['1', 'no running timer: each EQ has a delay and a time stamp; a local time register unrelated to the time of day'],
    [
      '4',
      'EQ not empty and the stamp passed: the driver is late; new stamp, interrupt under any control (the public text ends here; decision 8)',
    ],
  ),
  contexts: cite(
    CREDITS,
    ['claim 1 (receiving)', 'blocks are filled in any order'],
    [
      'abstract; claim 1 (detecting, returning)',
      'credits return for the run of free slots from the lowest one not yet returned',
    ],
  ),
  ports: cite(QUALITY, ['27-28', 'the adapter and its ports, 1 to 4']),
  driver: { source: 'docs/verbs/PERSONALITIES.md', paragraphs: [] },
} as const satisfies Record<string, Citation>;

function cite(document: string, ...rows: readonly (readonly [paragraph: string, topic: string])[]): Citation {
  const named = document.startsWith('US 2015') ? 'claim 1' : `par. ${rows.map(([paragraph]) => paragraph).join(', ')}`;
  return { source: `${document} ${named}`, paragraphs: rows.map(([paragraph, topic]) => ({ paragraph, topic })) };
}
