// SPDX-License-Identifier: Apache-2.0
/**
 * One end of a link over a real socket, in a test: its port, what arrives, what is logged. Used by
 * tests of links to other processes.
 */
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { StreamLink } from '../../fabric/link/stream-link.ts';
import { SocketLink, type SocketLinkOptions } from '../../process/host/socket-link.ts';
import { Arrivals, newPort, send } from '../fixtures/port-pair.ts';

const startNs = performance.now() * 1e6;
/** Ends only a wait that would never end. */
const PATIENCE_MS = 600_000;

/** One side: a port, its link, and a loop that runs it as the pump would. */
export class Side {
  readonly port: ReturnType<typeof newPort>;
  readonly arrivals: Arrivals;
  readonly socketLink: SocketLink;
  readonly lines: string[] = [];

  constructor(
    number: number,
    role: 'listen' | 'connect',
    endpoint: SocketLinkOptions['endpoint'],
    more: Partial<SocketLinkOptions> = {},
    lanes = 1,
  ) {
    this.port = newPort(number, lanes);
    for (let level = 0; level < lanes; level++) this.port.transmitQueues.mapServiceLevel(level, level);
    this.arrivals = new Arrivals(this.port);
    const log = (line: string) => this.lines.push(line);
    this.socketLink = new SocketLink(new StreamLink(this.port), {
      role,
      endpoint,
      retryMs: 5,
      retryMaxMs: 40,
      log,
      ...more,
    });
  }

  run(): void {
    this.socketLink.link.carry(performance.now() * 1e6 - startNs, 100);
    this.arrivals.take();
  }
}

/** Runs the sides until the condition holds. */
export async function until(condition: () => boolean, what: string, ...sides: Side[]): Promise<void> {
  for (const start = performance.now(); ; ) {
    for (const side of sides) side.run();
    if (condition()) return;
    if (performance.now() - start > PATIENCE_MS) throw new Error(`no sign of ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

export const isActive =
  (...sides: Side[]) =>
  () =>
    sides.every(({ port }) => port.state === PortState.ACTIVE);
/** A connecting side for one that listens; both are up when it comes. */
export async function linkTo(
  listener: Side,
  endpoint: SocketLinkOptions['endpoint'],
  more: Partial<SocketLinkOptions> = {},
): Promise<Side> {
  const connector = new Side(2, 'connect', endpoint, more);
  await connector.socketLink.start();
  await until(isActive(listener, connector), 'a link', listener, connector);
  return connector;
}

export const counting = (count: number): number[] => Array.from({ length: count }, (_, index) => index);

export async function exchange(from: Side, to: Side, count: number): Promise<void> {
  let sent = 0;
  const first = to.arrivals.ids.length;
  const move = (): boolean => {
    while (sent < count && send(from.port, sent, 4096)) sent++;
    return to.arrivals.ids.length - first === count;
  };
  await until(move, `${count} packets`, from, to);
}
