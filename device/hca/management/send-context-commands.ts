// SPDX-License-Identifier: Apache-2.0
/**
 * Management commands that allocate, modify, query and free send contexts (partitioning, US
 * 2015/0378953 claim 1), as the hfi1 driver allocates and enables them (docs/DOCUMENTS.md decision
 * 9).
 */
import { SEND_CONTEXT_BLOCKS_MAX, VECTOR_COUNT } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  decodeSendContextAttributes,
  encodeSendContextAttributes,
  newSendContextAttributes,
  SEND_CONTEXT_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET,
  SEND_CONTEXT_ATTRIBUTES_BLOCKS_OFFSET,
  SEND_CONTEXT_ATTRIBUTES_CREDIT_ADDRESS_OFFSET,
  SEND_CONTEXT_ATTRIBUTES_PORT_OFFSET,
  SEND_CONTEXT_ATTRIBUTES_THRESHOLD_OFFSET,
  SEND_CONTEXT_ATTRIBUTES_VECTOR_OFFSET,
  SEND_CONTEXT_ATTRIBUTES_VIRTUAL_LANES_OFFSET,
  type SendContextAttributes,
} from '../../../protocol/layout/gen/send-context-attributes.gen.ts';
import { ManagementStatus, SendContextMask, SendContextState } from '../../../protocol/layout/gen/values.gen.ts';
import type { SendContext } from '../pio/send-context.ts';
import type { CommandContext } from './command-context.ts';
import { blameObject } from './share-commands.ts';

const ALL_MASK = Object.values(SendContextMask).reduce((all, bit) => all | bit, 0);
/** Attributes that only a disabled context may change. */
const FIXED_MASK = SendContextMask.CREDIT_ADDRESS | SendContextMask.PORT;
/** The shortest context holds one packet and the first block of the next one. */
const BLOCKS_MIN = 2;
const LINE_BYTES = 64;

const request: SendContextAttributes = newSendContextAttributes();

/** CREATE_SEND_CONTEXT: allocates a range of blocks to the function. */
export function createSendContext(context: CommandContext): ManagementStatus {
  decodeSendContextAttributes(context.command, context.payload, request);
  const { blocks } = request;
  if (blocks < BLOCKS_MIN || blocks > SEND_CONTEXT_BLOCKS_MAX)
    return context.badField(SEND_CONTEXT_ATTRIBUTES_BLOCKS_OFFSET, SEND_CONTEXT_BLOCKS_MAX);
  const status = check(context, ALL_MASK, blocks);
  if (status !== ManagementStatus.OK) return status;
  const refusal = checkRoom(context, blocks);
  if (refusal !== ManagementStatus.OK) return refusal;
  const created = context.adapter.sendContexts.add(context.issuer, blocks);
  context.label(created);
  apply(created, ALL_MASK);
  context.objectNumber = created.number;
  return ManagementStatus.OK;
}

/** MODIFY_SEND_CONTEXT: changes the attributes that the mask names. */
export function modifySendContext(context: CommandContext): ManagementStatus {
  const found = find(context);
  if (found === undefined) return context.badObject();
  decodeSendContextAttributes(context.command, context.payload, request);
  const mask = request.attributeMask;
  if ((mask & ~ALL_MASK) !== 0) return context.badField(SEND_CONTEXT_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET, ALL_MASK);
  const status = check(context, mask, found.blocks.count);
  if (status !== ManagementStatus.OK) return status;
  if ((mask & FIXED_MASK) !== 0 && found.state !== SendContextState.DISABLED)
    return context.badPayload(
      ManagementStatus.BAD_STATE,
      SEND_CONTEXT_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET,
      ALL_MASK & ~FIXED_MASK,
    );
  apply(found, mask);
  // A new threshold may make freed credits due, or prevent that they ever become due: one forced
  // return keeps software from waiting for ever.
  if (mask & SendContextMask.THRESHOLD) found.force();
  return ManagementStatus.OK;
}

