// SPDX-License-Identifier: Apache-2.0
/**
 * Two guests on two adapters that run the suite "peer" against each other. The adapters are in one
 * process, joined by a cable and by a link with faults or by two switches with the built-in subnet
 * manager; or in two processes, joined by a socket link and by one that is cut while it carries
 * traffic. The host carries the words of the guests to each other. Called by peers.test.ts and
 * switches.long.ts.
 */
import { join } from 'node:path';
import { ControlClient } from '../device/process/control/control-client.ts';
import type { LinkReport } from '../device/process/reports/link-report.ts';
import type { Guest } from '../qemu/guest.ts';
import { makeRunDirectory, removeRunDirectory } from '../qemu/run-directory.ts';
import { DeviceProcess } from './harness/device-process.ts';
import { packJob } from './harness/guest-image.ts';
import { type GuestRun, makeRun } from './harness/guest-run.ts';
import { GuestSession, type GuestSessionOptions } from './harness/guest-session.ts';
import { type CaseOptions, makeCaseJob } from './harness/kernel-cases.ts';
import { LinkRelay } from './harness/link-relay.ts';

/** The results of both guests. */
export interface PeerRun {
  readonly guests: readonly GuestRun[];
  /**
   * Links as the device processes report them at the end: the good ones, and those of the case
   * "bad-link".
   */
  readonly good: readonly LinkReport[];
  readonly bad: readonly LinkReport[];
  /** Count of cuts of the link; 0 in one process. */
  readonly cuts: number;
}

/**
 * Link between the adapters: inside one process, or from process to process. With `functions` the
 * guests have virtual functions behind embedded switches.
 */
export type PeerPath = 'links' | 'switches' | 'functions' | 'sockets';

/** The adapter processes of a test, their sockets, and the relay of the link that is cut. */
interface Served {
  readonly devices: readonly DeviceProcess[];
  readonly socketPaths: readonly string[];
  readonly relay: LinkRelay | undefined;
}

const PEER_PORT = 'vuhca.peer';
const PEER_LINE = '@peer ';
const CUT_REQUEST = '@host cut the link';
const GOOD_PORT = 1;
const POLL_MS = 10;
/** The faults of the bad link; the process prints them with its topology. */
const FAULTS = { seed: 20, faults: { drop: 0.01, duplicate: 0.005, reorder: 0.005, corrupt: 0.005 } };

/**
 * Runs both guests to their end. Throws SetupError only when adapter or guest cannot be started.
 */
export async function runPeers(path: PeerPath, options: CaseOptions & GuestSessionOptions = {}): Promise<PeerRun> {
  const pack = async (side: number) => packJob(await makeCaseJob({ ...options, script: 'peer.sh', side }));
  const images = [await pack(0), await pack(1)];
  const directory = makeRunDirectory();
  const served = path === 'sockets' ? await serveApart(directory) : await serveTogether(topologies[path]);
  const sessions = makeSessions(served, options);
  let links: LinkReport[] = [];
  try {
    await Promise.all(images.map((image, side) => sessions[side].start(image, served.socketPaths[side])));
    links = await readLinks(served.devices);
  } finally {
    served.relay?.close();
    for (const device of served.devices) sessions[0].session.addFaults('adapter', await device.stop());
    removeRunDirectory(directory);
  }
  const isGood = ({ ends }: LinkReport): boolean => ends[0].endsWith(`:${GOOD_PORT}`);
  return {
    guests: sessions.map(({ session }) => makeRun(session)),
    good: links.filter(isGood),
    bad: links.filter((link) => !isGood(link)),
    cuts: served.relay?.cuts ?? 0,
  };
}

const adapters = { a: { sockets: ['a.sock'] }, b: { sockets: ['b.sock'] } };

