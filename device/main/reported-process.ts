// SPDX-License-Identifier: Apache-2.0
/**
 * What a control socket reports of a live process, be it that of our adapters or that of a
 * personality. The reports take it.
 */
import type { AdapterProcess } from './adapter-process.ts';

export type ReportedProcess = Pick<
  AdapterProcess,
  'adapters' | 'switches' | 'clock' | 'pump' | 'recording' | 'socketLinks'
>;
