// SPDX-License-Identifier: Apache-2.0
/**
 * A guest whose system sleeps, and the host that wakes it: in the guest `adapter wake memory` or
 * `adapter wake idle` precedes the sleep. The host sees when the guest sleeps, so nothing depends
 * on time. `adapter answers` asks whether the adapter still works. Called by suspend.long.ts.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { ControlClient } from '../device/process/control/control-client.ts';
import type { Guest } from '../qemu/guest.ts';
import type { GuestRunOptions } from './harness/guest-run.ts';

const POLL_MS = 100;
/**
 * An emulated processor takes longer to compress an image of memory than to write it. A self test
 * would keep a processor busy for 5 s.
 */
const APPEND = 'hibernate=nocompress suspend.pm_test_delay=0';

/** The options of such a run. `extra`: further arguments of QEMU. */
export function makeSleepOptions(extra: readonly string[] = []): GuestRunOptions {
  let guest: Guest | undefined;
  let client: ControlClient | undefined;
  return {
    guest: { sleeps: true, append: APPEND, extraArguments: extra },
    onDevice: async ({ child }) => {
      client = await ControlClient.connect(child.controlPath);
    },
    onGuest: (started) => {
      guest = started;
    },
    // A port that stayed open over a sleep takes no more input, so init.sh would wait forever.
    onReport: (line) => {
      if (line.startsWith('@vuhca exit ')) guest?.qmp.execute('quit').catch(() => {});
    },
    onGuestEnd: async () => {
      client?.close();
      return [];
    },
    answer: async ([command, from]) => {
      if (guest === undefined || client === undefined) throw new Error('nothing runs yet');
      if (command === 'answers') {
        await client.request('status');
        return '';
      }
      if (command !== 'wake') throw new Error(`no request ${command}; there are wake and answers`);
      if (from === 'memory') wakeFromMemory(guest);
      // An adapter that dies meanwhile is a fault of the run.
      else if (from === 'idle') wakeFromIdle(guest, client).catch(() => {});
      else throw new Error(`it sleeps in memory or idle, not ${from}`);
      return '';
    },
  };
}

/** A guest that ends before it sleeps needs no wake-up. */
function wakeFromMemory({ qmp }: Guest): void {
  qmp.waitForEvent('SUSPEND').then(
    () => qmp.execute('system_wakeup'),
    () => {},
  );
}

/**
 * QEMU does not know when a guest is idle, but the last step of Linux before that takes devices to
 * D3hot. A button that is pressed earlier would keep the guest awake. After a sleep in memory the
 * button no longer wakes a guest, so the idle sleep must come first.
 */
async function wakeFromIdle({ qmp, whenExited }: Guest, client: ControlClient): Promise<void> {
  let ended = false;
  void whenExited.then(() => {
    ended = true;
  });
  const becomes = async (inD0: boolean, meanwhile: () => Promise<unknown>): Promise<void> => {
    while (!ended && (await isInD0(client)) !== inD0) {
      await meanwhile();
      await delay(POLL_MS);
    }
  };
  await becomes(false, async () => {});
  await becomes(true, () => qmp.execute('system_powerdown').catch(() => {}));
}

async function isInD0(client: ControlClient): Promise<boolean> {
  const { adapters, personalities } = await client.request('status');
  return [...adapters, ...personalities].some(({ sockets }) => sockets.some(({ inD0 }) => inD0));
}
