// SPDX-License-Identifier: Apache-2.0
/**
 * The stay of a launched command in the send pipeline while its reads take time (US 8,484,392 par.
 * 118-119). Each PCB has one; `hca/transport/engine/pipeline-stage.ts` fills it.
 */

export class PipelineStay {
  /** Reads to issue, and reads issued whose completions have not arrived. */
  readsLeft = 0;
  readsOutstanding = 0;
  /** Time before which the command stays in any case. */
  readyNs = 0;
}
