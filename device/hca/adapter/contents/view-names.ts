// SPDX-License-Identifier: Apache-2.0
/**
 * Names of the views of `vuhca show`. They are apart from the views, so that the help and the
 * completion of the command load no adapter.
 */
export const VIEW_NAMES = [
  'vcbs',
  'pcbs',
  'lists',
  'lanes',
  'overflow',
  'commands',
  'queues',
  'completions',
  'connections',
  'events',
  'contexts',
  'blocks',
] as const;
export type ViewName = (typeof VIEW_NAMES)[number];
