// SPDX-License-Identifier: Apache-2.0
/** What a live adapter answers on its control socket. */
import type { AdapterProcess } from './adapter-process.ts';
import type { ControlCommand } from './control-server.ts';
import { reportProcess } from './status-report.ts';

/** The commands of a process, for `ControlServer`. */
export function makeControlCommands(process: AdapterProcess, pid: number): Map<string, ControlCommand> {
  return new Map<string, ControlCommand>([['status', () => reportProcess(process, pid)]]);
}
