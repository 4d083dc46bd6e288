// SPDX-License-Identifier: Apache-2.0
/** Options of an mlx5 device. */
import type { PersonalityOptions } from '../shared/options.ts';

/** A function has one port, so a device with two ports has two functions. */
export const mlx5PortCounts: readonly number[] = [1];
export const mlx5FunctionCounts: readonly number[] = [1, 2];

export const defaultMlx5Options: PersonalityOptions = {
  portCount: 1,
  nodeGuid: '0056554843416000',
  portLids: [1, 2],
  portQueuePackets: 64,
  portLink: { kind: 'cable' },
};
