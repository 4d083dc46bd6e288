// SPDX-License-Identifier: Apache-2.0
/**
 * Asynchronous events of ports (IBTA 11.6.3.1): changes of state, and what a subnet manager
 * changes. All functions that use the port get the events. Set up by the adapter.
 */
import { EventType, PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { PortChange } from '../../fabric/port/end-port.ts';
import type { Port } from '../../fabric/port/port.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';

const eventOf: Readonly<Record<PortChange, EventType>> = {
  [PortChange.LID]: EventType.LID_CHANGE,
  [PortChange.SM]: EventType.SM_CHANGE,
  [PortChange.PKEY]: EventType.PKEY_CHANGE,
  [PortChange.GID]: EventType.GID_CHANGE,
  [PortChange.CLIENT_REREGISTER]: EventType.CLIENT_REREGISTER,
};

/** Has every event of the ports posted to the functions that use them. */
export function reportPortEvents(
  ports: readonly Port[],
  functions: readonly { readonly underlying: UnderlyingFunction }[],
): void {
  for (const port of ports) {
    const users = functions.filter(({ underlying }) => port.serves(underlying.number));
    const post = (type: EventType, portNumber: number): void => {
      for (const { underlying } of users) underlying.postPortEvent(type, portNumber);
    };
    port.onChange = (_port, change) => post(eventOf[change], port.number);
    port.onStateChange = (_end, previous) => {
      if (port.active) post(EventType.PORT_ACTIVE, port.number);
      else if (previous === PortState.ACTIVE) post(EventType.PORT_ERROR, port.number);
    };
  }
}
