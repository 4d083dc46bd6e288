// SPDX-License-Identifier: Apache-2.0
/**
 * A client of the host door: opensm, a diagnostic, any program with ibsim's client library. It has
 * a UDP socket of its own for datagrams, which the system connects to the client's: nothing from
 * elsewhere arrives, and the next datagram shows whether the client has died. `IbsimServer` makes
 * one for each CONNECT.
 */

import type { Socket } from 'node:dgram';
import { GENERAL_SERVICES_QPN, SUBNET_MANAGEMENT_QPN } from '../../../protocol/infiniband/addresses.ts';
import {
  encodeIbsimDatagram,
  getIbsimDatagramDestQpn,
  getIbsimDatagramDlid,
  getIbsimDatagramLengthBytesLow,
  getIbsimDatagramSlid,
  getIbsimDatagramSourceQpn,
  IBSIM_DATAGRAM_MAD_OFFSET,
  IBSIM_DATAGRAM_SIZE,
} from '../../../protocol/infiniband/gen/ibsim-datagram.gen.ts';
import { MAD_BYTES } from '../../../protocol/infiniband/mad/mad-headers.ts';
import { viewOf } from '../../../protocol/layout/view.ts';
import { generalAddress, type MadAddress, subnetAddress } from '../../fabric/agents/mad-packet.ts';
import type { MadClient } from './mad-exchange.ts';
import { readableBytes } from './mad-segments.ts';
import type { SoftwareHost } from './software-host.ts';

/** ETIMEDOUT: the status of a request that had no response. */
const TIMED_OUT = 110;

interface IbsimClientOptions {
  readonly number: number;
  readonly host: SoftwareHost;
  /** Bound, and connected to the client. */
  readonly socket: Socket;
  /** UDP port of the client's control messages. */
  readonly controlPort: number;
  /** UDP port of the client's datagrams. */
  readonly dataPort: number;
  /** Called after a datagram has been handed to the fabric. */
  readonly wake: () => void;
  /** Called once when the client has died. */
  readonly onGone: (client: IbsimClient) => void;
}

export class IbsimClient implements MadClient {
  readonly number: number;
  readonly host: SoftwareHost;
  readonly controlPort: number;
  readonly dataPort: number;
  isManager = false;
  /** Datagrams from and to the client, and datagrams that were none. */
  received = 0;
  sent = 0;
  malformed = 0;
  readonly #socket: Socket;
  readonly #wake: () => void;
  readonly #answer = new Uint8Array(IBSIM_DATAGRAM_SIZE);
  readonly #answerView = new DataView(this.#answer.buffer);
  #closed = false;

  constructor({ number, host, socket, controlPort, dataPort, wake, onGone }: IbsimClientOptions) {
    this.number = number;
    this.host = host;
    this.controlPort = controlPort;
    this.dataPort = dataPort;
    this.#socket = socket;
    this.#wake = wake;
    socket.on('message', (bytes) => this.#receive(bytes));
    // A connected socket reports that the other one is closed.
    socket.on('error', () => onGone(this));
    host.exchange.attach(this);
  }

  setManager(isManager: boolean): void {
    if (this.isManager === isManager) return;
    this.isManager = isManager;
    this.host.setManager(isManager);
    this.#wake();
  }

  deliver(address: Readonly<MadAddress>, mad: Uint8Array, isAnswered: boolean): void {
    if (this.#closed) return;
    encodeIbsimDatagram(this.#answerView, 0, {
      dlid: address.dlid,
      slid: address.slid,
      destQpn: address.destQpn,
      sourceQpn: address.sourceQpn,
      status: isAnswered ? 0 : TIMED_OUT,
      lengthBytes: isAnswered ? readableBytes(viewOf(mad)) : MAD_BYTES,
    });
    this.#answer.set(mad, IBSIM_DATAGRAM_MAD_OFFSET);
    this.sent++;
    // The system copies it at once or reports an error, which the event brings.
    this.#socket.send(this.#answer.slice());
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.host.exchange.detach(this);
    this.setManager(false);
    this.#socket.close();
  }

  /** A bad datagram has no effect but on its counter. */
  #receive(bytes: Uint8Array): void {
    const view = viewOf(bytes);
    const destQpn = bytes.length === IBSIM_DATAGRAM_SIZE ? getIbsimDatagramDestQpn(view, 0) : -1;
    if (destQpn !== SUBNET_MANAGEMENT_QPN && destQpn !== GENERAL_SERVICES_QPN) {
      this.malformed++;
      return;
    }
    this.received++;
    const mad = new Uint8Array(MAD_BYTES);
    mad.set(bytes.subarray(IBSIM_DATAGRAM_MAD_OFFSET));
    const length = Math.min(getIbsimDatagramLengthBytesLow(view, 0), MAD_BYTES);
    mad.fill(0, length);
    this.host.exchange.send(this, this.#readAddress(view, destQpn), mad, length);
    this.#wake();
  }

  #readAddress(view: DataView, destQpn: number): MadAddress {
    const slid = getIbsimDatagramSlid(view, 0) || this.host.exchange.port.lid;
    const dlid = getIbsimDatagramDlid(view, 0);
    if (destQpn === SUBNET_MANAGEMENT_QPN) return subnetAddress(slid, dlid);
    const sourceQpn = getIbsimDatagramSourceQpn(view, 0) || GENERAL_SERVICES_QPN;
    return { ...generalAddress(slid, dlid), sourceQpn };
  }
}
