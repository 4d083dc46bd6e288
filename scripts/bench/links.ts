// SPDX-License-Identifier: Apache-2.0
/**
 * `npm run bench -- links [--rounds N] [--lanes N]`: bytes per second and the time of a ping-pong
 * over links between two processes: a UNIX socket, TCP on loopback, and TCP with TLS. It is the
 * cost of the link: packets are built once, and their CRCs are neither computed nor checked. The
 * kinds take turns; the medians count, and the ratios to the UNIX socket. Processor time includes
 * waits for credits, in which a pump would spin as well. With both ends in one process neither
 * waits: that is the cost of a packet, on a busy machine too.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { LinkKey } from '../../protocol/system/link-key.ts';
import type { LinkEndpoint } from '../../protocol/system/socket-address.ts';
import { runEntry } from '../../qemu/setup/tools/errors.ts';
import { defineScript, readOptions, wholeNumber } from '../../qemu/setup/tools/script-options.ts';
import { table } from '../console/table.ts';
import { LinkEndLoop, type LinkLoad } from './link-end.ts';
import { median, processorNs } from './statistics.ts';

/** What the other process is told. */
export type LinkOrder =
  | { readonly endpoint: LinkEndpoint; readonly encrypted: boolean; readonly load: LinkLoad }
  | { readonly packets: number; readonly echoes: boolean };

export const linkKey: LinkKey = { kind: 'shared', secret: Buffer.alloc(32, 1) };

const PAYLOAD_BYTES = 4096;
const FLOOD_PACKETS = 64_000;
const FLOOD_BYTES = FLOOD_PACKETS * PAYLOAD_BYTES;
const PING_PONGS = 300;
const NS_PER_MS = 1e6;
const KINDS = ['UNIX socket', 'TCP', 'TCP with TLS'] as const;
type Kind = (typeof KINDS)[number];

interface Sample {
  /** ns by the clock, and of processor time of the busier end. */
  readonly clockNs: number;
  readonly busyNs: number;
  readonly pingPongUs: number;
  /** Processor time of a packet at both ends together, in one process. */
  readonly packetNs: number;
}

if (process.argv[1] === import.meta.filename)
  await runEntry(async () => {
    const script = defineScript('npm run bench -- links', 'Measures links between processes.')
      .option('--rounds <N>', 'Turns of each kind of link.', wholeNumber(1), 5)
      .option('--lanes <N>', 'Virtual lanes, which have credits of their own.', wholeNumber(1, 8), 8);
    const { rounds, lanes } = readOptions<{ rounds: number; lanes: number }>(script);
    await compareKinds(rounds, { payloadBytes: PAYLOAD_BYTES, lanes });
  });

async function compareKinds(rounds: number, load: LinkLoad): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'vuhca-links-'));
  const worker = fork(join(import.meta.dirname, 'links-worker.ts'), { execArgv: ['--import=#typescript'] });
  try {
    const samples = KINDS.map((): Sample[] => []);
    for (let round = -1; round < rounds; round++) {
      for (const [index, kind] of KINDS.entries()) {
        const sample = {
          ...(await measure(kind, join(folder, `${round}`), worker, load)),
          packetNs: await measureAlone(kind, join(folder, `${round}.alone`), load),
        };
        if (round >= 0) samples[index].push(sample);
        process.stderr.write('.');
      }
    }
    process.stderr.write('\n');
    process.stdout.write(describe(samples));
  } finally {
    worker.disconnect();
    rmSync(folder, { recursive: true });
  }
}

async function measure(
  kind: Kind,
  path: string,
  worker: ChildProcess,
  load: LinkLoad,
): Promise<Omit<Sample, 'packetNs'>> {
  const tell = (order: LinkOrder): void => void worker.send(order);
  const askTime = async (): Promise<number> => {
    tell({ packets: 0, echoes: false });
    return ((await once(worker, 'message')) as [number])[0];
  };
  const { end, there, encrypted } = await listen(kind, path, load);
  tell({ endpoint: there, encrypted, load });
  await end.until(() => end.socketLink.link.up);
  try {
    const [there0, here0, startMs] = [await askTime(), processorNs(), performance.now()];
    tell({ packets: FLOOD_PACKETS, echoes: false });
    await end.until(() => end.arrived === FLOOD_PACKETS);
    const clockNs = (performance.now() - startMs) * NS_PER_MS;
    const hereNs = processorNs() - here0;
    const busyNs = Math.max(hereNs, (await askTime()) - there0);
    tell({ packets: 0, echoes: true });
    await once(worker, 'message');
    return { clockNs, busyNs, pingPongUs: await pingPong(end) };
  } finally {
    end.stop();
  }
}

/** The listening end, and where its peer finds it. */
async function listen(kind: Kind, path: string, load: LinkLoad) {
  const isLocal = kind === 'UNIX socket';
  const encrypted = kind === 'TCP with TLS';
  const endpoint = isLocal ? { path } : { host: '127.0.0.1', port: 0 };
  const end = new LinkEndLoop(1, { role: 'listen', endpoint, ...(encrypted ? { key: linkKey } : {}) }, load);
  await end.start();
  return { end, encrypted, there: isLocal ? endpoint : { host: '127.0.0.1', port: end.socketLink.boundPort } };
}

/** ns of processor time of a packet when both ends share a thread. */
async function measureAlone(kind: Kind, path: string, load: LinkLoad): Promise<number> {
  const { end, there, encrypted } = await listen(kind, path, load);
  const key = encrypted ? { key: linkKey } : {};
  const peer = new LinkEndLoop(2, { role: 'connect', endpoint: there, ...key }, load, end.pump);
  await peer.start();
  await end.until(() => end.socketLink.link.up && peer.socketLink.link.up);
  const startNs = processorNs();
  peer.send(FLOOD_PACKETS);
  await end.until(() => end.arrived === FLOOD_PACKETS);
  const packetNs = (processorNs() - startNs) / FLOOD_PACKETS;
  peer.stop();
  end.stop();
  return packetNs;
}

async function pingPong(end: LinkEndLoop): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < PING_PONGS; count++) {
    const { arrived } = end;
    const startMs = performance.now();
    end.send(1);
    await end.until(() => end.arrived > arrived);
    times.push((performance.now() - startMs) * 1000);
  }
  return median(times);
}

function describe(samples: readonly (readonly Sample[])[]): string {
  const [local] = samples;
  const rows = samples.map((own, index) => [
    KINDS[index],
    `${(FLOOD_BYTES / median(own.map(({ clockNs }) => clockNs))).toFixed(2)} GB/s`,
    `${(FLOOD_BYTES / median(own.map(({ busyNs }) => busyNs))).toFixed(2)} GB/s`,
    median(own.map(({ busyNs }, round) => local[round].busyNs / busyNs)).toFixed(2),
    `${median(own.map(({ pingPongUs }) => pingPongUs)).toFixed(0)} us`,
    `${median(own.map(({ pingPongUs }, round) => pingPongUs - local[round].pingPongUs)).toFixed(0)} us`,
    `${median(own.map(({ packetNs }) => packetNs)).toFixed(0)} ns`,
  ]);
  const heads = ['link', 'by the clock', 'of processor time', 'to UNIX', 'ping-pong', 'above UNIX', 'packet alone'];
  return table([heads, ...rows], [0]);
}
