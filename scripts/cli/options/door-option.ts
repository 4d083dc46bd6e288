// SPDX-License-Identifier: Apache-2.0
/** The option of the host door (docs/FABRIC.md), of `vuhca device` and `vuhca run`. */
import type { Option } from 'commander';
import { wholeNumber } from './option-values.ts';

/** Clients of the door have the ports behind its own. */
const PORT_MAX = 65_535 - 64;

export function doorOption(): Option {
  const purpose = 'The host door: UDP port for opensm and diagnostics; see docs/FABRIC.md';
  return wholeNumber('--ibsim <PORT>', purpose, 1, PORT_MAX);
}
