// SPDX-License-Identifier: Apache-2.0
/**
 * The address vector of a connection as software wrote it (IBTA 11.2.5.2), kept for QUERY_QP.
 * Fields that the adapter ignores are not kept: those of address handles, and those of a GRH where
 * packets have none. The commands of queue pairs call it.
 */
import {
  ADDRESS_HANDLE_DESTINATION_GID_BYTES,
  ADDRESS_HANDLE_DESTINATION_GID_OFFSET,
  type AddressHandle,
  decodeAddressHandle,
  encodeAddressHandle,
  newAddressHandle,
} from '../../../protocol/layout/gen/address-handle.gen.ts';

export interface AddressVector {
  readonly fields: AddressHandle;
  readonly destinationGid: Uint8Array;
}

export function copyAddressVector(view: DataView, base: number): AddressVector {
  const fields = decodeAddressHandle(view, base, newAddressHandle());
  fields.valid = 0;
  fields.pd = 0;
  if (fields.globalRoute === 1) return { fields, destinationGid: gidAt(view, base).slice() };
  Object.assign(fields, { flowLabel: 0, sourceGidIndex: 0, trafficClass: 0, hopLimit: 0 });
  return { fields, destinationGid: new Uint8Array(ADDRESS_HANDLE_DESTINATION_GID_BYTES) };
}

export function writeAddressVector(view: DataView, base: number, { fields, destinationGid }: AddressVector): void {
  encodeAddressHandle(view, base, fields);
  gidAt(view, base).set(destinationGid);
}

function gidAt(view: DataView, base: number): Uint8Array {
  const offset = view.byteOffset + base + ADDRESS_HANDLE_DESTINATION_GID_OFFSET;
  return new Uint8Array(view.buffer, offset, ADDRESS_HANDLE_DESTINATION_GID_BYTES);
}
