// SPDX-License-Identifier: Apache-2.0
/** Rate limit of the library's log. */
import t from 'tap';
import { RateLimitedLog } from './log.ts';

t.test('a burst passes, then a few lines per second, and the log counts the suppressed ones', async (t) => {
  const lines: string[] = [];
  const line = (fields: object, message: string) => lines.push(`${message} ${JSON.stringify(fields)}`);
  let nowMs = 1000;
  const target = { level: 'debug', debug: line, info: line, warn: line, error: line };
  const log = new RateLimitedLog(target, { socket: 'x' }, () => nowMs);
  for (let i = 0; i < 1000; i++) log.write(3, 'refused');
  t.equal(lines.length, 40);
  nowMs += 1000;
  for (let i = 0; i < 1000; i++) log.write(3, 'refused');
  t.equal(lines.length, 40 + 1 + 5);
  t.match(lines[40], /suppressed by the rate limit.*"suppressed":960/);
  nowMs += 100_000;
  for (let i = 0; i < 41; i++) log.write(6, 'later');
  t.equal(lines.filter((text) => text.startsWith('later')).length, 40);
  t.equal(log.suppressedTotal, 960 + 995 + 1);
});

t.test('levels', async (t) => {
  const seen: string[] = [];
  const target = {
    level: 'info',
    debug: () => seen.push('debug'),
    info: () => seen.push('info'),
    warn: () => seen.push('warn'),
    error: () => seen.push('error'),
  };
  const log = new RateLimitedLog(target, {});
  for (const level of [0, 3, 4, 5, 6, 7]) log.write(level, 'line');
  t.same(seen, ['error', 'error', 'warn', 'info', 'info', 'debug']);
  const levels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'].map(
    (level) => new RateLimitedLog({ ...target, level }, {}).syslogLevel,
  );
  t.same(levels, [7, 7, 6, 4, 3, 3]);
});

t.test('lines about an unmapping of nothing appear at level debug only, and displace no others', async (t) => {
  const ordinary = [
    [4, 'failed to remove DMA region [0, 0x80000000) flags=0: No such file or directory'],
    [3, 'msg0x6f3: cmd 3 failed: No such file or directory'],
  ] as const;
  const real = [
    [4, 'failed to remove DMA region [0, 0x1000) flags=0: Device or resource busy'],
    [3, 'msg0x6f3: cmd 3 failed: Invalid argument'],
    [3, 'msg0x1: cmd 2 failed: No such file or directory'],
  ] as const;
  for (const level of ['info', 'debug']) {
    const seen: string[] = [];
    const note = (of: string) => (_: object, message: string) => seen.push(`${of}: ${message}`);
    const target = { level, debug: note('debug'), info: note('info'), warn: note('warn'), error: note('error') };
    const log = new RateLimitedLog(target, {}, () => 0);
    const rounds = level === 'info' ? 100 : 1;
    for (let i = 0; i < rounds; i++) for (const [severity, message] of ordinary) log.write(severity, message);
    t.same(seen, level === 'info' ? [] : ordinary.map(([, message]) => `debug: ${message}`));
    for (const [severity, message] of real) log.write(severity, message);
    t.equal(seen.filter((text) => /^(warn|error): /.test(text)).length, real.length, level);
  }
});
