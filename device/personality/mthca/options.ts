// SPDX-License-Identifier: Apache-2.0
/** Options of an mthca device. */
import type { PersonalityOptions } from '../shared/options.ts';

/** 1: MT25204; 2: MT25208 without attached memory. */
export const mthcaPortCounts: readonly number[] = [1, 2];
export const mthcaFunctionCounts: readonly number[] = [1];

export const defaultMthcaOptions: PersonalityOptions = {
  portCount: 2,
  nodeGuid: '0056554843415000',
  portLids: [1, 2],
  portQueuePackets: 64,
  portLink: { kind: 'cable' },
};
