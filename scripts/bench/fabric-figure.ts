// SPDX-License-Identifier: Apache-2.0
/** What `npm run bench -- fabric` measures of a fabric; the plot of docs/FABRIC.md reads it. */

/** What a fabric needed. */
export interface FabricFigure {
  readonly levels: number;
  readonly adapters: number;
  readonly switches: number;
  readonly links: number;
  /** Processor time until all ports are ACTIVE, and of a sweep of the unchanged subnet. */
  readonly firstSeconds: number;
  readonly laterSeconds: number;
  /** Management datagrams that the manager sent until then. */
  readonly requests: number;
  /** What the process has more once the fabric is built. */
  readonly mebibytes: number;
}
