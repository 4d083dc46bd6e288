// SPDX-License-Identifier: Apache-2.0
/** Commands of event queues, and the mapping of kinds of events to them. */
import { EVENT_BYTES, VECTOR_COUNT } from '../../../../protocol/mthca/gen/constants.gen.ts';
import { decodeEqContext, EQ_CONTEXT_SIZE, newEqContext } from '../../../../protocol/mthca/gen/eq-context.gen.ts';
import { CommandStatus } from '../../../../protocol/mthca/gen/values.gen.ts';
import { KeyRight } from '../../shared/key-rights.ts';
import { EVENT_KINDS } from '../hca/events.ts';
import { LOG_EQ_ENTRIES } from '../hca/limits.ts';
import { MSIX_INTERRUPT, MthcaEventQueue } from '../queues/event-queue.ts';
import type { MthcaCommandContext } from './command-context.ts';
import { checkBuffer } from './region-commands.ts';

const UNMAP = 0x8000_0000;

/** MAP_EQ: the input parameter is a mask of kinds, the input modifier an EQ and a direction. */
export function mapEvents({ hca, register, modifier }: MthcaCommandContext): CommandStatus {
  if (register.inParameter >= 2 ** EVENT_KINDS) return CommandStatus.BAD_PARAM;
  const isUnmapping = modifier >= UNMAP;
  const eqn = isUnmapping ? modifier - UNMAP : modifier;
  if (!hca.eventQueues.hasIndex(eqn)) return CommandStatus.BAD_INDEX;
  if (!isUnmapping && hca.eventQueues.get(eqn) === undefined) return CommandStatus.BAD_RESOURCE_STATE;
  for (let kind = 0; kind < EVENT_KINDS; kind++) {
    if (Math.floor(register.inParameter / 2 ** kind) % 2 === 0) continue;
    if (isUnmapping) hca.events.unmap(kind);
    else hca.events.map(kind, eqn);
  }
  return CommandStatus.OK;
}

export function giveEventQueue(context: MthcaCommandContext): CommandStatus {
  const { hca, modifier: eqn } = context;
  const free = hca.eventQueues.checkFree(eqn);
  if (free !== CommandStatus.OK) return free;
  const read = context.readInput(EQ_CONTEXT_SIZE);
  if (read !== CommandStatus.OK) return read;
  const eq = decodeEqContext(context.inputView, 0, newEqContext());
  if (eq.logEntries > LOG_EQ_ENTRIES) return CommandStatus.EXCEED_LIMIT;
  // Pin interrupts are not supported; drivers that try MSI-X first never ask for one.
  const isVector = eq.interrupt >= MSIX_INTERRUPT && eq.interrupt < MSIX_INTERRUPT + VECTOR_COUNT;
  if (!isVector || eq.start % EVENT_BYTES !== 0) return CommandStatus.BAD_PARAM;
  const sizeBytes = EVENT_BYTES * 2 ** eq.logEntries;
  const status = checkBuffer(context, eq.key, eq.pd, KeyRight.LOCAL_WRITE, eq.start, sizeBytes);
  if (status === CommandStatus.OK) hca.eventQueues.set(eqn, new MthcaEventQueue(eqn, eq, hca.underlying, hca.regions));
  return status;
}

export function queryEventQueue(context: MthcaCommandContext): CommandStatus {
  const { hca, modifier: eqn, outputView } = context;
  if (!hca.eventQueues.hasIndex(eqn)) return CommandStatus.BAD_INDEX;
  const queue = hca.eventQueues.get(eqn);
  if (queue === undefined) return CommandStatus.BAD_RESOURCE_STATE;
  queue.encode(outputView);
  return context.writeOutput(EQ_CONTEXT_SIZE);
}

export function takeEventQueue(context: MthcaCommandContext): CommandStatus {
  const { hca, modifier: eqn } = context;
  for (const { context: cq } of hca.completionQueues.values())
    if (cq.completionEqn === eqn) return CommandStatus.RESOURCE_BUSY;
  const status = queryEventQueue(context);
  if (status !== CommandStatus.OK) return status;
  hca.retired.events += hca.eventQueues.get(eqn)?.count ?? 0;
  hca.eventQueues.delete(eqn);
  hca.events.unmapQueue(eqn);
  return CommandStatus.OK;
}
