// SPDX-License-Identifier: Apache-2.0
/**
 * A device that takes no further request after a write: all later requests wait, even those of the
 * same receive, and are handled in order when the device takes requests again (0012-*.patch).
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { msix } from './capabilities.ts';
import { COMMAND, concat, encodeMessage, FLAG, pack } from './client/wire.ts';
import { VfioUserContext } from './context.ts';
import { loadLibrary } from './library.ts';
import type { LogTarget } from './log.ts';
import { Pump } from './pump.ts';
import { libraryPath } from './test-support/library.ts';
import { PostingClient, until } from './test-support/posting-client.ts';

const silent: LogTarget = { level: 'error', debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
const BLOCKING = 8;
const CONFIG_REGION = 7;

/**
 * A device with one BAR; the value written to its third register is the number of refusals that
 * follow.
 */
async function start(t: Test) {
  const directory = mkdtempSync(join(tmpdir(), 'vfu-gate-'));
  const seen: string[] = [];
  const gate = { refusals: 0, refused: 0 };
  const context = new VfioUserContext(loadLibrary(libraryPath()), {
    socketPath: join(directory, 'a'),
    log: silent,
    ids: { vendor: 0x1234, device: 1, revision: 0, classCode: 0xff0000, subsystemVendor: 0, subsystem: 0 },
    bars: [
      {
        index: 0,
        sizeBytes: 4096,
        handler: {
          read: (offset, _size, data) => {
            seen.push(`r${offset}`);
            data.setUint32(0, seen.length, true);
          },
          write: (offset, _size, data) => {
            seen.push(`w${data.getUint32(0, true)}`);
            if (offset === BLOCKING) gate.refusals = data.getUint32(0, true);
          },
        },
      },
    ],
    capabilities: [msix({ vectors: 1, tableBar: 0, tableOffset: 0x800, pbaBar: 0, pbaOffset: 0xc00 })],
    callbacks: {
      reset: (kind) => seen.push(kind),
      takesRequest: () => {
        if (gate.refusals === 0) return true;
        gate.refusals--;
        gate.refused++;
        return false;
      },
    },
  });
  const pump = new Pump();
  pump.add(context);
  pump.start();
  const client = new PostingClient(context);
  t.teardown(() => {
    pump.destroy();
    client.close();
    rmSync(directory, { recursive: true });
  });
  await client.attach(context, () => false);
  return { client, seen, gate };
}

const write = (offset: number, value: number): Uint8Array =>
  encodeMessage(0, COMMAND.regionWrite, concat(pack('qww', offset, 0, 4), pack('w', value)), FLAG.noReply);
const read = (offset: number): Uint8Array => encodeMessage(0, COMMAND.regionRead, pack('qww', offset, 0, 4), 0);
const readConfig = encodeMessage(0, COMMAND.regionRead, pack('qww', 0, CONFIG_REGION, 4), 0);
const reset = encodeMessage(0, COMMAND.reset, new Uint8Array(0), 0);

t.test('what one send brings behind the write waits, of whatever kind, and stays in order', async (t) => {
  const { client, seen, gate } = await start(t);
  const many = 0x7fff_ffff;
  const batch = [write(0, 1), read(4), write(BLOCKING, many), read(4), readConfig, write(0, 3), reset, read(0)];
  client.client.socket.send(concat(...batch));
  await until(() => gate.refused > 20);
  t.same(seen, ['w1', 'r4', `w${many}`], 'and nothing more, however often the device was asked');
  gate.refusals = 0;
  await until(() => seen.includes('r0'));
  t.same(seen, ['w1', 'r4', `w${many}`, 'r4', 'w3', 'device', 'r0']);
  t.same(
    [1, 2, 3, 4, 5].map(() => client.client.receiveReply().header.command),
    [COMMAND.regionRead, COMMAND.regionRead, COMMAND.regionRead, COMMAND.reset, COMMAND.regionRead],
  );
});

t.test('after any number of refusals the rest of a batch is handled, although no descriptor says so', async (t) => {
  const { client, seen, gate } = await start(t);
  for (let refusals = 1; refusals <= 40; refusals++) {
    seen.length = 0;
    gate.refused = 0;
    client.client.socket.send(concat(write(BLOCKING, refusals), read(4)));
    await until(() => seen.length === 2);
    t.same([seen, gate.refused], [[`w${refusals}`, 'r4'], refusals]);
    client.client.receiveReply();
  }
});
