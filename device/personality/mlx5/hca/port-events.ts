// SPDX-License-Identifier: Apache-2.0
/**
 * Changes of a port as events of the function: its state, and what a subnet manager has set (IBTA
 * 11.6.3). A port that software has switched off has no events.
 */
import { PortState } from '../../../../protocol/layout/gen/values.gen.ts';
import { PortChange as PortEvent } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { PortChange } from '../../../fabric/port/end-port.ts';
import type { PersonalityPort } from '../../shared/personality-port.ts';
import type { Events } from './events.ts';

/** ARMED has none. */
const states: Readonly<Partial<Record<PortState, PortEvent>>> = {
  [PortState.DOWN]: PortEvent.DOWN,
  [PortState.INITIALIZE]: PortEvent.INITIALIZED,
  [PortState.ACTIVE]: PortEvent.ACTIVE,
};

/** A new manager has no event of its own: software asks for its LID after one of a LID. */
const changes: Readonly<Record<PortChange, PortEvent>> = {
  [PortChange.LID]: PortEvent.LID,
  [PortChange.SM]: PortEvent.LID,
  [PortChange.PKEY]: PortEvent.PKEY,
  [PortChange.GID]: PortEvent.GUID,
  [PortChange.CLIENT_REREGISTER]: PortEvent.CLIENT_REREGISTER,
};

/** Posts the events of the port from now on. */
export function announcePort(port: PersonalityPort, events: Events): void {
  const post = (event: PortEvent | undefined): void => {
    if (event !== undefined && port.isEnabled) events.postPort(port.number, event);
  };
  port.onStateChange = ({ state }) => post(states[state]);
  port.onChange = (_, change) => post(changes[change]);
}
