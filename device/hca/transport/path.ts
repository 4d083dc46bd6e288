// SPDX-License-Identifier: Apache-2.0
/**
 * An address vector, decoded once, and the packet headers that follow from it (IBTA 11.2.2,
 * 9.6.1.2.3). A connected QP has one path; `UdRequester` loads one for each datagram.
 */
import { GID_SIZE } from '../../../protocol/infiniband/addresses.ts';
import { GRH_DGID_OFFSET, GRH_SGID_OFFSET } from '../../../protocol/infiniband/gen/grh.gen.ts';
import type { PacketFields } from '../../../protocol/infiniband/packet-fields.ts';
import {
  ADDRESS_HANDLE_DESTINATION_GID_OFFSET,
  getAddressHandleDlid,
  getAddressHandleFlowLabel,
  getAddressHandleGlobalRoute,
  getAddressHandleHopLimit,
  getAddressHandlePort,
  getAddressHandlePortHigh,
  getAddressHandleServiceLevel,
  getAddressHandleSourceGidIndex,
  getAddressHandleSourcePathBits,
  getAddressHandleTrafficClass,
} from '../../../protocol/layout/gen/address-handle.gen.ts';
import { joinPort } from '../../../protocol/layout/port-number.ts';
import type { Port } from '../../fabric/port/port.ts';

export class Path {
  dlid = 0;
  serviceLevel = 0;
  globalRoute = 0;
  readonly destinationGid = new Uint8Array(GID_SIZE);
  #sourcePathBits = 0;
  #sourceGidIndex = 0;
  #flowLabel = 0;
  #trafficClass = 0;
  #hopLimit = 0;

  /**
   * Loads an address-handle. Returns false, with nothing loaded, when it is of another port or
   * names a source GID that the port does not have.
   */
  load(view: DataView, base: number, port: Port): boolean {
    const globalRoute = getAddressHandleGlobalRoute(view, base);
    const sourceGidIndex = getAddressHandleSourceGidIndex(view, base);
    const number = joinPort(getAddressHandlePort(view, base), getAddressHandlePortHigh(view, base));
    if (number !== port.number) return false;
    if (globalRoute !== 0 && !port.hasGid(sourceGidIndex)) return false;
    this.dlid = getAddressHandleDlid(view, base);
    this.serviceLevel = getAddressHandleServiceLevel(view, base);
    this.globalRoute = globalRoute;
    this.#sourcePathBits = getAddressHandleSourcePathBits(view, base);
    this.#sourceGidIndex = sourceGidIndex;
    this.#flowLabel = getAddressHandleFlowLabel(view, base);
    this.#trafficClass = getAddressHandleTrafficClass(view, base);
    this.#hopLimit = getAddressHandleHopLimit(view, base);
    if (this.globalRoute === 0) return true;
    for (let index = 0; index < GID_SIZE; index++)
      this.destinationGid[index] = view.getUint8(base + ADDRESS_HANDLE_DESTINATION_GID_OFFSET + index);
    return true;
  }

  /**
   * True when a packet that arrived at `port` comes from the other end of this path. `grhOffset` is
   * -1 without a GRH (IBTA 9.6.1.2.3).
   */
  accepts(view: DataView, grhOffset: number, port: Port): boolean {
    if (this.globalRoute === 0 || grhOffset < 0) return this.globalRoute === 0 && grhOffset < 0;
    const own = this.#sourceGidIndex * GID_SIZE;
    for (let index = 0; index < GID_SIZE; index++) {
      if (view.getUint8(grhOffset + GRH_SGID_OFFSET + index) !== this.destinationGid[index]) return false;
      if (view.getUint8(grhOffset + GRH_DGID_OFFSET + index) !== port.gids[own + index]) return false;
    }
    return true;
  }

  /** Sets the link and network header fields of a packet that leaves through `port`. */
  apply(fields: PacketFields, port: Port): void {
    fields.virtualLane = 0;
    fields.serviceLevel = this.serviceLevel;
    fields.dlid = this.dlid;
    fields.slid = port.lid | (this.#sourcePathBits & ((1 << port.lmc) - 1));
    fields.hasGrh = this.globalRoute;
    if (this.globalRoute === 0) return;
    fields.trafficClass = this.#trafficClass;
    fields.flowLabel = this.#flowLabel;
    fields.hopLimit = this.#hopLimit;
    const source = this.#sourceGidIndex * GID_SIZE;
    for (let index = 0; index < GID_SIZE; index++) {
      fields.sgid[index] = port.gids[source + index];
      fields.dgid[index] = this.destinationGid[index];
    }
  }
}
