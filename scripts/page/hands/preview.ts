// SPDX-License-Identifier: Apache-2.0
/**
 * The command line of an act before it is performed, as the server will give it afterwards. Pure.
 */
import { describeAct } from '../../cli/view/act-lines.ts';
import type { Act } from '../../cli/view/view-protocol.ts';

/** Undefined while the server would refuse the words. `control`: path of the control socket. */
export function previewLine(act: Act, control: string): string | undefined {
  try {
    return describeAct(act, control);
  } catch {
    return undefined;
  }
}
