// SPDX-License-Identifier: Apache-2.0
/**
 * Control and status registers of send contexts (US 2015/0378953 abstract; docs/DOCUMENTS.md
 * decision 9), and of the send memory.
 */
import {
  CSR,
  getCsrSendContextControlCreditInterrupt,
  getCsrSendContextControlEnable,
  getCsrSendContextControlForce,
  getCsrSendContextControlHalt,
  setCsrSendContextControlCreditInterrupt,
  setCsrSendContextControlEnable,
  setCsrSendContextControlForce,
  setCsrSendContextStatusFreeCounter,
  setCsrSendContextStatusHaltCause,
  setCsrSendContextStatusOccupied,
  setCsrSendContextStatusReturnedCounter,
  setCsrSendContextStatusState,
} from '../../../protocol/layout/gen/registers.gen.ts';
import { FaultKind, FaultObject, SendContextState, SendHaltCause } from '../../../protocol/layout/gen/values.gen.ts';
import type { SendContext } from '../pio/send-context.ts';
import type { RegisterParts } from './register-parts.ts';

const DWORD_BYTES = 4;

export function attachSendContextRegisters(parts: RegisterParts): void {
  const { registers } = parts;
  const { memory } = parts.shared.sendContexts;
  const { number } = parts.underlying;
  const find = (index: number): SendContext | undefined => parts.shared.sendContexts.get(parts.underlying, index);
  registers.attach(CSR.SEND_CONTEXT_CONTROL, {
    read: (index) => describeControl(find(index)),
    write: (index, low) => {
      const context = find(index);
      if (context === undefined)
        parts.underlying.faults.reportNumber(
          FaultKind.REGISTER_RESERVED,
          FaultObject.SEND_CONTEXT,
          index,
          CSR.SEND_CONTEXT_CONTROL + index * DWORD_BYTES,
        );
      else control(context, low, parts.shared.sendContexts.frozen);
    },
  });
  registers.attach(CSR.SEND_CONTEXT_STATUS, { read: (index) => describeStatus(find(index)) });
  registers.attach(CSR.SEND_MEMORY_BLOCKS, { read: () => memory.blockCount });
  registers.attach(CSR.SEND_BLOCKS, { read: () => memory.blocks[number] });
  registers.attach(CSR.SEND_BLOCKS_IN_USE, { read: () => memory.blocksUsed[number] });
  registers.attach(CSR.SEND_CONTEXTS, { read: () => memory.contexts[number] });
  registers.attach(CSR.SEND_CONTEXTS_IN_USE, { read: () => memory.contextsUsed[number] });
}

/**
 * Enable takes effect in the disabled state only, and not while all contexts are frozen. A rising
 * edge of force returns credits.
 */
function control(context: SendContext, low: number, frozen: boolean): void {
  context.creditInterrupt = getCsrSendContextControlCreditInterrupt(low) === 1;
  if (getCsrSendContextControlEnable(low) === 0) context.disable();
  else if (!frozen) context.enable();
  const force = getCsrSendContextControlForce(low) === 1;
  if (force && !context.forced) context.force();
  context.forced = force;
  if (getCsrSendContextControlHalt(low)) context.halt(SendHaltCause.SOFTWARE);
}

function describeControl(context: SendContext | undefined): number {
  if (context === undefined) return 0;
  const { state } = context;
  const enabled = state !== SendContextState.DISABLED && state !== SendContextState.DRAINING;
  let value = setCsrSendContextControlEnable(0, enabled ? 1 : 0);
  value = setCsrSendContextControlForce(value, context.forced ? 1 : 0);
  return setCsrSendContextControlCreditInterrupt(value, context.creditInterrupt ? 1 : 0);
}

function describeStatus(context: SendContext | undefined): number {
  if (context === undefined) return 0;
  let value = setCsrSendContextStatusFreeCounter(0, context.freeCounter);
  value = setCsrSendContextStatusReturnedCounter(value, context.returnedCounter);
  value = setCsrSendContextStatusState(value, context.state);
  value = setCsrSendContextStatusHaltCause(value, context.haltCause);
  return setCsrSendContextStatusOccupied(value, context.waitingCount > 0 ? 1 : 0);
}
