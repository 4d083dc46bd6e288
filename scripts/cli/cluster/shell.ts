// SPDX-License-Identifier: Apache-2.0
/** A terminal in a node of a cluster: that of this process, raw, with its size as it changes. */
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { converse } from '../cluster-client/cluster-client.ts';
import type { ClusterPlace } from '../cluster-client/cluster-place.ts';
import type { ExecEnd, TerminalSize } from '../cluster-client/cluster-protocol.ts';
import { saveTerminal } from '../session/terminal.ts';
import { passInput, statusOf, writeWhole } from './exec.ts';

/** Opens a login shell in the node until it ends; returns its status. */
export async function openShell(place: ClusterPlace, node: string): Promise<number> {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY)
    throw new SetupError(`a shell needs a terminal; without one, \`vuhca cluster exec ${node} -- sh\` reads commands`);
  const readSize = (): TerminalSize => ({ rows: stdout.rows, columns: stdout.columns });
  const conversation = await converse<ExecEnd>(
    place,
    { command: 'exec', node, terminal: { ...readSize(), kind: process.env.TERM ?? 'linux' } },
    { write: (_output, bytes) => writeWhole(stdout, bytes) },
  );
  const restore = saveTerminal();
  const resize = (): void => void conversation.send({ size: readSize() });
  stdout.on('resize', resize);
  stdin.setRawMode(true);
  passInput(conversation);
  try {
    return statusOf(await conversation.result);
  } finally {
    stdout.off('resize', resize);
    stdin.setRawMode(false);
    stdin.destroy();
    restore();
  }
}
