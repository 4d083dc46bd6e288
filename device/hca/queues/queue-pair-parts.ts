// SPDX-License-Identifier: Apache-2.0
/**
 * What a queue pair is made of, and what other units do with it (IBTA 10.2.4, 10.3.1): the objects
 * that its creation names, the requester of a connection, and its life cycle. `Q` is `QueuePair`,
 * which holds them without knowing their classes.
 */
import type { FaultKind, QpState } from '../../../protocol/layout/gen/values.gen.ts';
import type { ProtectionDomain } from '../protection/protection-domain.ts';
import type { ContextOrKernel } from './collect-context.ts';
import type { CompletionPort } from './completion-port.ts';
import type { ReceiveSource, SharedReceiveSource } from './receive-source.ts';
import type { SendSlots } from './send-slots.ts';
import type { XrcDomain } from './xrc-domain.ts';

/** The objects that a creation command names. */
export interface QueuePairPartsOf<Q> {
  readonly pd: ProtectionDomain;
  readonly sendCq: CompletionPort;
  readonly receiveCq: CompletionPort;
  /** Undefined when a personality reads the send queue. */
  readonly sendSlots: SendSlots | undefined;
  readonly receiveSource: ReceiveSource;
  readonly srq: SharedReceiveSource | undefined;
  /** The pages that may act on the QP; only the kernel's unless given. */
  readonly collectContext?: ContextOrKernel;
  /** The XRC domain of an XRC target. */
  readonly domain?: XrcDomain | undefined;
  /** `OpcodeFlag` of packets that a personality does not know. */
  readonly unknownFlags?: number;
  readonly life: QueuePairLifeOf<Q>;
}

/** The requester of a connected QP, as admission and send pipeline see it. */
export interface RequesterPart {
  /** Number of commands launched and not completed. */
  readonly recordCount: number;
  /** True while more commands may be launched. */
  readonly acceptsCommands: boolean;
}

/**
 * Changes of a queue pair that concern several units (IBTA 10.3.1). Scheduler, transport and
 * management request them; `hca/transport/engine/queue-pair-life.ts` carries them out in all units
 * that hold state of the QP.
 */
export interface QueuePairLifeOf<Q> {
  /** The QP has noted why it fails, and has not left its state yet. */
  noteFailure(qp: Q): void;
  /** Carries out a state change that software requested and management checked. */
  changeState(qp: Q, next: QpState, notifyWhenDrained: boolean): void;
  /** Moves the QP to ERR and flushes all outstanding work. The caller has noted the failure. */
  moveToError(qp: Q): void;
  /**
   * Handles a failed send command: an unreliable QP goes to SQE, a reliable one to ERR. The caller
   * has noted the failure.
   */
  failSends(qp: Q): void;
  /** Moves a QP that cannot continue to ERR and posts QP_FATAL (IBTA 10.10.2.3). */
  fail(qp: Q, fault: FaultKind): void;
  /** Flushes receive WQEs that software posted to a QP in ERR. */
  flushReceives(qp: Q): void;
  /**
   * Posts SEND_QUEUE_DRAINED if the QP is in SQD and holds no command in flight. Call it only while
   * `drainNotify` is set.
   */
  noteDrained(qp: Q): void;
  /** Removes the QP from every unit and from the table of QPs. */
  destroy(qp: Q): void;
}
