// SPDX-License-Identifier: Apache-2.0
/** Files of commands, and the log, on disks that are full. */
import { execFileSync } from 'node:child_process';
import { closeSync, constants, existsSync, openSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { makeLineWriter } from '../session/log.ts';
import { makeDirectory } from '../testing/directory.ts';
import { nothing, wholeLines, writeOutput } from './write-output.ts';

t.test('a file is written, or a sentence says what is kept', async (t) => {
  const path = join(makeDirectory(t), 'x');
  writeOutput('the text', path, 'one\ntwo\n', wholeLines);
  t.equal(readFileSync(path, 'utf8'), 'one\ntwo\n');
  t.throws(() => writeOutput('the text', '/nonexistent/x', 'one', nothing), {
    message: /^the text cannot be written \(ENOENT\): it does not exist, or its folder does not; /,
  });
  t.throws(() => writeOutput('the text', '/dev/full', 'one\n', wholeLines), {
    message: /^the text ends with the first 0 of its 4 bytes: it cannot be .* \(ENOSPC\): the disk is full; /,
  });
  t.notOk(existsSync('/nonexistent'));
});

t.test('the usable part of a text', async (t) => {
  const text = Buffer.from('one\ntwo\nthree');
  t.same(
    [0, 3, 4, 7, 8, 13].map((end) => wholeLines(text, end)),
    [0, 0, 4, 4, 8, 8],
  );
  t.equal(nothing(text, 13), 0);
});

t.test('a log that loses lines says so once it is written again', async (t) => {
  const path = join(makeDirectory(t), 'fifo');
  execFileSync('mkfifo', [path]);
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  t.teardown(() => closeSync(writer));
  const write = makeLineWriter(writer);
  const line = `${'x'.repeat(4095)}\n`;
  for (let i = 0; i < 20; i++) write(line);
  const text = execFileSync('head', ['-c', '65536'], { stdio: [reader, 'pipe', 'ignore'] }).toString();
  t.equal(text.length, 65536, 'what fits the pipe');
  write('again\n');
  const rest = execFileSync('head', ['-n', '2'], { stdio: [reader, 'pipe', 'ignore'] }).toString();
  t.equal(rest, '4 lines of this log are lost (EAGAIN)\nagain\n');
  closeSync(reader);
  for (let i = 0; i < 3; i++) write(line);
  t.pass('nobody reads any more');
});

t.test('a log waits for no reader of its pipe, and a line that was cut goes on', async (t) => {
  const path = join(makeDirectory(t), 'fifo');
  execFileSync('mkfifo', [path]);
  // Its writes wait; a reader that does not read is one of the two ends that it opens.
  const both = openSync(path, constants.O_RDWR);
  t.teardown(() => closeSync(both));
  const write = makeLineWriter(both);
  const long = `${'y'.repeat(100_000)}\n`;
  write(long);
  for (let i = 0; i < 20; i++) write('x\n');
  let text = '';
  const read = (): void => {
    const bytes = Buffer.alloc(1 << 16);
    text += bytes.toString('utf8', 0, readSync(both, bytes));
  };
  read();
  write('again\n');
  read();
  write('and again\n');
  read();
  t.ok(text.startsWith(long), 'the whole line');
  t.equal(text.slice(long.length), '20 lines of this log are lost (EAGAIN)\nagain\nand again\n');
});
