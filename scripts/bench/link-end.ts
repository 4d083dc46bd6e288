// SPDX-License-Identifier: Apache-2.0
/**
 * One end of a link over a socket for the benchmark of links: a port whose packets are built once,
 * and the pump that runs the link. Used by links.ts and links-worker.ts.
 */

import { StreamLink } from '../../device/fabric/link/stream-link.ts';
import { SocketLink, type SocketLinkOptions } from '../../device/process/host/socket-link.ts';
import { newPort, send } from '../../device/rig/fixtures/port-pair.ts';
import { Pump } from '../../protocol/vfio-user/index.ts';

/** Packets that a pass moves, as in a live process. */
const PASS_PACKETS = 256;

/** What packets of the benchmark are like. */
export interface LinkLoad {
  /** Of each packet. */
  readonly payloadBytes: number;
  /** Data virtual lanes, which they take in turns; each has credits of its own. */
  readonly lanes: number;
}

export class LinkEndLoop {
  readonly socketLink: SocketLink;
  arrived = 0;
  /** Sends each packet back that arrives. */
  echoes = false;
  readonly pump: Pump;
  readonly #port: ReturnType<typeof newPort>;
  readonly #load: LinkLoad;
  #lane = 0;
  #toSend = 0;
  #onPass: (() => void) | undefined = undefined;
  /** Length of its packets on the wire. */
  #lengthBytes = 0;

  /** `pump`: of both ends, when they share a thread. */
  constructor(number: number, options: SocketLinkOptions, load: LinkLoad, pump = new Pump()) {
    this.#port = newPort(number, load.lanes);
    for (let lane = 0; lane < load.lanes; lane++) this.#port.transmitQueues.mapServiceLevel(lane, lane);
    this.#load = load;
    this.pump = pump;
    const wake = (): void => pump.wake();
    this.#port.onWork = wake;
    this.socketLink = new SocketLink(new StreamLink(this.#port), { ...options, wake });
  }

  async start(): Promise<void> {
    await this.socketLink.start();
    this.pump.onPass({ pass: () => this.#pass(), nextAlarmNs: () => this.socketLink.link.nextNs });
    this.pump.start();
  }

  stop(): void {
    this.socketLink.close();
    this.pump.destroy();
  }

  send(count: number): void {
    this.#toSend += count;
    this.pump.wake();
  }

  /** Resolves when the condition holds, which is looked at after each pass. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition())
      await new Promise<void>((resolve) => {
        this.#onPass = resolve;
      });
  }

  /** True if there is more to do. */
  #pass(): boolean {
    this.#fill();
    let moved = this.socketLink.link.carry(this.pump.nowNs(), PASS_PACKETS);
    for (let taken = 0; taken < PASS_PACKETS; taken++) {
      const ring = this.socketLink.link.arrival(this.#port);
      if (ring === undefined) break;
      ring.shift();
      this.arrived++;
      moved++;
      if (this.echoes) this.#toSend++;
    }
    // A promise that a pass settles is served when Node itself calls back.
    if (this.#onPass !== undefined) setImmediate(this.#onPass);
    this.#onPass = undefined;
    return moved > 0;
  }

  /** The slots of the ring hold built packets after the first round; CRCs are computed once. */
  #fill(): void {
    const { payloadBytes, lanes } = this.#load;
    for (let full = 0; full < lanes && this.#toSend > 0 && this.#port.active; ) {
      const lane = this.#lane;
      this.#lane = (lane + 1) % lanes;
      const ring = this.#port.transmitQueues.rings[lane];
      if (ring.full) {
        full++;
        continue;
      }
      full = 0;
      if (ring.leftPackets < ring.capacity) {
        if (!send(this.#port, 0, payloadBytes, lane)) return;
        this.#lengthBytes = ring.readLength;
      } else ring.push(this.#lengthBytes);
      this.#toSend--;
    }
  }
}
