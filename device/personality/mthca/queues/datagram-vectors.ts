// SPDX-License-Identifier: Apache-2.0
/**
 * The address vector in the request of a datagram (IBTA 11.2.2): `SendRequests` keeps it as an
 * address handle for the command that it makes of the request.
 */
import {
  ADDRESS_HANDLE_DESTINATION_GID_OFFSET,
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
import type { PhysicalCollectBuffer } from '../../../hca/collect/physical-collect-buffer.ts';
import type { AddressVectors } from '../../shared/address-vectors.ts';

/** Keeps the vector of the datagram segment at `at` for the command in `buffer`. */
export function storeVector(vectors: AddressVectors, buffer: PhysicalCollectBuffer, view: DataView, at: number): void {
  const { view: handles, bytes } = vectors;
  const base = vectors.offsetOf(buffer);
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
  copyDatagramSegmentGidTo(view, at, bytes, base + ADDRESS_HANDLE_DESTINATION_GID_OFFSET);
}
