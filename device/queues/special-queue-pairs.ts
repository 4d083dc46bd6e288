// SPDX-License-Identifier: Apache-2.0
/**
 * QP0 and QP1 of the ports (IBTA 10.2.4.4): which queue pair receives the management datagrams of a
 * port. A port has one of each, and software of the physical function creates them like other queue
 * pairs. Management adds them, their destruction removes them, and the receiver looks them up.
 */
import { GENERAL_SERVICES_QPN, SUBNET_MANAGEMENT_QPN } from '../../protocol/infiniband/addresses.ts';
import { PORT_MAX } from '../../protocol/layout/gen/constants.gen.ts';
import type { QueuePair } from './queue-pair.ts';

const PER_PORT = GENERAL_SERVICES_QPN + 1;

export class SpecialQueuePairs {
  /** Called after QP0 or QP1 of the port with this number came or went. */
  onChange: ((portNumber: number) => void) | undefined = undefined;
  readonly #queuePairs = new Array<QueuePair | undefined>(PORT_MAX * PER_PORT).fill(undefined);

  /** QP0 or QP1 of the port with this number, if software has created it. */
  get(portNumber: number, wireNumber: number): QueuePair | undefined {
    return this.#queuePairs[(portNumber - 1) * PER_PORT + wireNumber];
  }

  /** True when the port has QP0 or QP1. */
  has(portNumber: number): boolean {
    return (
      this.get(portNumber, SUBNET_MANAGEMENT_QPN) !== undefined ||
      this.get(portNumber, GENERAL_SERVICES_QPN) !== undefined
    );
  }

  /** Makes `qp` the QP0 or QP1 of its port; the place must be free. */
  add(qp: QueuePair): void {
    this.#queuePairs[placeOf(qp)] = qp;
    this.onChange?.(qp.creation.specialPort);
  }

  /** Frees the place of `qp`; does nothing for other queue pairs. */
  remove(qp: QueuePair): void {
    if (!qp.isSpecial || this.#queuePairs[placeOf(qp)] !== qp) return;
    this.#queuePairs[placeOf(qp)] = undefined;
    this.onChange?.(qp.creation.specialPort);
  }
}

function placeOf(qp: QueuePair): number {
  return (qp.creation.specialPort - 1) * PER_PORT + qp.wireNumber;
}
