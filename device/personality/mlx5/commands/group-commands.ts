// SPDX-License-Identifier: Apache-2.0
/** Commands that attach QPs to multicast groups and detach them. */
import { GID_SIZE, isMulticastGid } from '../../../../protocol/infiniband/addresses.ts';
import { ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import {
  ATTACH_TO_MCG_IN_MULTICAST_GID_OFFSET,
  ATTACH_TO_MCG_IN_SIZE,
  getAttachToMcgInQpn,
} from '../../../../protocol/mlx5/gen/attach-to-mcg-in.gen.ts';
import { ATTACH_TO_MCG_OUT_SIZE } from '../../../../protocol/mlx5/gen/attach-to-mcg-out.gen.ts';
import { DETACH_FROM_MCG_IN_SIZE } from '../../../../protocol/mlx5/gen/detach-from-mcg-in.gen.ts';
import { DETACH_FROM_MCG_OUT_SIZE } from '../../../../protocol/mlx5/gen/detach-from-mcg-out.gen.ts';
import { CommandOpcode, CommandStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { QueuePair } from '../../../hca/queues/queue-pair.ts';
import { HcaState } from '../hca/hca.ts';
import type { CommandContext, CommandHandler } from './command-context.ts';
import { type CommandRow, plainRow } from './command-row.ts';

/** Both commands name QP and group in the same places: `change` gets what they name. */
function naming(change: (context: CommandContext, qp: QueuePair, mgid: Uint8Array) => CommandStatus): CommandHandler {
  return (context) => {
    const { hca, view, input } = context;
    const qp = hca.queuePairs.get(getAttachToMcgInQpn(view, 0))?.qp;
    if (qp === undefined) return CommandStatus.BAD_RESOURCE;
    const at = ATTACH_TO_MCG_IN_MULTICAST_GID_OFFSET;
    if (qp.serviceType !== ServiceType.UD || !isMulticastGid(input, at)) return CommandStatus.BAD_PARAMETER;
    return change(context, qp, input.subarray(at, at + GID_SIZE));
  };
}

const attach = naming(({ hca }, qp, mgid) =>
  hca.groups.attach(qp, mgid) ? CommandStatus.OK : CommandStatus.NO_RESOURCES,
);

const detach = naming(({ hca }, qp, mgid) =>
  hca.groups.detach(qp, mgid) ? CommandStatus.OK : CommandStatus.BAD_RESOURCE_STATE,
);

const { RUNNING } = HcaState;

export const groupCommands: readonly CommandRow[] = [
  plainRow(CommandOpcode.ATTACH_TO_MCG, RUNNING, ATTACH_TO_MCG_IN_SIZE, ATTACH_TO_MCG_OUT_SIZE, attach),
  plainRow(CommandOpcode.DETACH_FROM_MCG, RUNNING, DETACH_FROM_MCG_IN_SIZE, DETACH_FROM_MCG_OUT_SIZE, detach),
];
