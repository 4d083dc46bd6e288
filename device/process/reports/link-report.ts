// SPDX-License-Identifier: Apache-2.0
/**
 * State of the links of a live process or a replay, without those to embedded switches: both ends,
 * whether the link is up, and counts of packets. Part of the status report.
 */
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { Cable } from '../../fabric/link/cable.ts';
import { FaultyLink } from '../../fabric/link/faulty-link.ts';
import { findJoint, Joint } from '../../fabric/link/joint.ts';
import type { LinkDirection } from '../../fabric/link/link-direction.ts';
import { StreamLink } from '../../fabric/link/stream-link.ts';
import type { Link, LinkEnd } from '../../fabric/port/link.ts';
import type { NamedAdapter, NamedSwitch } from '../../topology/named-nodes.ts';
import type { AdapterProcess } from '../host/adapter-process.ts';

/** State of one link. */
export interface LinkReport {
  /**
   * `NAME:PORT` of each end in this process, and for an end elsewhere its address: `listen PATH` or
   * `connect tcp://HOST:PORT`.
   */
  readonly ends: readonly string[];
  /** `cut`: pulled out by `vuhca link`. */
  readonly kind: 'cable' | 'faulty' | 'socket' | 'cut';
  readonly up: boolean;
  /** Packets sent by the first end, and received by it. */
  readonly sent: number;
  readonly received: number;
  /** Packets known to be lost: by the link's faults, or sent by a port while it was down. */
  readonly lost: number;
  /** Why a link to another process is not up, as far as it is known: the end of a sentence. */
  readonly trouble?: string | undefined;
}

/** The other end of a link of a replay to another process: a recording has no addresses. */
const ANOTHER_PROCESS = 'another process';

/** The adapters and switches of a live process or of a replay. */
interface Uplinked {
  readonly served: readonly NamedAdapter[];
  readonly switches: readonly NamedSwitch[];
}

/** All links, in the order of their first ports. A replay has no sockets. */
export function reportLinks(linked: Uplinked & Pick<AdapterProcess, 'joints' | 'socketLinks'>): LinkReport[] {
  const ends = new Map<Link | Joint, { readonly names: string[]; readonly ports: LinkEnd[] }>();
  for (const { name, port } of listUplinks(linked)) {
    const link = port.link ?? findJoint(linked.joints, port);
    if (link === undefined) continue;
    const known = ends.get(link) ?? { names: [], ports: [] };
    ends.set(link, { names: [...known.names, name], ports: [...known.ports, port] });
  }
  return [...ends].map(([link, { names, ports }]) => {
    const discards = ports.reduce((sum, port) => sum + port.transmitDiscards, 0);
    if (link instanceof Joint) return { ends: names, kind: 'cut', up: false, sent: 0, received: 0, lost: discards };
    const other = linked.socketLinks.find((socketLink) => socketLink.link === link);
    const trouble = other?.trouble;
    const { lost, ...rest } = count(link, ports[0]);
    return {
      ends: link instanceof StreamLink ? [...names, other?.address ?? ANOTHER_PROCESS] : names,
      ...rest,
      lost: lost + discards,
      ...(trouble === undefined ? {} : { trouble }),
    };
  });
}

/** The ports at which links leave adapters and switches, by name. */
export function listUplinks({ served, switches }: Uplinked): readonly { name: string; port: LinkEnd }[] {
  const nodes = [
    ...served.map(({ name, core }) => ({ name, ports: core.uplinks })),
    ...switches.map(({ name, core }) => ({ name, ports: core.ports })),
  ];
  return nodes.flatMap(({ name, ports }) => ports.map((port) => ({ name: `${name}:${port.number}`, port })));
}

function count(link: Link, port: LinkEnd): Omit<LinkReport, 'ends'> {
  if (link instanceof Cable) {
    const [sent, received] = link.packets;
    return { kind: 'cable', up: port.state !== PortState.DOWN, sent, received, lost: 0 };
  }
  if (link instanceof StreamLink)
    return {
      ...{ kind: 'socket', up: link.up, sent: link.packetsSent, received: link.packetsReceived },
      lost: link.outgoing === undefined ? 0 : countLost(link.outgoing),
    };
  if (!(link instanceof FaultyLink)) throw new Error('a link of a kind the status does not know');
  const [there, back] = link.directions;
  return {
    kind: 'faulty',
    up: link.up,
    sent: there.counters.sent,
    received: back.counters.sent,
    lost: countLost(there) + countLost(back),
  };
}

function countLost({ counters: { dropped, tooLong, lostByFlap } }: LinkDirection): number {
  return dropped + tooLong + lostByFlap;
}
