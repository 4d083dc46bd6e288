// SPDX-License-Identifier: Apache-2.0
/**
 * A capture in the process of a running adapter, controlled through its control socket. That
 * process writes the file; the capture ends with the connection. Called by `vuhca capture` and by
 * sessions with a capture.
 */
import type { CaptureOptions, CaptureProgress } from '../../../device/process/control/capture-file.ts';
import { ControlClient } from '../../../device/process/control/control-client.ts';
import { ControlError } from '../../../device/process/control/control-path.ts';

/** The packets to capture, and the adapter. */
export type CaptureRequest = CaptureOptions & { readonly adapter?: string };

const POLL_MS = 100;
/** Time within which an adapter answers the request to end a capture. */
const STOP_ANSWER_MS = 5000;
/** Number of checks without growth of a file that is not closed. */
const LOOKS_MAX = 100;

/** A capture in another process. */
export interface RemoteCapture {
  /** Resolves when it ended by itself: its number of packets is reached, or its process ended. */
  readonly whenEnded: Promise<void>;
  /** Ends it and returns once the file is closed; `early` of the progress tells what is missing. */
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
  const readProgress = (): Promise<CaptureProgress> => client.request('capture-progress');
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
    client.answerMs = STOP_ANSWER_MS;
    let progress = await client.request('capture-stop');
    for (let looks = 0; !progress.closed; looks++) {
      if (looks === LOOKS_MAX)
        throw new ControlError(`the adapter does not close ${options.path}: packets at its end may be missing`);
      await new Promise((done) => setTimeout(done, POLL_MS));
      const next = await readProgress();
      if (next.bytes !== progress.bytes) looks = 0;
      progress = next;
    }
    return progress;
  };
  return { whenEnded, stop };
}
