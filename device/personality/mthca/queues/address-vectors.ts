// SPDX-License-Identifier: Apache-2.0
/**
 * Address vectors of datagrams (IBTA 11.2.2): a request holds its own. One is kept for each collect
 * buffer while the buffer holds the command of the request. `SendRequests` stores them and
 * `UdRequester` loads them.
 */
import { isMulticastLid } from '../../../../protocol/infiniband/addresses.ts';
import {
  ADDRESS_HANDLE_DESTINATION_GID_OFFSET,
  ADDRESS_HANDLE_SIZE,
  getAddressHandlePd,
  setAddressHandleDlid,
  setAddressHandleFlowLabel,
  setAddressHandleGlobalRoute,
  setAddressHandleHopLimit,
  setAddressHandlePd,
  setAddressHandlePort,
  setAddressHandleServiceLevel,
  setAddressHandleSourceGidIndex,
  setAddressHandleSourcePathBits,
  setAddressHandleTrafficClass,
} from '../../../../protocol/layout/gen/address-handle.gen.ts';
import { GID_TABLE_ENTRIES } from '../../../../protocol/layout/gen/constants.gen.ts';
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import {
  copyDatagramSegmentGidTo,
  getDatagramSegmentFlowLabel,
  getDatagramSegmentGidIndex,
  getDatagramSegmentHasRoute,
  getDatagramSegmentHopLimit,
  getDatagramSegmentLid,
  getDatagramSegmentPathBits,
  getDatagramSegmentPd,
  getDatagramSegmentPort,
  getDatagramSegmentServiceLevel,
  getDatagramSegmentTrafficClass,
} from '../../../../protocol/mthca/gen/datagram-segment.gen.ts';
import type { Port } from '../../../fabric/port/port.ts';
import type { PhysicalCollectBuffer } from '../../../hca/collect/physical-collect-buffer.ts';
import type { QueuePair } from '../../../hca/queues/queue-pair.ts';
import type { AddressSource } from '../../../hca/transport/datagrams/address-source.ts';
import type { Path } from '../../../hca/transport/path.ts';

export class AddressVectors implements AddressSource {
  readonly #bytes: Uint8Array;
  readonly #handles: DataView;

  constructor(buffers: number) {
    this.#bytes = new Uint8Array(buffers * ADDRESS_HANDLE_SIZE);
    this.#handles = new DataView(this.#bytes.buffer);
  }

  /** Keeps the vector of the datagram segment at `at` for the command in `buffer`. */
  store({ index }: PhysicalCollectBuffer, view: DataView, at: number): void {
    const handles = this.#handles;
    const base = index * ADDRESS_HANDLE_SIZE;
    setAddressHandleGlobalRoute(handles, base, getDatagramSegmentHasRoute(view, at));
    setAddressHandlePort(handles, base, getDatagramSegmentPort(view, at));
    setAddressHandleServiceLevel(handles, base, getDatagramSegmentServiceLevel(view, at));
    setAddressHandlePd(handles, base, getDatagramSegmentPd(view, at));
    setAddressHandleDlid(handles, base, getDatagramSegmentLid(view, at));
    setAddressHandleSourcePathBits(handles, base, getDatagramSegmentPathBits(view, at));
    setAddressHandleFlowLabel(handles, base, getDatagramSegmentFlowLabel(view, at));
    // The tables of the ports follow each other.
    setAddressHandleSourceGidIndex(handles, base, getDatagramSegmentGidIndex(view, at) % GID_TABLE_ENTRIES);
    setAddressHandleTrafficClass(handles, base, getDatagramSegmentTrafficClass(view, at));
    setAddressHandleHopLimit(handles, base, getDatagramSegmentHopLimit(view, at));
    copyDatagramSegmentGidTo(view, at, this.#bytes, base + ADDRESS_HANDLE_DESTINATION_GID_OFFSET);
  }

  load(qp: QueuePair, { index }: PhysicalCollectBuffer, port: Port, path: Path): FaultKind {
    const base = index * ADDRESS_HANDLE_SIZE;
    const isUsable =
      getAddressHandlePd(this.#handles, base) === qp.pd.number &&
      path.load(this.#handles, base, port) &&
      (path.globalRoute !== 0 || !isMulticastLid(path.dlid));
    return isUsable ? FaultKind.NONE : FaultKind.ADDRESS_HANDLE;
  }
}
