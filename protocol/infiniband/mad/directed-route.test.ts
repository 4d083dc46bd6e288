// SPDX-License-Identifier: Apache-2.0
/** Tests of directed routes: each step of the clauses, round trips, packets with any pointers. */

import t from 'tap';
import { PERMISSIVE_LID } from '../addresses.ts';
import { DirectedRoute, MAX_HOPS, OWN_SOFTWARE, routeDirected } from './directed-route.ts';
import {
  DIRECTED_ROUTE_SMP_INITIAL_PATH_OFFSET,
  DIRECTED_ROUTE_SMP_RETURN_PATH_OFFSET,
  DIRECTED_ROUTE_SMP_SIZE,
  getDirectedRouteSmpHopPointer,
  setDirectedRouteSmpDrDlid,
  setDirectedRouteSmpDrSlid,
  setDirectedRouteSmpHopCount,
  setDirectedRouteSmpHopPointer,
  setDirectedRouteSmpIsReturning,
} from './gen/directed-route-smp.gen.ts';

const { HERE, BY_LID, DISCARD } = DirectedRoute;
const PORTS = 4;

interface Packet {
  readonly hops?: number;
  readonly pointer?: number;
  readonly initial?: readonly number[];
  readonly returning?: readonly number[];
  readonly isReturning?: boolean;
  readonly drSlid?: number;
  readonly drDlid?: number;
}

function packet(given: Packet): DataView {
  const view = new DataView(new ArrayBuffer(DIRECTED_ROUTE_SMP_SIZE));
  setDirectedRouteSmpHopCount(view, 0, given.hops ?? 0);
  setDirectedRouteSmpHopPointer(view, 0, given.pointer ?? 0);
  setDirectedRouteSmpIsReturning(view, 0, given.isReturning === true ? 1 : 0);
  setDirectedRouteSmpDrSlid(view, 0, given.drSlid ?? PERMISSIVE_LID);
  setDirectedRouteSmpDrDlid(view, 0, given.drDlid ?? PERMISSIVE_LID);
  for (const [index, port] of (given.initial ?? []).entries())
    view.setUint8(DIRECTED_ROUTE_SMP_INITIAL_PATH_OFFSET + 1 + index, port);
  for (const [index, port] of (given.returning ?? []).entries())
    view.setUint8(DIRECTED_ROUTE_SMP_RETURN_PATH_OFFSET + 1 + index, port);
  return view;
}

interface Step {
  readonly given: Packet;
  readonly arrivalPort: number;
  readonly onAdapter: number;
  readonly onSwitch: number;
  /** Of the switch, afterwards. */
  readonly pointer: number;
}

const PATH = { hops: 3, initial: [2, 3, 4], returning: [1, 2, 3] };
const BACK = { ...PATH, isReturning: true };

