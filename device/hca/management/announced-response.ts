// SPDX-License-Identifier: Apache-2.0
/**
 * The place of a response belongs to the adapter from the command to the answer (docs/HAZARDS.md,
 * "What a doorbell announces"): software that clears it later may wipe the answer out. Looks at it
 * when the command is whole, and before the response is written. Called by the PCIe function and
 * the service processor while the option `orderCheck` is on.
 */
import { getManagementCommandResponseAddress } from '../../../protocol/layout/gen/management-command.gen.ts';
import { MANAGEMENT_RESPONSE_SIZE } from '../../../protocol/layout/gen/management-response.gen.ts';
import { FaultObject } from '../../../protocol/layout/gen/values.gen.ts';
import type { FaultSubject } from '../function/fault-log.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';

/** All places of responses; a place is known by its address. */
const RESPONSES: FaultSubject = { number: 0, faultObject: FaultObject.COMMAND };

/** A command is whole. */
export function announceResponse({ announced, dma }: UnderlyingFunction, command: DataView): void {
  if (announced === undefined) return;
  const address = getManagementCommandResponseAddress(command, 0);
  dma.at(address);
  if (announced.look(MANAGEMENT_RESPONSE_SIZE) !== undefined)
    announced.note('response', RESPONSES, address, MANAGEMENT_RESPONSE_SIZE);
}

/** The response to a command is about to be written. */
export function compareResponse({ announced, dma }: UnderlyingFunction, address: number): void {
  dma.at(address);
  const now = announced?.look(MANAGEMENT_RESPONSE_SIZE);
  if (now === undefined) return;
  announced?.take('response', RESPONSES, address, new Uint8Array(now.buffer), MANAGEMENT_RESPONSE_SIZE);
}
