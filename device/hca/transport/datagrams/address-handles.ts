// SPDX-License-Identifier: Apache-2.0
/**
 * The table of address handles in guest memory (IBTA 11.2.2, 10.2.2.4): the address source of the
 * adapter's own front end. A send command names its handle by index. `UdRequester` calls it.
 */
import {
  ADDRESS_HANDLE_SIZE,
  getAddressHandlePd,
  getAddressHandleValid,
} from '../../../../protocol/layout/gen/address-handle.gen.ts';
import {
  getSendCommandSequence,
  SEND_COMMAND_TARGET_OFFSET,
} from '../../../../protocol/layout/gen/send-command.gen.ts';
import { getUdTargetAddressHandle } from '../../../../protocol/layout/gen/ud-target.gen.ts';
import { FaultKind } from '../../../../protocol/layout/gen/values.gen.ts';
import type { Port } from '../../../fabric/port/port.ts';
import type { PhysicalCollectBuffer } from '../../collect/physical-collect-buffer.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import type { Path } from '../path.ts';
import type { AddressSource } from './address-source.ts';

export class AddressHandles implements AddressSource {
  readonly #handle = new Uint8Array(ADDRESS_HANDLE_SIZE);
  readonly #view = new DataView(this.#handle.buffer);

  /** Reads the address handle and checks that the QP may use it. */
  load(qp: QueuePair, { view }: PhysicalCollectBuffer, port: Port, path: Path): FaultKind {
    const { addressHandleTable, addressHandleCount, dma } = qp.owner;
    const index = getUdTargetAddressHandle(view, SEND_COMMAND_TARGET_OFFSET);
    if (index >= addressHandleCount) return FaultKind.ADDRESS_HANDLE;
    dma.at(addressHandleTable + index * ADDRESS_HANDLE_SIZE);
    if (!dma.read(qp, ADDRESS_HANDLE_SIZE, this.#handle, 0)) return FaultKind.DMA_READ;
    if (qp.owner.announced !== undefined) this.#compare(qp, view);
    const usable =
      getAddressHandleValid(this.#view, 0) === 1 &&
      getAddressHandlePd(this.#view, 0) === qp.pd.number &&
      path.load(this.#view, 0, port);
    return usable ? FaultKind.NONE : FaultKind.ADDRESS_HANDLE;
  }

  /** Looks whether software has stored the handle after it announced the command. */
  #compare(qp: QueuePair, view: DataView): void {
    const sequence = getSendCommandSequence(view, 0);
    qp.owner.announced?.take('address handle', qp, sequence, this.#handle, ADDRESS_HANDLE_SIZE);
  }
}
