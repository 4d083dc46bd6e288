// SPDX-License-Identifier: Apache-2.0
/**
 * The blocks of the documents, fenced or indented, and the evidence that each is right: a test that
 * runs it, or the reason why none can. documents.test.ts checks both.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** A block of a document. */
export interface Block {
  readonly document: string;
  /** Language of a fenced block; `text` for an indented one. */
  readonly language: string;
  readonly lines: readonly string[];
}

/** Paths of all documents, relative to the repository. */
export const documents = [
  'README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`)
    .sort(),
];

/** All blocks of a document, without those that are pictures. */
export function readBlocks(document: string): Block[] {
  const blocks: Block[] = [];
  let fence: string | undefined;
  let lines: string[] = [];
  const close = (language: string): void => {
    if (lines.length > 0 && language !== 'mermaid') blocks.push({ document, language, lines });
    lines = [];
  };
  let before = '';
  for (const line of readFileSync(join(ROOT, document), 'utf8').split('\n')) {
    const [, mark] = /^```(\w*)$/.exec(line) ?? [];
    if (mark !== undefined) {
      close(fence ?? 'text');
      fence = fence === undefined ? mark : undefined;
    } else if (fence !== undefined) lines.push(line);
    else if (line.startsWith('    ') && (lines.length > 0 || before === '')) lines.push(line.slice(4));
    else close('text');
    before = line;
  }
  close('text');
  return blocks;
}

/**
 * The lines of each block of a document whose first line begins with this text. Throws when there
 * is none.
 */
export function blocksOf(document: string, begins: string): (readonly string[])[] {
  const found = readBlocks(document).filter(({ lines: [first] }) => first.startsWith(begins));
  if (found.length === 0) throw new Error(`${document} does not say \`${begins}\` any more`);
  return found.map(({ lines }) => lines);
}

