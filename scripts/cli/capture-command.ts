// SPDX-License-Identifier: Apache-2.0
//
// `vuhca capture`: has a running adapter write the packets of its ports to a file for Wireshark, until Ctrl-C, a number of
// packets or a time. The adapter process writes the file; the capture ends with this command, however it ends.

import { resolve } from 'node:path';
import type { CaptureOptions, CaptureProgress } from '../../device/main/capture-file.ts';
import { ControlClient } from '../../device/main/control-client.ts';
import { findOnlyControlPath } from '../../device/main/control-path.ts';
import { SetupError } from '../../qemu/setup/errors.ts';
import type { Arguments, Command } from './command.ts';

/** What to capture, and of which adapter. */
type CaptureRequest = CaptureOptions & { readonly adapter?: string };

const POLL_MS = 100;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export const captureCommand: Command = {
  name: 'capture',
  summary: 'writes the packets of a running adapter to a file for Wireshark',
  operands: '',
  options: {
    output: { type: 'string', value: 'FILE', description: 'The file: pcap with ERF records' },
    control: { type: 'string', value: 'PATH', description: 'The control socket (default: the only running adapter)' },
    count: { type: 'string', value: 'N', description: 'Ends after N packets' },
    seconds: { type: 'string', value: 'S', description: 'Ends after S seconds' },
    adapter: { type: 'string', value: 'NAME', description: 'The adapter, where one process serves several' },
    port: { type: 'string', value: 'N', description: 'Only port 1 or 2' },
    direction: { type: 'string', value: 'sent|received', description: 'Only what ports send, or receive' },
  },
  notes: [
    'A packet from port to port is seen twice: when it is sent and when it is received; --direction=sent gives it once.',
    'Ctrl-C ends the capture. Wireshark and tshark read the file as it is.',
  ],
  run: runCapture,
};

async function runCapture(args: Arguments): Promise<number> {
  const path = resolve(args.required('output'));
  const seconds = args.integer('seconds', 1, 86_400 * 365);
  const options: CaptureRequest = {
    path,
    ...given('count', args.integer('count', 1, Number.MAX_SAFE_INTEGER)),
    ...given('adapter', args.text('adapter')),
    ...given('port', args.integer('port', 1, 2)),
    ...given('direction', args.choice('direction', ['sent', 'received'] as const)),
  };
  const ended = new Promise<void>((done) => {
    for (const signal of SIGNALS) process.once(signal, () => done());
    if (seconds !== undefined) setTimeout(done, seconds * 1000).unref();
  });
  const client = await ControlClient.connect(args.text('control') ?? (await findOnlyControlPath()));
  const capture = await startCapture(client, options);
  process.stderr.write(`capturing to ${path}\n`);
  await Promise.race([ended, capture.whenEnded]);
  const { packets, lost, bytes } = await capture.stop();
  client.close();
  const loss = lost > 0 ? `, ${lost} packets lost because the file could not keep up` : '';
  process.stderr.write(`${packets} packets, ${bytes} bytes in ${path}${loss}\n`);
  return 0;
}

/** A capture in another process. */
export interface RemoteCapture {
  /** Resolves when it ended by itself: its number of packets is reached, or its process ended. */
  readonly whenEnded: Promise<void>;
  /** Ends it and returns once the file is whole. Throws SetupError when it could not be written. */
  stop(): Promise<CaptureProgress>;
}

/** Starts a capture through the control socket; it ends with the connection. */
export async function startCapture(client: ControlClient, options: CaptureRequest): Promise<RemoteCapture> {
  await client.request('capture-start', { ...options });
  let stopped = false;
  const readProgress = async (): Promise<CaptureProgress> => {
    const progress = (await client.request('capture-progress')) as CaptureProgress;
    if (progress.error !== undefined) throw new SetupError(progress.error);
    return progress;
  };
  const whenEnded = (async () => {
    while (!stopped) {
      await new Promise((done) => setTimeout(done, POLL_MS));
      if (stopped || !(await readProgress()).active) return;
    }
  })();
  // Whoever stops the capture hears of its errors.
  whenEnded.catch(() => {});
  const stop = async (): Promise<CaptureProgress> => {
    stopped = true;
    await client.request('capture-stop');
    for (;;) {
      const progress = await readProgress();
      if (progress.closed) return progress;
      await new Promise((done) => setTimeout(done, POLL_MS));
    }
  };
  return { whenEnded, stop };
}

function given<K extends string, T>(name: K, value: T | undefined): { [name in K]?: T } {
  return (value === undefined ? {} : { [name]: value }) as { [name in K]?: T };
}
