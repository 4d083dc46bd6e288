// SPDX-License-Identifier: Apache-2.0
/**
 * The blocks of all documents: each is run by a test, or has a reason why it is not; commands in
 * them and in the text can be parsed; blocks that need no guest and no second program run here.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { readRequest } from '../../device/process/control/control-protocol.ts';
import { defineCommands, makeProgram } from './program.ts';
import { makeDirectory } from './testing/directory.ts';
import { type Block, documents, generated, ROOT, readBlocks, shownBlocks } from './testing/document-blocks.ts';
import { readCommand } from './testing/read-command.ts';
import { readTopologyFile } from './topology/topology-file.ts';

// No bound holds on a busy machine.
t.setTimeout(0);

const blocks = documents.filter((name) => !generated.includes(name)).flatMap(readBlocks);
const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };

function blocksOf(document: string, begins: string): Block[] {
  const found = blocks.filter((block) => block.document === document && block.lines[0].startsWith(begins));
  if (found.length === 0) throw new Error(`${document} has no block that begins with ${begins}`);
  return found;
}

t.test('every block is run by a test, or says why not', async (t) => {
  t.ok(blocks.length > 60, 'the documents have blocks');
  for (const { document, lines } of blocks) {
    const all = shownBlocks.filter((shown) => shown.document === document && lines[0].startsWith(shown.begins));
    t.equal(all.length, 1, `${document}: one row for "${lines[0]}"`);
  }
  for (const { document, begins, by, reason } of shownBlocks) {
    t.ok(
      blocks.some((block) => block.document === document && block.lines[0].startsWith(begins)),
      `${document} still has "${begins}"`,
    );
    if (reason === undefined) t.ok(by !== undefined && existsSync(join(ROOT, by)), `${by} exists`);
  }
});

/** The words of each call of `vuhca` in a line of a shell, without comments. */
function callsIn(line: string): string[][] {
  const text = line.replace(/\s#.*$/, '');
  const inner = [...text.matchAll(/\$\(([^)]*)\)/g)].map(([, call = '']) => call);
  const outer = text.replaceAll(/"?\$\([^)]*\)"?/g, 'OUTPUT').split(/ ; | \| |\s&(?:\s|$)/);
  return [...outer, ...inner].flatMap((part) => {
    const words = part.trim().match(/'[^']*'|"[^"]*"|\S+/g) ?? [];
    const at = words.findIndex((word) => /(?:^|=)(?:scripts\/)?vuhca$/.test(word));
    const before = words.slice(0, Math.max(0, at));
    if (at < 0 || before.some((word) => !/^\w+=|^npx$/.test(word))) return [];
    return [words.slice(at + 1).map((word) => word.replaceAll(/["']/g, ''))];
  });
}

t.test('every call of `vuhca` in a block can be read', async (t) => {
  let count = 0;
  for (const { document, lines } of blocks)
    for (const words of lines.flatMap(callsIn)) {
      count++;
      await readCommand(...words).catch((error) => t.fail(`${document}: vuhca ${words.join(' ')}: ${error.message}`));
    }
  t.ok(count > 50, `${count} calls`);
});

t.test('commands, options and scripts that the text names are there', async (t) => {
  const commands = await defineCommands(makeProgram(async () => {}));
  let count = 0;
  for (const document of documents)
    for (const [, code = ''] of readFileSync(join(ROOT, document), 'utf8').matchAll(/`([^`\n]+)`/g)) {
      const [, script] = /^npm run ([\w:]+)/.exec(code) ?? [];
      if (script !== undefined) t.ok(script in scripts, `${document}: ${code}`);
      const [, name, rest = ''] = /^(?:scripts\/)?vuhca ([a-z]+)\b(.*)$/.exec(code) ?? [];
      if (name === undefined) continue;
      count++;
      const command = commands.find((one) => one.name() === name);
      t.ok(command, `${document}: ${code}`);
      for (const [option] of rest.split(' -- ', 1)[0].matchAll(/--[a-z][a-z-]*/g))
        t.ok(option === '--help' || command?.options.some(({ long }) => long === option), `${document}: ${code}`);
    }
  t.ok(count > 50, `${count} calls`);
});

t.test('files that the text names by their paths are there', async (t) => {
  const path = /`((?:device|docs|guest-tests|protocol|qemu|scripts)\/[\w./-]+\.(?:ts|mjs|c|h|sh|md|json))`/g;
  for (const document of documents)
    for (const [, file] of readFileSync(join(ROOT, document), 'utf8').matchAll(path))
      t.ok(existsSync(join(ROOT, file)), `${document}: ${file}`);
});

t.test('topologies of the documents', async (t) => {
  const file = join(makeDirectory(t), 'x.json');
  const texts = blocksOf('docs/TOPOLOGY.md', '{').flatMap(({ lines }) =>
    lines.every((line) => line.startsWith('{ ')) ? lines : [lines.join('\n')],
  );
  const [tree] = blocksOf('docs/FABRIC.md', 'echo ')[0].lines[0].match(/\{.*\}/) ?? [];
  t.equal(texts.length, 6);
  for (const text of [...texts, tree ?? '']) {
    writeFileSync(file, text);
    t.doesNotThrow(() => readTopologyFile(file), text);
  }
  t.match(readTopologyFile(file), { subnet: 'external' }, 'opensm is not kept out of its own fabric');
});

t.test('requests of the control socket, and of resources', async (t) => {
  const [line] = blocksOf('docs/DEBUGGING.md', '{"version":1')[0].lines;
  t.match(readRequest(line), { command: 'status' });
  const [, printed = ''] = /'(.*)\\n'/.exec(blocksOf('docs/verbs/PERSONALITIES.md', 'printf ')[0].lines[0]) ?? [];
  t.match(readRequest(printed), { command: 'inject', parameters: { words: ['fatal', 'cause=parity'] } });
});

t.test('the tests that docs/COMPLIANCE.md runs are called as it says', async (t) => {
  const text = readFileSync(join(ROOT, 'docs/COMPLIANCE.md'), 'utf8');
  const [, paths = ''] = /^\| two guests .*`npx tap --disable-coverage (.*)` \|$/m.exec(text) ?? [];
  const titles = paths.split(' ').flatMap((path) => {
    const found = readFileSync(join(ROOT, path), 'utf8').matchAll(/^t\.test\('(.*?)'/gm);
    return [...found].map(([, title], index) => `ok ${index + 1} - ${title}`);
  });
  t.same(blocksOf('docs/COMPLIANCE.md', 'ok 1 - two adapters')[0].lines, titles);
});

t.test('the search for a hazard finds its test', async (t) => {
  const [line] = blocksOf('docs/HAZARDS.md', 'grep ')[0].lines;
  const { status, stdout } = spawnSync('sh', ['-c', line], { cwd: ROOT, encoding: 'utf8' });
  t.equal(status, 0);
  t.match(stdout, /\.test\.ts:\d+:.*hazard 14/);
});
