// SPDX-License-Identifier: Apache-2.0
/**
 * The command `link` of the control socket: cuts a link of the process, plugs it in again, or gives
 * it properties and faults (docs/TOPOLOGY.md, "Links at run time"). `ControlCommands` serves it.
 */

import { type ChangeableLink, findJoint } from '../../fabric/link/joint.ts';
import { encodeLinkChange, readLinkChange } from '../../fabric/link/link-changes.ts';
import { Refusal } from '../../hca/adapter/refusal.ts';
import { type AdapterProcess, isLoneDevice } from '../host/adapter-process.ts';
import type { SocketLink } from '../host/socket-link.ts';
import { listUplinks } from '../reports/link-report.ts';
import type { ControlCommand } from './control-server.ts';

/** A change crosses the seam, so a recording has it. */
export function makeLinkCommand(process: AdapterProcess): ControlCommand {
  return ({ parameters: { port, words } }) => {
    if (typeof port !== 'string') throw new Refusal('port must be a string');
    if (!Array.isArray(words) || !words.every((word) => typeof word === 'string'))
      throw new Refusal('words must be a list of strings');
    const name = nameInFull(process, port);
    const { text } = refusing(() => readLinkChange(name, findLink(process, name), words));
    process.seam.changeLink?.(encodeLinkChange(name, words));
    findSocketLink(process, name)?.followCable();
    process.pump.wake();
    return { text };
  };
}

/** `NAME:PORT`; the name may be left out when the process has one device and no switch. */
function nameInFull(process: AdapterProcess, port: string): string {
  const { served, switches } = process;
  if (!/^\d+$/.test(port) || !isLoneDevice(served) || switches.length > 0) return port;
  return listUplinks(process)[Number(port) - 1]?.name ?? `${served[0].name}:${port}`;
}

function findLink(process: AdapterProcess, port: string): ChangeableLink {
  const joined = listUplinks(process).filter((one) => findJoint(process.joints, one.port) !== undefined);
  const joint = findJoint(process.joints, joined.find(({ name }) => name === port)?.port);
  const link = findSocketLink(process, port)?.link ?? joint;
  if (link !== undefined) return link;
  const known = [...joined.map(({ name }) => name), ...process.socketLinks.map(({ options }) => options.port)];
  throw new Refusal(`no link is at port ${port}; there are ${known.join(', ') || 'none'}`);
}

function findSocketLink({ socketLinks }: AdapterProcess, port: string): SocketLink | undefined {
  return socketLinks.find(({ options }) => options.port === port);
}

function refusing<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (error) {
    throw error instanceof RangeError ? new Refusal(error.message) : error;
  }
}
