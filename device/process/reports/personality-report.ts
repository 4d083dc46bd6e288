// SPDX-License-Identifier: Apache-2.0
/**
 * The status of an adapter of a personality as plain data (docs/verbs/PERSONALITIES.md): what its
 * driver has started, its objects, commands and ports. Part of the status report; it reads only
 * what the units keep anyway.
 */
import type { PersonalityAdapter } from '../../topology/personalities.ts';
import { reportDrops, reportFaults, reportPort, reportTraffic } from './common-report.ts';
import type { DeviceState } from './device-state.ts';
import { reportLanes } from './lane-report.ts';
import { describeMlx5 } from './mlx5-report.ts';
import { describeMthca } from './mthca-report.ts';

export function reportPersonality(core: PersonalityAdapter) {
  const { personality, underlying, lanes, ports, engine, sends } = core;
  const state: DeviceState = core.personality === 'mthca' ? describeMthca(core) : describeMlx5(core);
  return {
    personality,
    ...state,
    busMaster: underlying.dma.busMaster,
    resets: { ...underlying.resets },
    sendBuffersBusy: sends.busyBuffers,
    ...reportTraffic(underlying),
    lanes: reportLanes(lanes),
    ports: ports.map(reportPort),
    drops: reportDrops(engine),
    faults: reportFaults(underlying),
  };
}
