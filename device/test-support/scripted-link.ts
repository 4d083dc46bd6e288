// SPDX-License-Identifier: Apache-2.0
/**
 * A link whose other end is a test: sent packets stay in the port's lanes until the test takes
 * them; packets that the test puts into `wire` arrive. It is not trusted, so the receiver checks
 * every CRC. Used by `PacketPeer` and simulations.
 */
import type { Link } from '../port/link.ts';
import { PacketRing } from '../port/packet-ring.ts';
import type { Port } from '../port/port.ts';

const WIRE_PACKETS = 256;

/** The link of one port. */
export class ScriptedLink implements Link {
  readonly trusted = false;
  readonly active = false;
  readonly nextNs = Number.POSITIVE_INFINITY;
  /** Packets in flight to the port. */
  readonly wire: PacketRing;
  readonly #port: Port;

  /** Replaces the link of the port, and brings the port up. */
  constructor(port: Port, packets = WIRE_PACKETS) {
    this.wire = new PacketRing(packets);
    this.#port = port;
    port.plug(this);
    port.setLinkUp(true);
  }

  carry(): number {
    return 0;
  }

  arrival(): PacketRing | undefined {
    return this.wire.count > 0 ? this.wire : undefined;
  }

  settle(): void {}

  retrain(): void {
    this.#port.setLinkUp(true);
  }

  detach(): void {}
}
