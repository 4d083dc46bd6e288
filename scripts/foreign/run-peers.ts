// SPDX-License-Identifier: Apache-2.0
/**
 * Runs suites of foreign software between two guests with Debian's user space, whose adapters are
 * joined (peer-adapters.ts). The near guest judges; the far one runs servers and targets for it.
 * The host carries their messages (guest-tests/foreign/far.sh). Called by `npm run test:foreign`.
 */
import { GuestSession, type TestResult } from '../../guest-tests/harness/guest-session.ts';
import { PEER_PORT, PeerPort } from '../../guest-tests/harness/peer-port.ts';
import { hasClearedMemory } from './adapter-parts.ts';
import { type ServedPeers, type Sides, servePeers } from './peer-adapters.ts';
import { PeerHost } from './peer-host.ts';
import type { ForeignOptions, ForeignRun } from './run-suites.ts';
import {
  endedSuites,
  judgeSession,
  packSuites,
  type RunFaults,
  readResult,
  SILENCES,
  type SuiteImage,
} from './suite-guest.ts';
import type { AdapterName, ForeignResult } from './suites.ts';

const MEMORY_MIB = 1536;
/** Programs that poll, in two guests, leave one processor for each on a small machine. */
const CPUS = 1;
/** The numbers of the guests in their subnet: the last part of their addresses. */
const NODES = { far: 1, near: 2 } as const;
type Side = keyof typeof NODES;

type Take = (result: ForeignResult | undefined) => void;

/** Throws SetupError when adapters or guests cannot be started. */
export async function runPeerSuites(options: ForeignOptions): Promise<ForeignRun> {
  const { adapters, far: farAdapter, onResult = () => {} } = options;
  const sides = { near: adapters, far: farAdapter === undefined ? adapters : [farAdapter] };
  const images = {
    near: await packSuites({ ...options, set: 'larger', side: 'near' }),
    far: await packSuites({ adapters: sides.far, set: 'larger', suites: ['far'], side: 'far' }),
  };
  const results: ForeignResult[] = [];
  const served = await servePeers(sides);
  const peers = new Peers(served, options, sides, images, (result) => {
    if (result === undefined) return;
    results.push(result);
    onResult(result, peers.near.seconds);
  });
  try {
    await peers.run(served, images);
  } finally {
    peers.host.close();
    peers.near.addFaults('adapter', await served.stop());
  }
  const [near, far] = (['near', 'far'] as const).map((side) => judgeSession(peers[side], sides[side]));
  const ofBoth = (kind: keyof RunFaults): string[] => [
    ...near[kind],
    ...far[kind].map((fault) => `far guest: ${fault}`),
  ];
  return {
    results,
    faults: ofBoth('faults'),
    othersFaults: ofBoth('othersFaults'),
    ended: endedSuites(peers.near),
    seconds: peers.near.seconds,
  };
}

/** The two guests of a run. */
class Peers {
  readonly near: GuestSession;
  readonly far: GuestSession;
  readonly host: PeerHost;
  readonly #ports = { near: new PeerPort(), far: new PeerPort() };

  constructor(
    served: ServedPeers,
    options: ForeignOptions,
    sides: Sides<readonly AdapterName[]>,
    images: Sides<SuiteImage>,
    take: Take,
  ) {
    this.host = new PeerHost(served.packets, (line) => this.#ports.near.tell(line));
    const onReport = (line: string): void => {
      this.host.take(line);
      options.onReport?.(line);
    };
    const session = (side: Side, onResult?: (result: TestResult) => void): GuestSession =>
      new GuestSession({
        ...SILENCES,
        cleared: hasClearedMemory(sides[side]),
        guest: {
          disk: images[side].disk,
          ports: [PEER_PORT],
          memoryMiB: MEMORY_MIB,
          cpus: CPUS,
          append: `NODE=${NODES[side]}`,
          extraArguments: served.arguments[side],
        },
        ...(onResult === undefined ? {} : { onResult, onReport }),
        onKernelLine: (line) => options.onKernelLine?.(`${side}: ${line}`),
      });
    this.near = session('near', (result) => take(readResult(result)));
    this.far = session('far');
  }

  /** Runs both to their ends; neither can go on without the other. */
  async run(served: ServedPeers, images: Sides<SuiteImage>): Promise<void> {
    const runOne = async (side: Side, other: Side): Promise<void> => {
      const devices = served.sockets[side].map((socketPath) => ({ socketPath }));
      await this[side].run(images[side].initramfs, devices, (guest) => {
        guest.port(PEER_PORT).onLine((line) => this.#ports[other].tell(line));
        this.#ports[side].open(guest);
      });
      if (side === 'near') this.#ports.far.tell('end');
      else await this.#ports.near.kill();
    };
    await Promise.all([runOne('near', 'far'), runOne('far', 'near')]);
  }
}
