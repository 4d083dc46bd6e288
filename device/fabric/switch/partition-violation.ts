// SPDX-License-Identifier: Apache-2.0
/**
 * What trap 259 says of a packet that a port of a switch dropped because of its P_Key (InfiniBand
 * specification, 14.2.5.1). `Switch` reads it before the packet is gone.
 */

import { getDethSrcQpn } from '../../../protocol/infiniband/gen/deth.gen.ts';
import { GRH_DGID_OFFSET, GRH_SGID_OFFSET } from '../../../protocol/infiniband/gen/grh.gen.ts';
import { PacketError } from '../../../protocol/infiniband/gen/values.gen.ts';
import { newParsedPacket, PacketCheck, parsePacket } from '../../../protocol/infiniband/packet.ts';
import type { KeyViolation } from '../agents/trap-details.ts';
import type { PacketRing } from '../port/packet-ring.ts';

const GID_BYTES = 16;
const packet = newParsedPacket();

/** The violation by the oldest packet of a ring, or undefined for a malformed one. */
export function readViolation({ view, bytes, readOffset, readLength }: PacketRing): KeyViolation | undefined {
  if (parsePacket(view, readOffset, readLength, packet, PacketCheck.NONE) !== PacketError.NONE) return undefined;
  const { slid, dlid, serviceLevel, destQpn, pKey: key, dethOffset, grhOffset } = packet;
  const sourceQpn = dethOffset < 0 ? 0 : getDethSrcQpn(view, dethOffset);
  const local = { slid, dlid, serviceLevel, sourceQpn, destQpn, key };
  if (grhOffset < 0) return local;
  const gidAt = (offset: number): Uint8Array => bytes.slice(grhOffset + offset, grhOffset + offset + GID_BYTES);
  return { ...local, sgid: gidAt(GRH_SGID_OFFSET), dgid: gidAt(GRH_DGID_OFFSET) };
}