/** The same for blocks of commands, without their comments. */
export function commandBlocksOf(document: string, begins: string): string[][] {
  return blocksOf(document, begins).map((lines) => lines.map((line) => line.replace(/\s+#.*$/, '')));
}

/** The evidence that a block is right. */
export interface Shown {
  readonly document: string;
  /** Beginning of the block's first line. */
  readonly begins: string;
  /** The file that runs it, relative to the repository. */
  readonly by?: string;
  /** Reason why nothing runs it. */
  readonly reason?: string;
}

const cli = (name: string): string => `scripts/cli/${name}`;
const FABRIC = 'scripts/fabric/document.long.ts';
const HERE = cli('documents.test.ts');
const COMMANDS = cli('document-commands.long.ts');
const OUTPUTS = cli('document-outputs.long.ts');
const CLUSTER = cli('cluster/cluster-document.long.ts');
const VERBS_PROGRAM = cli('run/verbs-program.long.ts');

const rows: Readonly<Record<string, readonly (readonly [begins: string, by: string | { readonly reason: string }])[]>> =
  {
    'README.md': [
      ['  guest (QEMU, unmodified)', { reason: 'a picture' }],
      ['npm start ', 'scripts/start/start.test.ts'],
      ['  0.5 s  set-up', 'scripts/start/start.test.ts'],
      ['npm install ', 'scripts/package/installed.long.ts'],
      ['scripts/vuhca view ', COMMANDS],
      ['scripts/vuhca run --record', cli('readme.test.ts')],
      ['npm run debug', cli('debugger/breakpoint.long.ts')],
      ['scripts/vuhca test guest-tests/example', cli('test/test-command.test.ts')],
      ['   4.1 s  ok      load skeleton', cli('test/test-command.test.ts')],
      ['scripts/vuhca run --kernel', cli('readme.long.ts')],
      ['scripts/vuhca run --personality', cli('readme.test.ts')],
      ['scripts/vuhca cluster ', CLUSTER],
      ['scripts/vuhca run --link', cli('readme.test.ts')],
      ['scripts/vuhca device --socket PATH', COMMANDS],
      ['scripts/vuhca device --topology', cli('readme.test.ts')],
    ],
    'docs/CLUSTER.md': [
      ['scripts/vuhca cluster ', CLUSTER],
      ['echo ', CLUSTER],
      ['export ', CLUSTER],
      ['{', CLUSTER],
      ['#!/bin/sh', CLUSTER],
    ],
    'docs/COMPLIANCE.md': [
      ['N of N statements', '.ci/run'],
      ['10000 seeds in', OUTPUTS],
      ['9750000 packets', OUTPUTS],
      ['ok 1 - two adapters', HERE],
      ['scenario ', OUTPUTS],
    ],
    'docs/CONTRIBUTING.md': [
      ['trace: clear PSN', { reason: 'the message of a commit' }],
      ['Records are reused', { reason: 'the message of a commit' }],
    ],
    'docs/DEBUGGING.md': [
      ['scripts/vuhca trace on', cli('trace/trace-command.test.ts')],
      ['scripts/vuhca break', cli('debugger/break-command.long.ts')],
      ['Tell gdb:', cli('debugger/driver-debugging.long.ts')],
      ["gdb -ex 'set architecture i386:x86-64' -ex 'add-symbol-file ...'", cli('debugger/driver-debugging.long.ts')],
      ['#!/bin/sh', cli('debugger/stock-debugging.long.ts')],
      ['scripts/vuhca test --personality mthca', cli('debugger/stock-debugging.long.ts')],
      ['scripts/vuhca setup symbols', cli('debugger/stock-debugging.long.ts')],
      ["gdb -ex 'set architecture i386:x86-64' -ex 'file VMLINUX'", cli('debugger/stock-debugging.long.ts')],
      ['scripts/vuhca run --record', cli('commands/replay-command.test.ts')],
      ['{"version":1', HERE],
      ['vuhca explain', COMMANDS],
    ],
    'docs/FABRIC.md': [
      ['scripts/vuhca device --socket /tmp/vuhca.sock --ibsim', FABRIC],
      ['tools=', FABRIC],
      ['SIM_HOST=a:1', FABRIC],
      ['export SIM_HOST', FABRIC],
      ['scripts/vuhca fabric', FABRIC],
      ['echo ', FABRIC],
      ['scripts/vuhca capture', FABRIC],
      ['scripts/vuhca device --socket /tmp/vuhca.sock --fabric', FABRIC],
      ['scripts/vuhca device --socket /tmp/vuhca.sock --functions', FABRIC],
    ],
    'docs/FEATURES.md': [["echo 'function 1 vcbs 25", 'guest-tests/cases/shares.sh']],
    'docs/verbs/FOREIGN.md': [
      [
        'npm run test:foreign',
        { reason: 'takes hours; vuhca.long.ts, mthca.long.ts and mlx5.long.ts of scripts/foreign run parts of it' },
      ],
    ],
    'docs/HAZARDS.md': [
      ['grep ', HERE],
      ['node --import', 'guest-tests/guest-variants.long.ts'],
    ],
    'docs/verbs/PERSONALITIES.md': [
      ['scripts/vuhca device', COMMANDS],
      ['scripts/vuhca run --personality mlx5 --distribution', cli('readme.test.ts')],
      ['scripts/vuhca run --personality mthca --disk', cli('run/disk-image.long.ts')],
      ['printf ', HERE],
    ],
    'docs/TOPOLOGY.md': [
      ['scripts/vuhca device --socket a.sock', COMMANDS],
      ['(umask 077', COMMANDS],
      ['scripts/vuhca link', COMMANDS],
      ['{', HERE],
    ],
    'docs/TESTING.md': [['npm run simulate -- chaos --seeds 10000', 'scripts/test-runner/shards.long.ts']],
    'docs/verbs/README.md': [
      ['vuhca run --distribution   ', cli('readme.test.ts')],
      ['vuhca run --distribution --packages', HERE],
      ['vuhca run --personality mlx5 --functions 2', cli('run/packages.long.ts')],
    ],
    'docs/verbs/VERBS.md': [['vuhca run --distribution', 'guest-tests/provider-valgrind.long.ts']],
    'docs/verbs/VERBS-PROGRAM.md': [
      ['#include', VERBS_PROGRAM],
      ['gcc ', VERBS_PROGRAM],
      ['{', VERBS_PROGRAM],
      ['write-imm', VERBS_PROGRAM],
      ['until ', VERBS_PROGRAM],
      ['scripts/vuhca run', VERBS_PROGRAM],
    ],
    'docs/VIEW.md': [['scripts/vuhca device --socket PATH --stepwise', COMMANDS]],
    'docs/WRITING-DRIVERS.md': [
      ['obj-m := ', cli('test/writing-drivers.long.ts')],
      ['#include', cli('test/writing-drivers.long.ts')],
      ['dmesg ', cli('test/writing-drivers.long.ts')],
      ['scripts/vuhca test', cli('test/writing-drivers.long.ts')],
      ['again: vuhca test', cli('test/test-command.long.ts')],
    ],
  };

/** Documents whose blocks a program writes: `npm run check -- generated` compares them. */
export const generated = ['docs/DRIVER-API.md', 'docs/PERFORMANCE.md'];

export const shownBlocks: readonly Shown[] = Object.entries(rows).flatMap(([document, all]) =>
  all.map(([begins, by]) => ({ document, begins, ...(typeof by === 'string' ? { by } : by) })),
);
