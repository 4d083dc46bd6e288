// SPDX-License-Identifier: Apache-2.0
/**
 * Source of the address vectors of datagrams (IBTA 11.2.2, 11.4.1.1). `AddressHandles` reads the
 * table of address handles in guest memory; the requests of a personality may hold the vector
 * themselves (docs/verbs/PERSONALITIES.md). `UdRequester` calls it for each datagram.
 */
import type { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import type { Port } from '../../../fabric/port/port.ts';
import type { PhysicalCollectBuffer } from '../../collect/physical-collect-buffer.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import type { Path } from '../path.ts';

export interface AddressSource {
  /**
   * Loads `path` with the address vector of the send command in `buffer`, for `port`. Returns NONE,
   * or the fault when the vector cannot be read or `qp` may not use it (IBTA 11.2.2.1).
   */
  load(qp: QueuePair, buffer: PhysicalCollectBuffer, port: Port, path: Path): FaultKind;
}
