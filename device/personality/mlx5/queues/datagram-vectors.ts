// SPDX-License-Identifier: Apache-2.0
/**
 * The address vector in the request of a datagram (IBTA 11.2.2): `SendRequests` keeps it as an
 * address handle for the command that it makes of the request. It names neither a protection domain
 * nor a port: those are of the QP.
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
import {
  copyAddressVectorRemoteGidTo,
  getAddressVectorExtended,
  getAddressVectorFlowLabel,
  getAddressVectorGidIndex,
  getAddressVectorHasRoute,
  getAddressVectorHopLimit,
  getAddressVectorPathBits,
  getAddressVectorRemoteLid,
  getAddressVectorServiceLevel,
  getAddressVectorTrafficClass,
} from '../../../../protocol/mlx5/gen/address-vector.gen.ts';
import type { PhysicalCollectBuffer } from '../../../hca/collect/physical-collect-buffer.ts';
import type { QueuePair } from '../../../hca/queues/queue-pair.ts';
import type { AddressVectors } from '../../shared/address-vectors.ts';

/** Keeps the vector of the piece at `at` for the command in `buffer`. */
export function storeVector(
  vectors: AddressVectors,
  { pd, attributes }: QueuePair,
  buffer: PhysicalCollectBuffer,
  view: DataView,
  at: number,
): void {
  const { view: handles, bytes } = vectors;
  const base = vectors.offsetOf(buffer);
  const hasRoute = getAddressVectorExtended(view, at) & getAddressVectorHasRoute(view, at);
  setAddressHandlePd(handles, base, pd.number);
  setAddressHandlePort(handles, base, attributes.port);
  setAddressHandleGlobalRoute(handles, base, hasRoute);
  setAddressHandleServiceLevel(handles, base, getAddressVectorServiceLevel(view, at));
  setAddressHandleDlid(handles, base, getAddressVectorRemoteLid(view, at));
  setAddressHandleSourcePathBits(handles, base, getAddressVectorPathBits(view, at));
  if (hasRoute === 0) return;
  setAddressHandleFlowLabel(handles, base, getAddressVectorFlowLabel(view, at));
  setAddressHandleSourceGidIndex(handles, base, getAddressVectorGidIndex(view, at));
  setAddressHandleTrafficClass(handles, base, getAddressVectorTrafficClass(view, at));
  setAddressHandleHopLimit(handles, base, getAddressVectorHopLimit(view, at));
  copyAddressVectorRemoteGidTo(view, at, bytes, base + ADDRESS_HANDLE_DESTINATION_GID_OFFSET);
}
