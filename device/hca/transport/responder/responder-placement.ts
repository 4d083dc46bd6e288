// SPDX-License-Identifier: Apache-2.0
/**
 * Serves FLUSH and ATOMIC WRITE (IBTA annex A19; docs/COMPLIANCE.md says what of it comes from
 * practice). Both take a responder resource, take effect when they arrive, and are answered by a
 * READ response of zero bytes, which a duplicate gets again. The responder calls it behind its
 * checks of PSN, opcode sequence and resources.
 */
import { getFethPlacementType, getFethSelectivity } from '../../../../protocol/infiniband/gen/feth.gen.ts';
import { getRethDmaLength, getRethRKey } from '../../../../protocol/infiniband/gen/reth.gen.ts';
import { OpcodeFlag } from '../../../../protocol/infiniband/opcodes.ts';
import { MESSAGE_MAX_BYTES } from '../../../../protocol/layout/gen/constants.gen.ts';
import { AccessFlag, FaultKind, FlushSelectivity, PlacementType } from '../../../../protocol/layout/gen/values.gen.ts';
import type { KeyLookup, RegionPort } from '../../protection/key-lookup.ts';
import { ATOMIC_WRITE_BYTES, isPlacement } from '../requester-opcodes.ts';
import { ResponderStep } from '../state/responder-state.ts';
import type { ResponderExecution } from './responder-execution.ts';
import type { ResponderRefusals } from './responder-refusals.ts';
import type { ResponderRequest } from './responder-request.ts';

export class ResponderPlacement {
  readonly #request: ResponderRequest;
  readonly #refusals: ResponderRefusals;
  readonly #execution: ResponderExecution;
  readonly #keys: KeyLookup;
  readonly #words = new Int32Array(ATOMIC_WRITE_BYTES / 4);
  readonly #value = { bytes: new Uint8Array(this.#words.buffer), words: this.#words };

  constructor(request: ResponderRequest, refusals: ResponderRefusals, execution: ResponderExecution, keys: KeyLookup) {
    this.#request = request;
    this.#refusals = refusals;
    this.#execution = execution;
    this.#keys = keys;
  }

  /** Executes or refuses the request in hand. */
  serve(): ResponderStep {
    const { state, packet } = this.#request;
    state.step = ResponderStep.PLACEMENT;
    return packet.flags & OpcodeFlag.FLUSH ? this.#flush() : this.#atomicWrite();
  }

  /**
   * A read of zero bytes pushes all earlier writes of the function into memory (PCI Express base
   * specification, flush semantics); they are visible to all then, and as persistent as the memory.
   */
  #flush(): ResponderStep {
    const { qp, ring, packet } = this.#request;
    const placement = getFethPlacementType(ring.view, packet.fethOffset);
    const selectivity = getFethSelectivity(ring.view, packet.fethOffset);
    const isRange = selectivity === FlushSelectivity.RANGE;
    const length = isRange ? getRethDmaLength(ring.view, packet.rethOffset) : 0;
    if (!isPlacement(placement, selectivity)) return this.#refusals.refuseRequest(FaultKind.COMMAND_OPCODE);
    if (length > MESSAGE_MAX_BYTES) return this.#refusals.refuseRequest(FaultKind.COMMAND_LENGTH);
    const right = rightsOf(placement);
    if ((qp.attributes.access & right) !== right) return this.#refusals.refuseRequest(FaultKind.KEY_ACCESS);
    const region = this.#findFlushed(isRange, length, right);
    if (region === undefined) return this.#refusals.refuseAccess(this.#keys.fault, this.#keys.address);
    // Its address does not matter, as long as it is mapped.
    if (!qp.owner.dma.at(qp.descriptorAddress).flush(qp)) return this.#refusals.refuseOperation(FaultKind.DMA_READ);
    return this.#execution.answerFlush();
  }

  #findFlushed(isRange: boolean, lengthBytes: number, right: number): RegionPort | undefined {
    const { qp, ring, packet } = this.#request;
    const rkey = getRethRKey(ring.view, packet.rethOffset);
    if (!isRange) return this.#keys.checkWhole(qp, rkey, right);
    return this.#request.takeAddress(this.#keys).checkRemote(qp, rkey, lengthBytes, right);
  }

  /** Every reader of the 8 bytes finds all of the old value or all of the new one. */
  #atomicWrite(): ResponderStep {
    const { qp, ring, packet } = this.#request;
    const isWhole =
      packet.payloadLengthBytes === ATOMIC_WRITE_BYTES &&
      getRethDmaLength(ring.view, packet.rethOffset) === ATOMIC_WRITE_BYTES;
    const { address } = this.#request.takeAddress(this.#keys);
    if (!isWhole || address % ATOMIC_WRITE_BYTES !== 0) return this.#refusals.refuseRequest(FaultKind.COMMAND_LENGTH);
    if ((qp.attributes.access & AccessFlag.REMOTE_WRITE) === 0)
      return this.#refusals.refuseRequest(FaultKind.KEY_ACCESS);
    const rkey = getRethRKey(ring.view, packet.rethOffset);
    const region = this.#keys.checkRemote(qp, rkey, ATOMIC_WRITE_BYTES, AccessFlag.REMOTE_WRITE);
    if (region === undefined) return this.#refusals.refuseAccess(this.#keys.fault, address);
    const { bytes } = this.#value;
    for (let at = 0; at < ATOMIC_WRITE_BYTES; at++) bytes[at] = ring.bytes[packet.payloadOffset + at];
    if (region.store(region.owner.dma.at(address), qp, this.#value)) return this.#execution.answerAtomicWrite();
    return this.#execution.pages.await() ?? this.#refusals.refuseOperation(FaultKind.DMA_WRITE);
  }
}

/** Access rights that QP and key need for a FLUSH. */
function rightsOf(placement: number): number {
  return (
    (placement & PlacementType.GLOBAL_VISIBILITY ? AccessFlag.FLUSH_GLOBAL : 0) |
    (placement & PlacementType.PERSISTENCE ? AccessFlag.FLUSH_PERSISTENT : 0)
  );
}