/** QUERY_SEND_CONTEXT: returns the attributes of the context. */
export function querySendContext(context: CommandContext): ManagementStatus {
  const found = find(context);
  if (found === undefined) return context.badObject();
  Object.assign(request, newSendContextAttributes());
  request.blocks = found.blocks.count;
  request.virtualLanes = found.virtualLanes;
  request.port = found.port;
  request.creditInterrupt = found.creditInterrupt ? 1 : 0;
  request.checkPkey = found.checkPkey ? 1 : 0;
  request.pkey = found.pkey;
  request.creditAddress = found.creditAddress;
  request.threshold = found.threshold;
  request.vector = found.vector;
  request.state = found.state;
  request.haltCause = found.haltCause;
  request.freeCounter = found.freeCounter;
  request.returnedCounter = found.returnedCounter;
  request.packetsSent = found.packetsSent;
  request.packetsDropped = found.packetsDropped;
  request.writesDropped = found.writesDropped;
  request.creditReturns = found.creditReturns;
  request.packetsWaiting = found.waitingCount;
  encodeSendContextAttributes(context.responseView, 0, request);
  return ManagementStatus.OK;
}

/** DESTROY_SEND_CONTEXT: frees a disabled context and its blocks. */
export function destroySendContext(context: CommandContext): ManagementStatus {
  const found = find(context);
  if (found === undefined) return context.badObject();
  if (found.state !== SendContextState.DISABLED) return ManagementStatus.IN_USE;
  context.adapter.sendContexts.remove(found);
  return ManagementStatus.OK;
}

function find(context: CommandContext): SendContext | undefined {
  return context.adapter.sendContexts.get(context.issuer, context.header.objectNumber);
}

/** The share of the function has a context and its blocks left, and no other function uses them. */
function checkRoom(context: CommandContext, blocks: number): ManagementStatus {
  const { memory } = context.adapter.sendContexts;
  const { number } = context.issuer;
  if (memory.contextsLeft(number) === 0) return blameObject(context, ManagementStatus.SHARE_USED_UP, 0);
  const left = memory.blocksLeft(number);
  if (blocks > left)
    return context.badPayload(ManagementStatus.SHARE_USED_UP, SEND_CONTEXT_ATTRIBUTES_BLOCKS_OFFSET, left);
  return memory.hasRoom(blocks) ? ManagementStatus.OK : ManagementStatus.CONVERGING;
}

/** Checks what the mask names. */
function check(context: CommandContext, mask: number, blocks: number): ManagementStatus {
  if (mask & SendContextMask.VIRTUAL_LANES && request.virtualLanes === 0)
    return context.badField(SEND_CONTEXT_ATTRIBUTES_VIRTUAL_LANES_OFFSET);
  if (mask & SendContextMask.PORT && (request.port < 1 || request.port > context.managed.ports.length))
    return context.badField(SEND_CONTEXT_ATTRIBUTES_PORT_OFFSET, context.managed.ports.length);
  if (mask & SendContextMask.THRESHOLD && request.threshold > blocks)
    return context.badField(SEND_CONTEXT_ATTRIBUTES_THRESHOLD_OFFSET, blocks);
  if (mask & SendContextMask.INTERRUPT && request.vector >= VECTOR_COUNT)
    return context.badField(SEND_CONTEXT_ATTRIBUTES_VECTOR_OFFSET, VECTOR_COUNT - 1);
  if (mask & SendContextMask.CREDIT_ADDRESS) {
    const address = request.creditAddress;
    const isMapped = context.issuer.dma.at(address).read(context, LINE_BYTES, new Uint8Array(LINE_BYTES), 0);
    if (address % LINE_BYTES !== 0 || !isMapped)
      return context.badPayload(ManagementStatus.BAD_ADDRESS, SEND_CONTEXT_ATTRIBUTES_CREDIT_ADDRESS_OFFSET);
  }
  return ManagementStatus.OK;
}

function apply(target: SendContext, mask: number): void {
  if (mask & SendContextMask.VIRTUAL_LANES) target.virtualLanes = request.virtualLanes;
  if (mask & SendContextMask.PORT) target.port = request.port;
  if (mask & SendContextMask.PKEY) {
    target.checkPkey = request.checkPkey === 1;
    target.pkey = request.pkey;
  }
  if (mask & SendContextMask.CREDIT_ADDRESS) target.creditAddress = request.creditAddress;
  if (mask & SendContextMask.THRESHOLD) target.threshold = request.threshold;
  if (mask & SendContextMask.INTERRUPT) {
    target.creditInterrupt = request.creditInterrupt === 1;
    target.vector = request.vector;
  }
}