/** The clauses, step by step. */
const steps: Readonly<Record<string, Step>> = {
  'C14-9: the requester sends to itself': {
    ...{ given: {}, arrivalPort: OWN_SOFTWARE },
    ...{ onAdapter: HERE, onSwitch: HERE, pointer: 1 },
  },
  'C14-9: the requester sends by the first port': {
    ...{ given: PATH, arrivalPort: OWN_SOFTWARE },
    ...{ onAdapter: 2, onSwitch: 2, pointer: 1 },
  },
  'a route that begins on a link': {
    ...{ given: PATH, arrivalPort: 1 },
    ...{ onAdapter: DISCARD, onSwitch: DISCARD, pointer: 0 },
  },
  'the directed part begins at a switch, after a part by LID': {
    ...{ given: { ...PATH, drSlid: 9 }, arrivalPort: 4 },
    ...{ onAdapter: DISCARD, onSwitch: 2, pointer: 1 },
  },
  'a part by LID leads to a switch, and there is no directed part': {
    ...{ given: { drSlid: 9 }, arrivalPort: 4 },
    ...{ onAdapter: DISCARD, onSwitch: HERE, pointer: 1 },
  },
  'own software in the middle of a route': {
    ...{ given: { ...PATH, pointer: 1 }, arrivalPort: OWN_SOFTWARE },
    ...{ onAdapter: DISCARD, onSwitch: DISCARD, pointer: 1 },
  },
  'C14-9: a switch between': {
    ...{ given: { ...PATH, pointer: 1 }, arrivalPort: 4 },
    ...{ onAdapter: DISCARD, onSwitch: 3, pointer: 2 },
  },
  'the last hop': {
    ...{ given: { ...PATH, pointer: 3 }, arrivalPort: 4 },
    ...{ onAdapter: HERE, onSwitch: HERE, pointer: 4 },
  },
  'C14-10: the directed part ends, the rest is by LID': {
    ...{ given: { ...PATH, pointer: 3, drDlid: 7 }, arrivalPort: 4 },
    ...{ onAdapter: DISCARD, onSwitch: BY_LID, pointer: 4 },
  },
  'it comes by LID from the end of the directed part': {
    ...{ given: { ...PATH, pointer: 4 }, arrivalPort: 4 },
    ...{ onAdapter: HERE, onSwitch: HERE, pointer: 4 },
  },
  'a pointer beyond the route': {
    ...{ given: { ...PATH, pointer: 5 }, arrivalPort: 4 },
    ...{ onAdapter: DISCARD, onSwitch: DISCARD, pointer: 5 },
  },
  'more hops than a path has entries': {
    ...{ given: { hops: MAX_HOPS + 1, initial: [1] }, arrivalPort: OWN_SOFTWARE },
    ...{ onAdapter: DISCARD, onSwitch: DISCARD, pointer: 0 },
  },
  'a port that the node does not have': {
    ...{ given: { hops: 1, initial: [PORTS + 1] }, arrivalPort: OWN_SOFTWARE },
    ...{ onAdapter: DISCARD, onSwitch: DISCARD, pointer: 1 },
  },
  'port 0 in the path': {
    ...{ given: { hops: 2, pointer: 1, initial: [1, 0] }, arrivalPort: 1 },
    ...{ onAdapter: DISCARD, onSwitch: DISCARD, pointer: 2 },
  },
  'port 255 in the path': {
    ...{ given: { hops: 1, initial: [255] }, arrivalPort: OWN_SOFTWARE },
    ...{ onAdapter: DISCARD, onSwitch: DISCARD, pointer: 1 },
  },
  'C14-13: the responder answers': {
    ...{ given: { ...BACK, pointer: 4 }, arrivalPort: OWN_SOFTWARE },
    ...{ onAdapter: 3, onSwitch: 3, pointer: 3 },
  },
  'C14-13: a switch on the way back': {
    ...{ given: { ...BACK, pointer: 3 }, arrivalPort: 1 },
    ...{ onAdapter: DISCARD, onSwitch: 2, pointer: 2 },
  },
  'C14-13: back at the requester': {
    ...{ given: { ...BACK, pointer: 1 }, arrivalPort: 1 },
    ...{ onAdapter: HERE, onSwitch: HERE, pointer: 0 },
  },
  'the way back goes on by LID': {
    ...{ given: { ...BACK, pointer: 1, drSlid: 9 }, arrivalPort: 1 },
    ...{ onAdapter: DISCARD, onSwitch: BY_LID, pointer: 0 },
  },
  'an answer that came by LID': {
    ...{ given: { ...BACK, pointer: 0 }, arrivalPort: 1 },
    ...{ onAdapter: HERE, onSwitch: HERE, pointer: 0 },
  },
  'an answer with a pointer beyond the route': {
    ...{ given: { ...BACK, pointer: 5 }, arrivalPort: 1 },
    ...{ onAdapter: DISCARD, onSwitch: DISCARD, pointer: 5 },
  },
  'an answer to itself': {
    ...{ given: { isReturning: true, pointer: 1 }, arrivalPort: OWN_SOFTWARE },
    ...{ onAdapter: HERE, onSwitch: HERE, pointer: 0 },
  },
};

for (const [name, { given, arrivalPort, onAdapter, onSwitch, pointer }] of Object.entries(steps)) {
  t.test(name, async (t) => {
    t.equal(routeDirected(packet(given), 0, arrivalPort, false, PORTS), onAdapter, 'channel adapter');
    const view = packet(given);
    t.equal(routeDirected(view, 0, arrivalPort, true, PORTS), onSwitch, 'switch');
    t.equal(getDirectedRouteSmpHopPointer(view, 0), pointer, 'hop pointer');
  });
}

t.test('a round trip along a chain of switches, by every number of hops', async (t) => {
  // Node n has port 1 towards the requester and port 2 away from it; the last one is an adapter.
  for (let hops = 1; hops <= MAX_HOPS; hops++) {
    const view = packet({ hops, initial: [1, ...Array.from({ length: hops - 1 }, () => 2)] });
    let port = routeDirected(view, 0, OWN_SOFTWARE, false, 1);
    for (let node = 1; node <= hops; node++) {
      t.equal(port, node === 1 ? 1 : 2, `${hops} hops: node ${node} is reached`);
      port = routeDirected(view, 0, 1, node < hops, 2);
    }
    t.equal(port, HERE, `${hops} hops: the packet is for the last node`);
    setDirectedRouteSmpIsReturning(view, 0, 1);
    port = routeDirected(view, 0, OWN_SOFTWARE, false, 2);
    for (let node = hops - 1; node >= 0; node--) {
      t.equal(port, 1, `${hops} hops: node ${node} is reached on the way back`);
      port = routeDirected(view, 0, node === 0 ? 1 : 2, node > 0, 2);
    }
    t.equal(port, HERE, `${hops} hops: the answer is for the requester`);
  }
});

t.test('no packet leaves the paths or runs for ever, whatever its bytes', async (t) => {
  for (let hops = 0; hops < 256; hops++) {
    for (let pointer = 0; pointer < 256; pointer++) {
      for (const isReturning of [false, true]) {
        const view = packet({ hops, pointer, isReturning });
        for (let at = DIRECTED_ROUTE_SMP_INITIAL_PATH_OFFSET; at < DIRECTED_ROUTE_SMP_SIZE; at++) view.setUint8(at, 1);
        let steps = 0;
        for (let arrivalPort = OWN_SOFTWARE; steps <= MAX_HOPS + 2; arrivalPort = 1, steps++) {
          if (routeDirected(view, 0, arrivalPort, true, PORTS) !== 1) break;
        }
        if (steps > MAX_HOPS + 1) t.fail(`${hops} hops, pointer ${pointer}: the packet goes on for ever`);
      }
    }
  }
  t.pass('all of them end');
});
