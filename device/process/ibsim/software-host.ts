// SPDX-License-Identifier: Apache-2.0
/**
 * A port of the fabric with software behind it: what a client of the host door attaches to. It is
 * port 1 of a virtual adapter, a port of an adapter of this process, or port 0 of a switch.
 * `ibsim-server.ts` uses it; `host-directory.ts` finds and makes it.
 */
import type { MadExchange } from './mad-exchange.ts';

export interface SoftwareHost {
  readonly name: string;
  /** Carries the datagrams of all its clients. */
  readonly exchange: MadExchange;
  /** The port is ACTIVE: it has a LID, and knows its subnet manager. */
  readonly isActive: boolean;
  /** These write an attribute as the port itself would answer, ATTRIBUTE_BYTES of it. */
  writeNodeInfo(into: Uint8Array): void;
  writePortInfo(into: Uint8Array, portNumber: number): void;
  /** The first 32 partition keys. */
  writePKeys(into: Uint8Array): void;
  /** A client is a subnet manager from now on, or no longer: the IsSM capability of the port. */
  setManager(isManager: boolean): void;
}

export interface HostDirectory {
  /** The host of this name, made when there is none; '' for any. A sentence: why there is none. */
  open(name: string): SoftwareHost | string;
  /** The last client of the host has left. */
  release(host: SoftwareHost): void;
  /** The fabric has a subnet manager: a new port becomes ACTIVE without its client. */
  readonly hasManager: boolean;
}
