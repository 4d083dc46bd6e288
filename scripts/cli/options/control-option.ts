// SPDX-License-Identifier: Apache-2.0
/**
 * The option that chooses a running adapter by its control socket. All commands that look into an
 * adapter have it.
 */
import { Option } from 'commander';

export function controlOption(): Option {
  return new Option('--control <PATH>', 'The control socket (default: that of the only running adapter)');
}
