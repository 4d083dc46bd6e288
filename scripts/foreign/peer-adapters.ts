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

export async function servePeers(adapter: AdapterName): Promise<ServedPeers> {
  if (adapter === 'rxe') return serveNetwork();
  return adapter === 'mthca' ? serveMthca() : serveOurs();
}

const switches = { s: { ports: 8 } };
const noArguments = { near: [], far: [] };

async function serveOurs(): Promise<ServedPeers> {
  const topology = {
    adapters: { near: { sockets: ['near.sock'] }, far: { sockets: ['far.sock'] } },
    switches,
    links: ['near:1', 'near:2', 'far:1', 'far:2'].map((port) => ({ ports: [port, 's'] })),
  };
  const device = await DeviceProcess.start({ topology });
  return {
    sockets: { near: [device.child.socketPath('near.sock')], far: [device.child.socketPath('far.sock')] },
    arguments: noArguments,
    packets: { controlPath: device.child.controlPath, adapter: 'near' },
    stop: () => device.stop(),
  };
}

/** A process for each device, and one with the switch. */
async function serveMthca(): Promise<ServedPeers> {
  const directory = makeRunDirectory();
  const path = (name: string): string => join(directory, name);
  const ends = ['far1', 'far2', 'near1', 'near2'];
  const fabric = await DeviceProcess.start({
    topology: {
      adapters: { unused: { sockets: ['unused.sock'] } },
      switches,
      links: ends.map((name, index) => ({ port: `s:${index + 1}`, listen: path(name) })),
    },
  });
  const start = (name: string, guid: string): Promise<DeviceProcess> =>
    DeviceProcess.start({
      arguments: [
        '--personality=mthca',
        `--node-guid=${guid}`,
        ...[1, 2].map((port) => `--link=${port}=connect:${path(`${name}${port}`)}`),
      ],
    });
  const far = await start('far', '0056554843410100');
  const near = await start('near', '0056554843410200');
  return {
    sockets: { near: near.child.sockets, far: far.child.sockets },
    arguments: noArguments,
    packets: { controlPath: near.child.controlPath },
    stop: async () => {
      const faults = [];
      for (const device of [far, near, fabric]) faults.push(...(await device.stop()));
      rmSync(directory, { recursive: true, force: true });
      return faults;
    },
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
