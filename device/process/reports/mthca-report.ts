// SPDX-License-Identifier: Apache-2.0
/** The status of an mthca device, as far as other personalities differ. */
import { ContextStatus, qpContextStateName } from '../../../protocol/mthca/gen/values.gen.ts';
import { HcaState } from '../../personality/mthca/hca/hca.ts';
import type { MthcaAdapter } from '../../personality/mthca/mthca-adapter.ts';
import { countNames, countQueues, type DeviceState } from './device-state.ts';

const states: Readonly<Record<HcaState, string>> = {
  [HcaState.RESET]: 'reset',
  [HcaState.FIRMWARE]: 'firmware started',
  [HcaState.RUNNING]: 'running',
};

export function describeMthca({ hca, processor, raw, functions }: MthcaAdapter): DeviceState {
  const completionQueues = [...hca.completionQueues.values()].map(({ count, context }) => ({
    posted: count,
    isGood: context.status === ContextStatus.OK,
  }));
  const eventQueues = [...hca.eventQueues.values()].map(({ count, status }) => ({
    posted: count,
    isGood: status === ContextStatus.OK,
  }));
  return {
    state: hca.hasFailed ? 'failed' : states[hca.state],
    commands: { executed: processor.executed, refused: processor.refused },
    objects: {
      memoryRegions: hca.regions.table.count,
      sharedReceiveQueues: hca.sharedReceiveQueues.count,
      contextPages: hca.icm.mappedPages,
    },
    queuePairs: countNames([...hca.queuePairs.values()].map(({ state }) => qpContextStateName(state))),
    completionQueues: countQueues(completionQueues, hca.retired.completions),
    eventQueues: countQueues(eventQueues, hca.retired.events),
    eventsLost: hca.events.lost,
    strayDoorbells: functions[0].userAccess.strayDoorbells,
    raw: { malformed: raw.malformed, noReceive: raw.noReceive },
  };
}
