// SPDX-License-Identifier: Apache-2.0
/**
 * One process of personalities.ts, in which no other device affects the compiled code. Takes its
 * work as arguments, `mthca|mlx5 send|write`. Each message of the parent asks for a turn, and the
 * answer is the ns of processor time that the device took for a message in it.
 */
import { raiseInliningBudget } from '../../device/process/host/inlining-budget.ts';
import { BATCH, type MessageKind } from './messages.ts';
import { Mlx5Messages } from './mlx5-messages.ts';
import { MthcaMessages } from './mthca-messages.ts';
import { processorNs } from './statistics.ts';

const [personality, kind] = process.argv.slice(2);
const messages = new (personality === 'mlx5' ? Mlx5Messages : MthcaMessages)(kind as MessageKind);
raiseInliningBudget();

process.on('message', (batches: number) => {
  let totalNs = 0;
  for (let batch = 0; batch < batches; batch++) {
    messages.post();
    const start = processorNs();
    messages.ring();
    messages.run();
    totalNs += processorNs() - start;
    messages.take();
  }
  process.send?.(totalNs / (batches * BATCH));
});
process.send?.(0);
