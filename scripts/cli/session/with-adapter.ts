// SPDX-License-Identifier: Apache-2.0
/**
 * The connection of a command to a running adapter, and the output of its data. All commands that
 * read an adapter use it.
 */
import { ControlClient } from '../../../device/process/control/control-client.ts';
import { findOnlyControlPath } from '../../../device/process/control/control-path.ts';

/** Clears the terminal. */
export const CLEAR_SCREEN = '\x1b[H\x1b[J';

/** True if screens have colours: on a terminal, unless NO_COLOR is set. */
export function isColoured(): boolean {
  return process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
}

/** Performs `work` on a connection to the adapter of a control socket, or to the only one. */
export async function withAdapter<Result>(
  control: string | undefined,
  work: (client: ControlClient) => Promise<Result>,
): Promise<Result> {
  const client = await ControlClient.connect(control ?? (await findOnlyControlPath()));
  try {
    return await work(client);
  } finally {
    client.close();
  }
}

/** Options of the display of a screen. */
interface ScreenOptions {
  readonly json?: boolean;
  /** Seconds between two screens; only one screen if absent. */
  readonly watch?: number;
}

/** Shows the result of `read`, as a screen or as a line of JSON, once or until a signal. */
export async function showScreens<Content>(
  { json = false, watch }: ScreenOptions,
  read: () => Promise<Content>,
  render: (content: Content) => string,
): Promise<void> {
  for (;;) {
    const content = await read();
    const text = json ? `${JSON.stringify(content)}\n` : render(content);
    process.stdout.write(watch === undefined || json ? text : `${CLEAR_SCREEN}${text}`);
    if (watch === undefined) return;
    await new Promise((done) => setTimeout(done, watch * 1000));
  }
}
