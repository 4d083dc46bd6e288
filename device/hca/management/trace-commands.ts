// SPDX-License-Identifier: Apache-2.0
/**
 * Management commands that modify, query and read the trace of a QP (IPCOM000010133D par. 1 and 4;
 * docs/DOCUMENTS.md decision 10). A function traces only its own QPs; only a read writes guest
 * memory. The host's trace requests use `modifyTraceForHost`.
 */
import { TRACE_BLOCKS_MAX_LOG2, TRACE_SNAP_LENGTH_MAX } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  decodeTraceAttributes,
  encodeTraceAttributes,
  newTraceAttributes,
  TRACE_ATTRIBUTES_BLOCKS_LOG2_OFFSET,
  TRACE_ATTRIBUTES_BUFFER_ADDRESS_OFFSET,
  TRACE_ATTRIBUTES_BUFFER_LENGTH_OFFSET,
  TRACE_ATTRIBUTES_SIZE,
  TRACE_ATTRIBUTES_SNAP_LENGTH_OFFSET,
  type TraceAttributes,
} from '../../../protocol/layout/gen/trace-attributes.gen.ts';
import { ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import type { CommandContext } from './command-context.ts';
import type { ManagedAdapter } from './managed-adapter.ts';

type TracingAdapter = Pick<ManagedAdapter, 'tables' | 'traces'>;

const BUFFER_ALIGNMENT = 8;
/** Most bytes that one command writes, so that no guest occupies the service processor for long. */
export const TRACE_READ_MAX_BYTES = 1 << 20;

const attributes: TraceAttributes = newTraceAttributes();

/** MODIFY_TRACE: begins a new trace, in place of the present one, or ends it. */
export function modifyTrace(context: CommandContext): ManagementStatus {
  const qp = find(context);
  if (qp === undefined) return context.badObject();
  decodeTraceAttributes(context.command, context.payload, attributes);
  const wrong = findWrongField(attributes);
  return wrong === undefined
    ? apply(context.adapter, qp, attributes, true)
    : context.badField(wrong.offset, wrong.limit);
}

/** The same for the host, for a QP of `owner`; `bytes` hold `trace-attributes`. */
export function modifyTraceForHost(
  adapter: TracingAdapter,
  owner: UnderlyingFunction,
  queuePair: number,
  bytes: Uint8Array,
): ManagementStatus {
  const qp = adapter.tables.queuePairs.get(queuePair);
  if (qp?.owner !== owner) return ManagementStatus.BAD_OBJECT;
  if (bytes.length < TRACE_ATTRIBUTES_SIZE) return ManagementStatus.BAD_LENGTH;
  decodeTraceAttributes(new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), 0, attributes);
  return findWrongField(attributes) === undefined ? apply(adapter, qp, attributes, false) : ManagementStatus.BAD_FIELD;
}

/** QUERY_TRACE: returns the settings and the positions of the trace. */
export function queryTrace(context: CommandContext): ManagementStatus {
  const qp = find(context);
  if (qp === undefined) return context.badObject();
  Object.assign(attributes, newTraceAttributes());
  answer(context, qp);
  return ManagementStatus.OK;
}

/** READ_TRACE: copies whole command blocks to the buffer. */
export function readTrace(context: CommandContext): ManagementStatus {
  const qp = find(context);
  if (qp === undefined) return context.badObject();
  const trace = visibleTrace(qp);
  if (trace === undefined) return ManagementStatus.BAD_STATE;
  const { bufferAddress, bufferLength, position } = decodeTraceAttributes(context.command, context.payload, attributes);
  if (bufferAddress % BUFFER_ALIGNMENT !== 0)
    return context.badPayload(ManagementStatus.BAD_ADDRESS, TRACE_ATTRIBUTES_BUFFER_ADDRESS_OFFSET);
  const room = Math.min(bufferLength, TRACE_READ_MAX_BYTES);
  let written = 0;
  let refused = false;
  let wanted = 0;
  const { count, next } = context.adapter.traces.read(trace, position, (bytes, lengthBytes) => {
    wanted = lengthBytes;
    if (written + lengthBytes > room) return false;
    refused = !context.issuer.dma.at(bufferAddress + written).write(qp, bytes, 0, lengthBytes);
    written += lengthBytes;
    return !refused;
  });
  if (refused) return context.badPayload(ManagementStatus.BAD_ADDRESS, TRACE_ATTRIBUTES_BUFFER_ADDRESS_OFFSET);
  if (count === 0 && wanted > 0) return context.badField(TRACE_ATTRIBUTES_BUFFER_LENGTH_OFFSET, wanted);
  trace.ring.noteRead(next);
  attributes.position = next;
  attributes.bufferLength = written;
  attributes.count = count;
  answer(context, qp);
  return ManagementStatus.OK;
}

/** The first field out of range and its maximum. A command that ends a trace has no other field. */
function findWrongField({ enable, blocksLog2, snapLength }: TraceAttributes) {
  if (enable === 0) return undefined;
  if (blocksLog2 > TRACE_BLOCKS_MAX_LOG2)
    return { offset: TRACE_ATTRIBUTES_BLOCKS_LOG2_OFFSET, limit: TRACE_BLOCKS_MAX_LOG2 };
  if (snapLength > TRACE_SNAP_LENGTH_MAX)
    return { offset: TRACE_ATTRIBUTES_SNAP_LENGTH_OFFSET, limit: TRACE_SNAP_LENGTH_MAX };
  return undefined;
}

function apply({ traces }: TracingAdapter, qp: QueuePair, asked: TraceAttributes, byGuest: boolean): ManagementStatus {
  const { enable, blocksLog2, snapLength } = asked;
  if (enable === 0) {
    if (visibleTrace(qp) !== undefined) traces.disable(qp);
    return ManagementStatus.OK;
  }
  const settings = { blocksLog2, snapLength, stopOnError: asked.stopOnError === 1, byGuest };
  return traces.enable(qp, settings) ? ManagementStatus.OK : ManagementStatus.NO_RESOURCES;
}

function find(context: CommandContext): QueuePair | undefined {
  return context.own(context.adapter.tables.queuePairs.get(context.header.objectNumber));
}

/** The trace of the QP, unless the host observes it. */
function visibleTrace({ trace }: QueuePair): QueuePair['trace'] {
  return trace?.settings.hidden ? undefined : trace;
}

/** Responds with `attributes`, completed by the state of the trace. */
function answer(context: CommandContext, qp: QueuePair): void {
  const trace = visibleTrace(qp);
  attributes.enable = trace === undefined ? 0 : 1;
  attributes.stopped = trace?.stopped ? 1 : 0;
  attributes.stopOnError = trace?.settings.stopOnError ? 1 : 0;
  attributes.blocksLog2 = trace?.settings.blocksLog2 ?? 0;
  attributes.snapLength = trace?.settings.snapLength ?? 0;
  attributes.head = trace?.ring.head ?? 0;
  attributes.tail = trace?.ring.tail ?? 0;
  attributes.lost = trace?.ring.lost ?? 0;
  encodeTraceAttributes(context.responseView, 0, attributes);
}
