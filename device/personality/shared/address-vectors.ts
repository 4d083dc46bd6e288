// SPDX-License-Identifier: Apache-2.0
/**
 * Address vectors of datagrams (IBTA 11.2.2): a request holds its own. One is kept for each collect
 * buffer while the buffer holds the command of the request. The personality writes it there, and
 * `UdRequester` loads it.
 */
import { isMulticastLid } from '../../../protocol/infiniband/addresses.ts';
import { ADDRESS_HANDLE_SIZE, getAddressHandlePd } from '../../../protocol/layout/gen/address-handle.gen.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { Port } from '../../fabric/port/port.ts';
import type { PhysicalCollectBuffer } from '../../hca/collect/physical-collect-buffer.ts';
import type { QueuePair } from '../../hca/queues/queue-pair.ts';
import type { AddressSource } from '../../hca/transport/datagrams/address-source.ts';
import type { Path } from '../../hca/transport/path.ts';

export class AddressVectors implements AddressSource {
  /** Address handles (`protocol/layout/gen/address-handle.gen.ts`), one for each collect buffer. */
  readonly bytes: Uint8Array;
  readonly view: DataView;

  constructor(buffers: number) {
    this.bytes = new Uint8Array(buffers * ADDRESS_HANDLE_SIZE);
    this.view = new DataView(this.bytes.buffer);
  }

  /** Offset of the vector of the command in a buffer. */
  offsetOf({ index }: PhysicalCollectBuffer): number {
    return index * ADDRESS_HANDLE_SIZE;
  }

  load(qp: QueuePair, buffer: PhysicalCollectBuffer, port: Port, path: Path): FaultKind {
    const base = this.offsetOf(buffer);
    const isUsable =
      getAddressHandlePd(this.view, base) === qp.pd.number &&
      path.load(this.view, base, port) &&
      (path.globalRoute !== 0 || !isMulticastLid(path.dlid));
    return isUsable ? FaultKind.NONE : FaultKind.ADDRESS_HANDLE;
  }
}