const switched = {
  switches: { s1: { ports: 4 }, s2: { ports: 4 } },
  links: [
    { ports: ['a:1', 's1:1'] },
    { ports: ['b:1', 's2:1'] },
    { ports: ['s1:3', 's2:3'] },
    { ports: ['a:2', 's1:2'], ...FAULTS },
    { ports: ['b:2', 's2:2'], ...FAULTS },
  ],
};

const topologies = {
  links: { adapters, links: [{ ports: ['a:1', 'b:1'] }, { ports: ['a:2', 'b:2'], ...FAULTS }] },
  switches: { adapters, ...switched },
  functions: {
    adapters: {
      a: { sockets: ['physical.sock', 'a.sock'], portModel: 'vswitch' },
      b: { sockets: ['other.sock', 'b.sock'], portModel: 'vswitch' },
    },
    ...switched,
  },
} as const;

async function serveTogether(topology: object): Promise<Served> {
  const device = await DeviceProcess.start({ topology });
  return {
    devices: [device],
    socketPaths: ['a.sock', 'b.sock'].map((name) => device.child.socketPath(name)),
    relay: undefined,
  };
}

async function serveApart(directory: string): Promise<Served> {
  const [good, bad, cut] = ['good', 'bad', 'cut'].map((name) => join(directory, name));
  const first = await DeviceProcess.start({
    arguments: [`--link=1=listen:${good}`, `--link=2=listen:${bad}`],
  });
  const relay = await LinkRelay.listen(cut, bad);
  const second = await DeviceProcess.start({
    arguments: ['--lids=3,4', '--node-guid=0056554843410010', `--link=1=connect:${good}`, `--link=2=connect:${cut}`],
  });
  const devices = [first, second];
  return { devices, socketPaths: devices.map(({ child }) => child.socketPath()), relay };
}

interface PeerSession {
  readonly session: GuestSession;
  start(image: string, socketPath: string): Promise<void>;
}

function makeSessions({ devices, relay }: Served, options: CaseOptions & GuestSessionOptions): PeerSession[] {
  const started = [new Started(), new Started()];
  return [0, 1].map((side) => {
    const onReport = (line: string): void => {
      if (line.startsWith(PEER_LINE)) void tell(started[1 - side].guest, line.slice(PEER_LINE.length));
      else if (line === CUT_REQUEST && relay !== undefined)
        cutUntilLost(relay, devices).catch((error) => session.addFaults('adapter', [`the link was not cut: ${error}`]));
    };
    const session = new GuestSession({ ...options, onReport, guest: { ports: [PEER_PORT], cpus: 1 } });
    return {
      session,
      start: (image, socketPath) => session.run(image, [{ socketPath }], (guest) => started[side].set(guest)),
    };
  });
}

/** A guest that may not have started when the other one sends words to it. */
class Started {
  set: (guest: Guest) => void = () => {};
  readonly guest = new Promise<Guest>((resolve) => {
    this.set = resolve;
  });
}

async function tell(guest: Promise<Guest>, line: string): Promise<void> {
  // When a guest has ended, the other one times out.
  await (await guest)
    .port(PEER_PORT)
    .write(`${line}\n`)
    .catch(() => {});
}

/** Cuts the link, and restores it when both ends are down and packets were lost. */
async function cutUntilLost(relay: LinkRelay, devices: readonly DeviceProcess[]): Promise<void> {
  const before = countLost(await readLinks(devices));
  relay.cut();
  for (;;) {
    const links = await readLinks(devices);
    const bad = links.filter(({ ends }) => !ends[0].endsWith(`:${GOOD_PORT}`));
    if (bad.every(({ up }) => !up) && countLost(links) > before) break;
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
  relay.restore();
}

function countLost(links: readonly LinkReport[]): number {
  return links.reduce((sum, { lost }) => sum + lost, 0);
}

async function readLinks(devices: readonly DeviceProcess[]): Promise<LinkReport[]> {
  const links: LinkReport[] = [];
  for (const { child } of devices) {
    const client = await ControlClient.connect(child.controlPath);
    links.push(...(await client.request('status')).links);
    client.close();
  }
  return links;
}
