// SPDX-License-Identifier: Apache-2.0
/**
 * What two guests are joined by, for each adapter: adapters behind one switch with the built-in
 * subnet manager, or, for soft-RoCE, a virtual network of QEMU. Called by run-peers.ts.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { DeviceProcess } from '../../guest-tests/harness/device-process.ts';
import { makeRunDirectory } from '../../qemu/run-directory.ts';
import type { AdapterName } from './suites.ts';

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

export function servePeers(adapter: AdapterName): Promise<ServedPeers> {
  return adapter === 'rxe' ? serveNetwork() : serveSwitch(adapter);
}

/** Both adapters and the switch in one process. */
async function serveSwitch(personality: 'vuhca' | 'mthca'): Promise<ServedPeers> {
  const topology = {
    adapters: { far: { sockets: ['far.sock'], personality }, near: { sockets: ['near.sock'], personality } },
    switches: { s: { ports: 4 } },
    links: ['far:1', 'far:2', 'near:1', 'near:2'].map((port) => ({ ports: [port, 's'] })),
  };
  const device = await DeviceProcess.start({ topology });
  const { child } = device;
  return {
    sockets: { near: [child.socketPath('near.sock')], far: [child.socketPath('far.sock')] },
    arguments: { near: [], far: [] },
    packets: { controlPath: child.controlPath, adapter: 'near' },
    stop: () => device.stop(),
  };
}

/** A network card in each guest; QEMU of the near guest connects when the far one listens. */
async function serveNetwork(): Promise<ServedPeers> {
  const directory = makeRunDirectory();
  const address = `addr.type=unix,addr.path=${join(directory, 'network')}`;
  const card = (node: number, end: string): string[] => [
    ...['-netdev', `stream,id=peer,${address},${end}`],
    ...['-device', `virtio-net-pci,netdev=peer,mac=52:54:00:00:00:0${node}`],
  ];
  const dump = join(directory, 'dump.pcap');
  const filter = ['-object', `filter-dump,id=dump,netdev=peer,file=${dump},maxlen=65536`];
  return {
    sockets: { near: [], far: [] },
    arguments: { far: card(1, 'server=on'), near: [...card(2, 'server=off,reconnect-ms=200'), ...filter] },
    packets: { dump },
    stop: async () => {
      rmSync(directory, { recursive: true, force: true });
      return [];
    },
  };
}
