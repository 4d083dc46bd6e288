// SPDX-License-Identifier: Apache-2.0
/**
 * Hostile use of a port that all functions share: well-formed commands that would take it down,
 * take its QP0 or QP1, or change what it offers, and many attachments to multicast groups
 * (docs/DOCUMENTS.md decision 14). Used by `Attacker`.
 */

import { MULTICAST_LID_BASE } from '../../../protocol/infiniband/addresses.ts';
import { MAD_BYTES } from '../../../protocol/infiniband/mad/mad-headers.ts';
import { ManagementOpcode, ServiceType } from '../../../protocol/layout/gen/values.gen.ts';
import type { Random } from '../../random.ts';
import type { Driver } from '../driver/driver.ts';
import type { ManagementRequest } from '../driver/management-channel.ts';
import { madPayload, multicastPayload, portChangesPayload, qpCreationPayload } from '../driver/payloads.ts';
import type { DriverQueuePair } from '../driver/queue-pair.ts';
import type { DriverBuffer } from '../driver/requests.ts';

/** Set of the port information by LID, with logical state DOWN and no LID. */
const SET_PORT_INFO = [1, 1, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0x15];
const PORT_STATE_OFFSET = 64 + 32;
const DOWN = 1;
const MGID_BYTES = 16;
const PORTS = 2;
const DESCRIPTION_BYTES = 64;
/** Bit of the capability mask: a subnet manager runs here. */
const IS_SM = 0x2;

/** Draws commands; one for each driver of the attacker. */
export class PortAttack {
  readonly #random: Random;
  readonly #queuePairs: readonly DriverQueuePair[];
  /** Memory of the attacker for a datagram. */
  readonly #buffer: DriverBuffer;

  constructor(driver: Driver, random: Random, queuePairs: readonly DriverQueuePair[]) {
    this.#random = random;
    this.#queuePairs = queuePairs;
    this.#buffer = driver.createBuffer(MAD_BYTES);
  }

  /** The next command, for one of the ports. */
  draw(): ManagementRequest {
    const random = this.#random;
    const modifier = 1 + random.below(PORTS);
    switch (random.below(5)) {
      case 0:
        return { opcode: ManagementOpcode.EXECUTE_MAD, modifier, payload: this.#fillDatagram() };
      case 1: {
        const payload = portChangesPayload({ capabilitiesSet: IS_SM, resetQkeyCounter: 1 });
        return { opcode: ManagementOpcode.MODIFY_PORT, modifier, payload };
      }
      case 2: {
        const serviceType = random.pick([ServiceType.SMI, ServiceType.GSI]);
        const strides = { sendStrideLog2: 6, receiveStrideLog2: 5 };
        const payload = qpCreationPayload({ serviceType, specialPort: modifier, ...strides });
        return { opcode: ManagementOpcode.CREATE_QP, payload };
      }
      case 3:
        return { opcode: ManagementOpcode.MODIFY_ADAPTER, payload: random.bytes(DESCRIPTION_BYTES) };
      default:
        return this.#changeGroup();
    }
  }

  #fillDatagram(): Uint8Array {
    const { bytes, address } = this.#buffer;
    bytes.fill(0);
    bytes.set(SET_PORT_INFO);
    bytes[PORT_STATE_OFFSET] = DOWN;
    return madPayload({ bufferAddress: address, ignoreMkey: 1 });
  }

  #changeGroup(): ManagementRequest {
    const random = this.#random;
    const mgid = new Uint8Array(MGID_BYTES).fill(random.below(8), 1);
    mgid[0] = 0xff;
    const opcode = random.oneIn(3) ? ManagementOpcode.DETACH_MULTICAST : ManagementOpcode.ATTACH_MULTICAST;
    const payload = multicastPayload(mgid, MULTICAST_LID_BASE + random.below(8));
    return { opcode, objectNumber: random.pick(this.#queuePairs).qpn, payload };
  }
}
