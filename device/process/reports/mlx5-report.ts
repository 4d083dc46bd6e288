// SPDX-License-Identifier: Apache-2.0
/** The status of an mlx5 device, as far as other personalities differ. */
import { qpStateName } from '../../../protocol/layout/gen/values.gen.ts';
import { QueueStatus } from '../../../protocol/mlx5/gen/values.gen.ts';
import { HcaState } from '../../personality/mlx5/hca/hca.ts';
import type { Mlx5Adapter } from '../../personality/mlx5/mlx5-adapter.ts';
import { countNames, countQueues, type DeviceState } from './device-state.ts';

const states: Readonly<Record<HcaState, string>> = {
  [HcaState.DISABLED]: 'reset',
  [HcaState.ENABLED]: 'enabled',
  [HcaState.RUNNING]: 'running',
};

export function describeMlx5({ hca, commands, tables, functions }: Mlx5Adapter): DeviceState {
  const names: string[] = [];
  tables.queuePairs.forEach(({ state }) => {
    names.push(qpStateName(state));
  });
  const eventQueues = [...hca.events.values()].map(({ posted, status }) => ({
    posted,
    isGood: status === QueueStatus.OK,
  }));
  const completionQueues = [...hca.completionQueues.values()].map(({ producerCount, context }) => ({
    posted: producerCount,
    isGood: context.status === QueueStatus.OK,
  }));
  return {
    state: hca.health.hasFailed ? 'failed' : states[hca.state],
    commands: { executed: commands.executed, refused: commands.refused },
    objects: {
      memoryKeys: hca.keys.size,
      sharedReceiveQueues: hca.sharedReceiveQueues.size,
      userPages: hca.uars.size,
      firmwarePages: hca.pages.length,
    },
    queuePairs: countNames(names),
    completionQueues: countQueues(completionQueues, hca.retired.completions),
    eventQueues: countQueues(eventQueues, hca.events.retired),
    eventsLost: hca.events.lost,
    strayDoorbells: functions[0].strayDoorbells,
  };
}
