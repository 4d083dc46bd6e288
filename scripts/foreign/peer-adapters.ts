// SPDX-License-Identifier: Apache-2.0
/**
 * Connections of two guests: adapters behind one switch with the built-in subnet manager, and, for
 * soft-RoCE, a virtual network of QEMU. Called by run-peers.ts and run-suites.ts.
 */
import { join } from 'node:path';
import { DeviceProcess } from '../../guest-tests/harness/device-process.ts';
import { makeRunDirectory, removeRunDirectory } from '../../qemu/run-directory.ts';
import { type AdapterName, isJudged, type JudgedAdapter } from './suites.ts';

export type Sides<T> = Readonly<Record<'near' | 'far', T>>;

/** The adapter of a device process, or a file to which QEMU writes all packets of a card. */
export type PacketSource = { readonly controlPath: string; readonly adapter?: string } | { readonly dump: string };

/** Devices that are served while both guests run. */
export interface ServedPeers {
  /** The vfio-user sockets of each guest. */
  readonly sockets: Sides<readonly string[]>;
  /** Further arguments of QEMU. */
  readonly arguments: Sides<readonly string[]>;
  /** Place where the packets of the near guest can be captured. */
  readonly packets: PacketSource;
  /** Returns a sentence for each fault of a process. */
  stop(): Promise<string[]>;
}

/** The adapters of both guests; the packets are those of the first adapter of the near guest. */
export async function servePeers(sides: Sides<readonly AdapterName[]>): Promise<ServedPeers> {
  const served = (['near', 'far'] as const).flatMap((side) =>
    sides[side].filter(isJudged).map((personality) => ({ side, personality })),
  );
  const network = sides.near.includes('rxe') ? serveNetwork() : undefined;
  const fabric = served.length > 0 ? await serveSwitch(served) : undefined;
  const packets = sides.near[0] === 'rxe' ? network?.packets : fabric?.packets;
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

/** Ports of each adapter that are joined to the switch. */
const PORTS: Readonly<Record<JudgedAdapter, readonly number[]>> = { mlx5: [1], mthca: [1, 2], vuhca: [1, 2] };

/** An adapter for the guest on one side, or one of several in a guest. */
export interface SideAdapter {
  readonly side: string;
  readonly personality: JudgedAdapter;
}

/** Adapters behind one switch, in one process. */
export interface ServedSwitch {
  /** The sockets of the guest on that side. */
  sockets(side: string): string[];
  /** Those of the first adapter. */
  readonly packets: PacketSource;
  stop(): Promise<string[]>;
}

/** The topology of `serveSwitch`: all ports of the adapters are at the switch. */
export function planSwitch(adapters: readonly SideAdapter[]): object {
  const ports = adapters.flatMap((adapter) =>
    PORTS[adapter.personality].map((number) => `${nameOf(adapter)}:${number}`),
  );
  const nodes = adapters.map((adapter) => {
    return [nameOf(adapter), { sockets: [socketOf(adapter)], personality: adapter.personality }];
  });
  return {
    adapters: Object.fromEntries(nodes),
    switches: { s: { ports: ports.length } },
    links: ports.map((port) => ({ ports: [port, 's'] })),
  };
}

/** Serves the adapters in one process. */
export async function serveSwitch(adapters: readonly SideAdapter[]): Promise<ServedSwitch> {
  const device = await DeviceProcess.start({ topology: planSwitch(adapters) });
  const { child } = device;
  return {
    sockets: (side) =>
      adapters.filter((adapter) => adapter.side === side).map((adapter) => child.socketPath(socketOf(adapter))),
    packets: { controlPath: child.controlPath, adapter: nameOf(adapters[0] as SideAdapter) },
    stop: () => device.stop(),
  };
}

function nameOf({ side, personality }: SideAdapter): string {
  return `${side}-${personality}`;
}

function socketOf(adapter: SideAdapter): string {
  return `${nameOf(adapter)}.sock`;
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
