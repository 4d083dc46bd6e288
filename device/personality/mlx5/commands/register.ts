// SPDX-License-Identifier: Apache-2.0
/** A register of the device or of a port as ACCESS_REGISTER sees it (port-commands.ts). */
import type { CommandStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { CommandContext } from './command-context.ts';

/** `access` reads or writes it, and fills the output; it has `sizeBytes` in input and output. */
export interface Register {
  readonly sizeBytes: number;
  readonly access: (context: CommandContext, writes: boolean) => CommandStatus;
}
