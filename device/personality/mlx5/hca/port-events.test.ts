// SPDX-License-Identifier: Apache-2.0
/** Which event a change of a port becomes. events.test.ts shows them in a queue. */
import t from 'tap';
import { PortState } from '../../../../protocol/layout/gen/values.gen.ts';
import { PortChange as PortEvent } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { PortChange } from '../../../fabric/port/end-port.ts';
import type { PersonalityPort } from '../../shared/personality-port.ts';
import type { Events } from './events.ts';
import { announcePort } from './port-events.ts';

t.test('each change has its event, and a port that software has switched off has none', async (t) => {
  const posted: (readonly [number, number])[] = [];
  const port = { number: 2, isEnabled: true, state: PortState.DOWN } as PersonalityPort;
  announcePort(port, { postPort: (...event: [number, number]) => void posted.push(event) } as unknown as Events);
  const eventOf = (change: () => void): number | undefined => {
    posted.length = 0;
    change();
    const [event] = posted;
    if (posted.length > 1 || (event !== undefined && event[0] !== port.number)) t.fail(`${posted}`);
    return event?.[1];
  };
  const states = [PortState.DOWN, PortState.INITIALIZE, PortState.ARMED, PortState.ACTIVE];
  const changes = Object.values(PortChange);
  const all = () => [
    states.map((state) => eventOf(() => port.onStateChange?.(Object.assign(port, { state }), state))),
    changes.map((change) => eventOf(() => port.onChange?.(port, change))),
  ];
  const { DOWN, INITIALIZED, ACTIVE, LID, PKEY, GUID, CLIENT_REREGISTER } = PortEvent;
  const wanted = new Map<PortChange, PortEvent>([
    [PortChange.LID, LID],
    [PortChange.SM, LID],
    [PortChange.PKEY, PKEY],
    [PortChange.GID, GUID],
    [PortChange.CLIENT_REREGISTER, CLIENT_REREGISTER],
  ]);
  t.same(all(), [[DOWN, INITIALIZED, undefined, ACTIVE], changes.map((change) => wanted.get(change))]);
  Object.assign(port, { isEnabled: false });
  t.ok(
    all()
      .flat()
      .every((event) => event === undefined),
  );
});
