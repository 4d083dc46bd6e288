// SPDX-License-Identifier: Apache-2.0
/**
 * States of adapters in this process as the server of `vuhca view` gives them to its page. Called
 * by tests of the page.
 */
import { showContents } from '../../../../device/hca/adapter/contents/contents.ts';
import { showViews } from '../../../../device/personality/shared/contents.ts';
import { reportPersonality } from '../../../../device/process/reports/personality-report.ts';
import { reportAdapter } from '../../../../device/process/reports/status-report.ts';
import type { InProcessMachine } from '../../../../device/rig/machine/machine.ts';
import type { ViewState } from '../../../cli/view/view-protocol.ts';
import { INSIDE_VIEWS } from '../inside.ts';

/** The state of the machine's adapter now. */
export function stateOf({ device, hosts, clock }: InProcessMachine): ViewState {
  const rows = (view: string) => showContents({ adapter: device, hosts }, { view }).rows;
  return overWire({
    timeNs: clock.now(),
    fabric: { nodes: [] },
    adapter: { name: 'a', ...reportAdapter(device) },
    views: Object.fromEntries(INSIDE_VIEWS.adapter.map((view) => [view, rows(view)])),
  });
}

/** The state of an adapter of a personality. */
export function personalityStateOf(
  core: Parameters<typeof reportPersonality>[0] & Parameters<typeof showViews>[0],
  timeNs: number,
): ViewState {
  return overWire({
    timeNs,
    fabric: { nodes: [] },
    personality: { name: 'b', functionOf: undefined, ...reportPersonality(core) },
    views: Object.fromEntries(INSIDE_VIEWS.personality.map((view) => [view, showViews(core, { view }).rows])),
  });
}

/** As JSON carries it. */
function overWire(state: ViewState): ViewState {
  return JSON.parse(JSON.stringify(state)) as ViewState;
}
