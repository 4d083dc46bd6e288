// SPDX-License-Identifier: Apache-2.0
/**
 * A capture in the process of a running adapter, controlled through its control socket. That
 * process writes the file; the capture ends with the connection. Called by `vuhca capture` and by
 * sessions with a capture.
 */
import type { CaptureOptions, CaptureProgress } from '../../device/main/capture-file.ts';
import { ControlClient } from '../../device/main/control-client.ts';

/** The packets to capture, and the adapter. */
export type CaptureRequest = CaptureOptions & { readonly adapter?: string };

const POLL_MS = 100;

/** A capture in another process. */
export interface RemoteCapture {
  /** Resolves when it ended by itself: its number of packets is reached, or its process ended. */
  readonly whenEnded: Promise<void>;
  /** Ends it and returns once the file is closed; `early` of the progress says what is missing. */
  stop(): Promise<CaptureProgress>;
}

/** Captures what the process with that control socket sends and receives, until `stop`. */
export async function captureFrom(controlPath: string, options: CaptureRequest): Promise<RemoteCapture> {
  const client = await ControlClient.connect(controlPath);
  const { whenEnded, stop } = await startCapture(client, options);
  return { whenEnded, stop: () => stop().finally(() => client.close()) };
}

/** Starts a capture through the control socket; it ends with the connection. */
export async function startCapture(client: ControlClient, options: CaptureRequest): Promise<RemoteCapture> {
  await client.request('capture-start', { ...options });
  let stopped = false;
  const readProgress = async (): Promise<CaptureProgress> => {
    return (await client.request('capture-progress')) as CaptureProgress;
  };
  const whenEnded = (async () => {
    while (!stopped) {
      await new Promise((done) => setTimeout(done, POLL_MS));
      if (stopped || !(await readProgress()).active) return;
    }
  })();
  // `stop` rejects as well when the process has ended.
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
