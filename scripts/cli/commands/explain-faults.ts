// SPDX-License-Identifier: Apache-2.0
/**
 * The first fault of each function of a running adapter, as `vuhca explain` tells it after the
 * stories of queue pairs: object, register or address, the access that caused it, and the first
 * checks. Called by explain-action.ts.
 */
import type { StatusReport } from '../../../device/process/reports/status-report.ts';
import { describeFirstFault } from '../screens/fault-text.ts';
import { paragraph } from '../screens/screen-text.ts';
import { withAdapter } from '../session/with-adapter.ts';
import type { ExplainArguments } from './explain-command.ts';
import { explainFaultName } from './explain-queue-pair.ts';

/** Empty for a question about queue pairs, and when no function has had a fault. */
export async function explainFirstFaults({ control, ...narrower }: ExplainArguments): Promise<string> {
  if (Object.keys(narrower).length > 0) return '';
  return describeFirstFaults(await withAdapter(control, (client) => client.request('status')));
}

export function describeFirstFaults({
  adapters,
  personalities,
}: Pick<StatusReport, 'adapters' | 'personalities'>): string {
  const units = [
    ...adapters.flatMap(({ name, functions }) => functions.map(({ number, faults }) => ({ name, number, faults }))),
    ...personalities.map(({ name, faults }) => ({ name, number: 0, faults })),
  ];
  return units
    .flatMap(({ name, number, faults: { first } }) => {
      if (first === undefined) return [];
      const words = [`function ${number} of ${name}`, describeFirstFault(first).join(', ')].join(': ');
      return [`\n${paragraph('first fault', words)}\n`, explainFaultName(first.kind)];
    })
    .join('');
}
