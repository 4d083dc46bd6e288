// SPDX-License-Identifier: Apache-2.0
/**
 * A link whose other end is a test: what the port sends stays in its lanes until the test takes it, what the test puts into `wire` arrives. It carries
 * nothing by itself, and vouches for nothing, so that receivers check every CRC.
 */
import type { Link } from '../port/link.ts';
import { PacketRing } from '../port/packet-ring.ts';
import type { Port } from '../port/port.ts';

const WIRE_PACKETS = 256;

export class ScriptedLink implements Link {
  readonly trusted = false;
  readonly active = false;
  readonly nextNs = Number.POSITIVE_INFINITY;
  /** Packets on their way to the port. */
  readonly wire: PacketRing;

  /** Plugs into the port in place of what was there, and brings it up. */
  constructor(port: Port, packets = WIRE_PACKETS) {
    this.wire = new PacketRing(packets);
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

  detach(): void {}
}
