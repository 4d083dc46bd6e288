// SPDX-License-Identifier: Apache-2.0
/**
 * QP0 and QP1 of the ports (IBTA 10.2.4.4): which queue pair receives the management datagrams of a
 * port. A port has one of each, and software that manages the port creates them like other queue
 * pairs. Management adds them, their destruction removes them, and the receiver looks them up.
 * Ports are named by their place among the ports of the adapter.
 */
import { GENERAL_SERVICES_QPN, SUBNET_MANAGEMENT_QPN } from '../../../protocol/infiniband/addresses.ts';
import { FUNCTION_MAX, PORT_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import type { QueuePair } from './queue-pair.ts';

const PER_PORT = GENERAL_SERVICES_QPN + 1;

export class SpecialQueuePairs {
  /** Called after QP0 or QP1 of a port came or went. */
  onChange: ((portIndex: number) => void) | undefined = undefined;
  readonly #queuePairs = new Array<QueuePair | undefined>(FUNCTION_MAX * PORT_MAX * PER_PORT).fill(undefined);

  /** QP0 or QP1 of the port, if software has created it. */
  get(portIndex: number, wireNumber: number): QueuePair | undefined {
    return this.#queuePairs[portIndex * PER_PORT + wireNumber];
  }

  /** True when the port has QP0 or QP1. */
  has(portIndex: number): boolean {
    return (
      this.get(portIndex, SUBNET_MANAGEMENT_QPN) !== undefined ||
      this.get(portIndex, GENERAL_SERVICES_QPN) !== undefined
    );
  }

  /** Makes `qp` the QP0 or QP1 of its port; the place must be free. */
  add(qp: QueuePair): void {
    this.#queuePairs[placeOf(qp)] = qp;
    this.onChange?.(portIndexOf(qp));
  }

  /** Frees the place of `qp`; does nothing for other queue pairs. */
  remove(qp: QueuePair): void {
    if (!qp.isSpecial || this.#queuePairs[placeOf(qp)] !== qp) return;
    this.#queuePairs[placeOf(qp)] = undefined;
    this.onChange?.(portIndexOf(qp));
  }
}

function placeOf(qp: QueuePair): number {
  return portIndexOf(qp) * PER_PORT + qp.wireNumber;
}

function portIndexOf({ owner, creation }: QueuePair): number {
  return owner.portBase + creation.specialPort - 1;
}
