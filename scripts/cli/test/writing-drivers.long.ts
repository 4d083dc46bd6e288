// SPDX-License-Identifier: Apache-2.0
/**
 * The promises of docs/WRITING-DRIVERS.md: its programs are extracted and tested by its commands,
 * and each of its eleven questions has a command that runs.
 */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { runCli } from '../testing/run-cli.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const text = readFileSync(join(ROOT, 'docs/WRITING-DRIVERS.md'), 'utf8');
/** The driver of the questions that need no other. */
const EXAMPLE = 'guest-tests/example';
t.setTimeout(0);

/** The first block of code of a language after `place`. */
function block(place: string, language: string): string {
  const found = text.slice(text.indexOf(place)).match(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 's'));
  if (found === null) throw new Error(`no block of ${language} behind "${place}"`);
  return found[1] as string;
}

/** The words of the commands in the table. */
const commands = [...text.matchAll(/^\| .* \| `scripts\/vuhca (.*)` \|$/gm)].map(([, words]) =>
  (words as string).split(' '),
);

t.test('the eleven questions', { jobs: 2 }, async (t) => {
  t.equal(commands.length, 11);
  const folder = t.testdir({ mytool: '#!/bin/sh\necho tool\n' });
  chmodSync(join(folder, 'mytool'), 0o755);
  for (const name of ['mydriver', 'mytest']) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'Kbuild'), block(`\`${name}/Kbuild\``, 'make'));
    writeFileSync(join(folder, name, `${name}.c`), block(`\`${name}/${name}.c\``, 'c'));
  }
  const scripts = {
    mydriver: block('`test.sh` runs in the guest', 'sh'),
    vuhca: 'mytool | grep -q tool\n',
    case: 'insmod /modules/vuhca_traffic.ko; sleep 1; rmmod vuhca_traffic; echo bye\n',
  };
  const own = (word: string, script: string): string => {
    if (word === 'test.sh') return script;
    if (word.startsWith('mytool:')) return join(folder, word);
    if (word === 'results.xml') return join(folder, word);
    return word.startsWith('guest-tests/') ? join(ROOT, word) : /^my/.test(word) ? join(folder, word) : word;
  };
  for (const words of commands) {
    // Another command does all of this and more.
    if (words.join(' ') === `test ${EXAMPLE}`) {
      t.ok(commands.some((other) => other.join(' ').startsWith(`test ${EXAMPLE} --junit`)));
      continue;
    }
    // A shell and a debugger wait for a user; other tests run them.
    if (words.includes('--debug') || (words[0] === 'run' && !words.includes('--case'))) continue;
    t.test(words.join(' '), async (t) => {
      const script = join(t.testdir({}), 'test.sh');
      const kind = words[0] === 'run' ? 'case' : words.includes('vuhca') ? 'vuhca' : 'mydriver';
      writeFileSync(script, scripts[kind]);
      const { status, stdout, stderr } = await runCli(words.map((word) => own(word, script)));
      t.equal(status, 0, stdout + stderr);
      if (words[0] === 'test') t.match(stdout, /^passed: .* 0 failed/m);
      if (words.includes('--adapters')) t.match(stdout, /ok +bind skeleton( {1,2}0000:0[1-4]:00\.0){4}/);
      const junit = join(folder, 'results.xml');
      if (words.includes('--junit'))
        t.match(readFileSync(junit, 'utf8'), /<testsuite name=".*" .*tests="6" failures="0"/);
      if (words.includes('mytest')) t.match(stdout, /ok +message/, 'the module printed its result');
    });
  }
});

t.test('a message without our driver', async (t) => {
  t.match(text, '\n    scripts/vuhca test --driver guest-tests/example-send\n');
  const { status, stdout, stderr } = await runCli(['test', '--driver', join(ROOT, 'guest-tests/example-send')]);
  t.equal(status, 0, stdout + stderr);
  t.match(stdout, /ok +send\n/, 'the message arrived');
});
