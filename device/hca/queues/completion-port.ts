// SPDX-License-Identifier: Apache-2.0
/**
 * A completion queue as the transport and queue pairs see it (IBTA 11.4.2). The transport fills a
 * `completion-entry` (`protocol/layout/gen/completion-entry.gen.ts`) in the work space and posts
 * it. `CompletionQueue` writes it as it is; the CQ of a personality translates it into its own
 * format (docs/verbs/PERSONALITIES.md). `transport/completions.ts` calls it.
 */
export interface CompletionPort {
  readonly number: number;
  /** Number of work queues that complete here. */
  references: number;
  /** Clears the entry of the work space and returns it, for the generated setters at offset 0. */
  begin(): DataView;
  /**
   * Posts the entry of the work space. `solicited`: it also satisfies a request for solicited
   * completions. Returns false when the queue is in error; the QP then fails.
   */
  post(solicited: boolean): boolean;
}
