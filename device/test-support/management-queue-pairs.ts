// SPDX-License-Identifier: Apache-2.0
/**
 * QP0 and QP1 of an adapter in a test (IBTA 10.2.4.4): created, brought to RTS, with receive
 * buffers, and datagrams of 256 bytes with a pattern. Used by the tests of special queue pairs.
 */
import { GSI_QKEY } from '../../protocol/infiniband/keys.ts';
import { DIRECTED_ROUTE_SMP_DR_SLID_OFFSET as DR_LIDS_OFFSET } from '../../protocol/infiniband/mad/gen/directed-route-smp.gen.ts';
import { encodeMadHeader, newMadHeader } from '../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import { MadClass } from '../../protocol/infiniband/mad/gen/values.gen.ts';
import { ATTRIBUTE_OFFSET, MAD_BYTES } from '../../protocol/infiniband/mad/mad-headers.ts';
import type { CompletionEntry } from '../../protocol/layout/gen/completion-entry.gen.ts';
import { ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import { highOfPort } from '../../protocol/layout/port-number.ts';
import type { DriverQueuePair } from '../hosts/in-process/driver/queue-pair.ts';
import type { SendRequest } from '../hosts/in-process/driver/send-request.ts';
import type { AdapterFixture, Buffer } from './adapter-fixture.ts';

export { MAD_BYTES };
/** Bytes of the area in front of a received datagram. */
export const GRH_BYTES = 40;
/** Class and method of datagrams that no agent takes, by the number of the QP. */
const SOFTWARE_CLASSES = [
  [0x01, 0x81],
  [0x09, 0x03],
] as const;

/** A special QP with receive buffers, in the order of the receive queue. */
export class ManagementQueuePair {
  readonly qp: DriverQueuePair;
  readonly port: number;
  readonly #fixture: AdapterFixture;
  readonly #buffers: Buffer[] = [];
  #taken = 0;

  /** QP0 or QP1 of a port, in RTS, with `receives` buffers posted. */
  constructor(fixture: AdapterFixture, service: 'SMI' | 'GSI', port: number, receives = 4) {
    this.#fixture = fixture;
    this.port = port;
    this.qp = fixture.createQueuePair({
      state: 'reset',
      creation: { serviceType: ServiceType[service], specialPort: port, specialPortHigh: highOfPort(port) },
    });
    this.qp.startSpecial(service === 'SMI' ? 0 : GSI_QKEY);
    for (let count = 0; count < receives; count++)
      this.#buffers.push(fixture.postReceive(this.qp, GRH_BYTES + MAD_BYTES));
  }

  /** Sends a datagram by the address handle; waits for its completion. */
  send(addressHandle: number, mad: Uint8Array, request: SendRequest = {}): CompletionEntry {
    const remoteQpn = this.qp.qkey === 0 ? 0 : 1;
    this.qp.post({ remoteQpn, qkey: this.qp.qkey, addressHandle, inline: mad, ...request });
    return this.qp.parts.sendCq.take();
  }

  /** The next datagram received, with its completion; undefined when there is none. */
  poll(): { entry: CompletionEntry; grh: Uint8Array; mad: Uint8Array } | undefined {
    this.#fixture.settle();
    const entry = this.qp.parts.receiveCq.poll();
    if (entry === undefined) return undefined;
    const { bytes } = this.#buffers[this.#taken++] as Buffer;
    return { entry, grh: bytes.slice(0, GRH_BYTES), mad: bytes.slice(GRH_BYTES) };
  }
}

/**
 * A datagram for software, filled with a pattern that begins with `seed`: a response of subnet
 * management for QP0, a request of a vendor's class for QP1.
 */
export function softwareMad(qpn: 0 | 1, seed = 1): Uint8Array {
  const mad = Uint8Array.from({ length: MAD_BYTES }, (_, index) => (seed + index) & 0xff);
  const [madClass, method] = SOFTWARE_CLASSES[qpn];
  mad.set([1, madClass, 1, method]);
  return mad;
}

/** A request: of subnet management by LID, or by a route without hops; or of general services. */
export function requestMad(
  madClass: number,
  method: number,
  attributeId: number,
  attributeModifier = 0,
  data: readonly number[] = [],
): Uint8Array {
  const mad = new Uint8Array(MAD_BYTES);
  const view = new DataView(mad.buffer);
  const header = { ...newMadHeader(), baseVersion: 1, managementClass: madClass, classVersion: 1, method };
  encodeMadHeader(view, 0, { ...header, attributeId, attributeModifier, transactionIdLow: 0x1234 });
  if (madClass === MadClass.SUBNET_DIRECTED_ROUTE) mad.fill(0xff, DR_LIDS_OFFSET, DR_LIDS_OFFSET + 4);
  mad.set(data, ATTRIBUTE_OFFSET);
  return mad;
}
