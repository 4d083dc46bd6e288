// SPDX-License-Identifier: Apache-2.0
/**
 * Two guests on two adapters that run the suite "peer" against each other. The adapters are in one
 * process, joined by two switches with the built-in subnet manager and by bad links, and the second
 * guest has a virtual function behind an embedded switch; or in two processes, joined by a socket
 * link and by one that is cut while it carries traffic. The host carries words between the guests.
 * Called by peers.test.ts and switches.long.ts.
 */
import { join } from 'node:path';
import { ControlClient } from '../device/process/control/control-client.ts';
import type { LinkReport } from '../device/process/reports/link-report.ts';
import { makeRunDirectory, removeRunDirectory } from '../qemu/run-directory.ts';
import { DeviceProcess } from './harness/device-process.ts';
import { packJob } from './harness/guest-image.ts';
import { type GuestRun, makeRun } from './harness/guest-run.ts';
import { GuestSession, type GuestSessionOptions } from './harness/guest-session.ts';
import { type CaseOptions, makeCaseJob } from './harness/kernel-cases.ts';
import { PEER_PORT, PeerPort } from './harness/peer-port.ts';

/** The results of both guests. */
export interface PeerRun {
  readonly guests: readonly GuestRun[];
  /**
   * Links as the device processes report them at the end: the good ones, and those of the case
   * "bad-link".
   */
  readonly good: readonly LinkReport[];
  readonly bad: readonly LinkReport[];
  /** Number of times that a guest has had a link cut. */
  readonly cuts: number;
}

/** Link between the adapters: inside one process, or from process to process. */
export type PeerPath = 'switches' | 'sockets';

/** The adapter processes of a test and their sockets. */
interface Served {
  readonly devices: readonly DeviceProcess[];
  readonly socketPaths: readonly string[];
}

const PEER_LINE = '@peer ';
const CUT_REQUEST = '@host cut the link';
const BAD_PORT = '2';
const POLL_MS = 10;
/** The faults of the bad link; the process prints them with its topology. */
const FAULTS = { seed: 20, faults: { drop: 0.01, duplicate: 0.005, reorder: 0.005, corrupt: 0.005 } };

/**
 * Runs both guests to their end. Throws SetupError only when adapter or guest cannot be started.
 */
export async function runPeers(path: PeerPath, options: CaseOptions & GuestSessionOptions = {}): Promise<PeerRun> {
  // Only there a port has a subnet manager.
  const suites = path === 'switches' ? ['peer', 'mad'] : ['peer'];
  const pack = async (side: number) => packJob(await makeCaseJob({ ...options, suites, script: 'peer.sh', side }));
  const images = [await pack(0), await pack(1)];
  const directory = makeRunDirectory();
  const served = path === 'sockets' ? await serveApart(directory) : await serveTogether();
  let cuts = 0;
  let ended = false;
  let cutting = Promise.resolve();
  const cut = (): Promise<void> => {
    // Links inside a process are bad all the time.
    if (path !== 'sockets') return cutting;
    cuts++;
    cutting = cutUntilLost(served.devices, () => ended);
    return cutting;
  };
  const sessions = makeSessions(cut, options);
  let links: LinkReport[] = [];
  try {
    await Promise.all(images.map((image, side) => sessions[side].start(image, served.socketPaths[side])));
    ended = true;
    // Guests may end before the last cut does. makeSessions reports a cut that fails.
    await cutting.catch(() => {});
    links = await readLinks(served.devices);
  } finally {
    for (const device of served.devices) sessions[0].session.addFaults('adapter', await device.stop());
    removeRunDirectory(directory);
  }
  return {
    guests: sessions.map(({ session }) => makeRun(session)),
    good: links.filter((link) => !isBad(link)),
    bad: links.filter(isBad),
    cuts,
  };
}

/** The ports of an adapter and a virtual function behind an embedded switch, at two switches. */
const topology = {
  adapters: { a: { sockets: ['a.sock'] }, b: { sockets: ['physical.sock', 'b.sock'], portModel: 'vswitch' } },
  switches: { s1: { ports: 4 }, s2: { ports: 4 } },
  links: [
    { ports: ['a:1', 's1:1'] },
    { ports: ['b:1', 's2:1'] },
    { ports: ['s1:3', 's2:3'] },
    { ports: ['a:2', 's1:2'], ...FAULTS },
    { ports: ['b:2', 's2:2'], ...FAULTS },
  ],
};

async function serveTogether(): Promise<Served> {
  const device = await DeviceProcess.start({ topology });
  return {
    devices: [device],
    socketPaths: ['a.sock', 'b.sock'].map((name) => device.child.socketPath(name)),
  };
}

async function serveApart(directory: string): Promise<Served> {
  const [good, bad] = ['good', 'bad'].map((name) => join(directory, name));
  const first = await DeviceProcess.start({
    arguments: [`--link=1=listen:${good}`, `--link=2=listen:${bad}`],
  });
  const second = await DeviceProcess.start({
    arguments: ['--lids=3,4', '--node-guid=0056554843410010', `--link=1=connect:${good}`, `--link=2=connect:${bad}`],
  });
  const devices = [first, second];
  return { devices, socketPaths: devices.map(({ child }) => child.socketPath()) };
}

interface PeerSession {
  readonly session: GuestSession;
  start(image: string, socketPath: string): Promise<void>;
}

/** `cut` cuts the bad link for a while. */
function makeSessions(cut: () => Promise<void>, options: CaseOptions & GuestSessionOptions): PeerSession[] {
  const ports = [new PeerPort(), new PeerPort()];
  return [0, 1].map((side) => {
    const onReport = (line: string): void => {
      if (line.startsWith(PEER_LINE)) ports[1 - side].tell(line.slice(PEER_LINE.length));
      else if (line === CUT_REQUEST)
        cut().catch((error) => session.addFaults('adapter', [`the link was not cut: ${error}`]));
    };
    const session = new GuestSession({ ...options, onReport, guest: { ports: [PEER_PORT], cpus: 1 } });
    return {
      session,
      start: (image, socketPath) => session.run(image, [{ socketPath }], (guest) => ports[side].open(guest)),
    };
  });
}

/**
 * Cuts the link, and plugs it in again when both ends are down and packets were lost, or when
 * nobody sends any more.
 */
async function cutUntilLost(devices: readonly DeviceProcess[], isOver: () => boolean): Promise<void> {
  const before = countLost(await readLinks(devices));
  await changeBadLink(devices[0], 'down');
  while (!isOver()) {
    const links = await readLinks(devices);
    if (links.filter(isBad).every(({ up }) => !up) && countLost(links) > before) break;
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
  await changeBadLink(devices[0], 'up');
}

async function changeBadLink({ child }: DeviceProcess, word: 'down' | 'up'): Promise<void> {
  const client = await ControlClient.connect(child.controlPath);
  await client.request('link', { port: BAD_PORT, words: [word] });
  client.close();
}

function isBad({ ends }: LinkReport): boolean {
  return ends[0].endsWith(`:${BAD_PORT}`);
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
