// SPDX-License-Identifier: Apache-2.0
/**
 * What guests are joined by: adapters behind one switch with the built-in subnet manager, and, for
 * soft-RoCE, a virtual network of QEMU. Called by run-peers.ts and run-suites.ts.
 */
import { join } from 'node:path';
import { DeviceProcess } from '../../guest-tests/harness/device-process.ts';
import { makeRunDirectory, removeRunDirectory } from '../../qemu/run-directory.ts';
import { type AdapterName, isJudged, type JudgedAdapter } from './suites.ts';

export type Sides<T> = Readonly<Record<'near' | 'far', T>>;

/** The adapter of a device process, or a file to which QEMU writes all packets of a card. */
export type PacketSource = { readonly controlPath: string; readonly adapter?: string } | { readonly dump: string };

/** What is served while both guests run. */
export interface ServedPeers {
  /** The vfio-user sockets of each guest. */
  readonly sockets: Sides<readonly string[]>;
  /** Further arguments of QEMU. */
  readonly arguments: Sides<readonly string[]>;
  /** Where the packets of the near guest can be captured. */
  readonly packets: PacketSource;
  /** Returns a sentence for each fault of a process. */
  stop(): Promise<string[]>;
}

/** The adapters of both guests; the packets are those of the first one. */
export async function servePeers(adapters: readonly AdapterName[]): Promise<ServedPeers> {
  const kinds = adapters.filter(isJudged);
  const network = adapters.includes('rxe') ? serveNetwork() : undefined;
  const fabric = kinds.length > 0 ? await serveSwitch(kinds, ['near', 'far']) : undefined;
  const packets = adapters[0] === 'rxe' ? network?.packets : fabric?.packets;
  return {
    sockets: { near: fabric?.sockets('near') ?? [], far: fabric?.sockets('far') ?? [] },
    arguments: network?.arguments ?? { near: [], far: [] },
    packets: packets as PacketSource,
    stop: async () => {
      network?.stop();
      return (await fabric?.stop()) ?? [];
    },
  };
}

/** Adapters behind one switch, in one process. */
export interface ServedSwitch {
  /** The sockets of the guest on that side. */
  sockets(side: string): string[];
  /** Those of the first adapter. */
  readonly packets: PacketSource;
  stop(): Promise<string[]>;
}

/** An adapter of each kind for each side, both of its ports at the switch. */
export async function serveSwitch(kinds: readonly JudgedAdapter[], sides: readonly string[]): Promise<ServedSwitch> {
  const socketOf = (side: string, personality: JudgedAdapter): string => `${side}-${personality}.sock`;
  const adapters = sides.flatMap((side) =>
    kinds.map((personality) => ({
      name: `${side}-${personality}`,
      sockets: [socketOf(side, personality)],
      personality,
    })),
  );
  const ports = adapters.flatMap(({ name }) => [`${name}:1`, `${name}:2`]);
  const topology = {
    adapters: Object.fromEntries(adapters.map(({ name, ...node }) => [name, node])),
    switches: { s: { ports: ports.length } },
    links: ports.map((port) => ({ ports: [port, 's'] })),
  };
  const device = await DeviceProcess.start({ topology });
  const { child } = device;
  return {
    sockets: (side) => kinds.map((personality) => child.socketPath(socketOf(side, personality))),
    packets: { controlPath: child.controlPath, adapter: adapters[0]?.name as string },
    stop: () => device.stop(),
  };
}

interface ServedNetwork {
  readonly arguments: Sides<readonly string[]>;
  readonly packets: PacketSource;
  stop(): void;
}

/** A network card in each guest; QEMU of the near guest connects when the far one listens. */
function serveNetwork(): ServedNetwork {
  const directory = makeRunDirectory();
  const address = `addr.type=unix,addr.path=${join(directory, 'network')}`;
  const card = (node: number, end: string): string[] => [
    ...['-netdev', `stream,id=peer,${address},${end}`],
    ...['-device', `virtio-net-pci,netdev=peer,mac=52:54:00:00:00:0${node}`],
  ];
  const dump = join(directory, 'dump.pcap');
  const filter = ['-object', `filter-dump,id=dump,netdev=peer,file=${dump},maxlen=65536`];
  return {
    arguments: { far: card(1, 'server=on'), near: [...card(2, 'server=off,reconnect-ms=200'), ...filter] },
    packets: { dump },
    stop: () => removeRunDirectory(directory),
  };
}
