// SPDX-License-Identifier: Apache-2.0
/**
 * Four adapters at two leaf switches, joined by two spines, with the built-in subnet manager. The
 * trunk that a connection uses is cut under traffic, and joined again (docs/FABRIC.md).
 */
import { encodeLinkChange } from '../../../device/fabric/link/link-changes.ts';
import type { Switch } from '../../../device/fabric/switch/switch.ts';
import type { RecordedFabric } from '../../../device/rig/machine/fabric-machine.ts';
import { defaultSwitchNode, type FabricPlan } from '../../../device/topology/fabric-plan.ts';
import { generate } from '../../../device/topology/generate.ts';
import { PortState, portStateName } from '../../../protocol/layout/gen/values.gen.ts';
import { connectEnds, DriverEnd } from '../driver-end.ts';
import { planAdapter, type Scene, type SceneStop, type Seen } from '../scene.ts';

const MESSAGE_BYTES = 1000;
const MESSAGES = 8;
/** Time between two messages. */
const EVERY_NS = 20_000;
/** 4.096 µs * 2^17. */
const TIMEOUT = 17;
const TIMEOUT_TEXT = `${Math.round(4.096e-3 * 2 ** TIMEOUT)} ms`;
const SWITCH_GUIDS = 0x0056_5548_5357_0000n;
const SWITCH_GUID_STRIDE = 0x40n;
/** The ends of the connection; it leaves by this switch. */
const FROM = 0;
const TO = 2;
const LEAF = 'leaf1';

const plan = makePlan();

function makePlan(): FabricPlan {
  const { switches, trunks, places } = generate('fat-tree', { leaves: 2, spines: 2, adaptersPerLeaf: 2 });
  const adapters = places.map((_, index) => planAdapter(`a${index + 1}`, index));
  const cables = [...trunks, ...places.map((place, index) => [`a${index + 1}:1`, place] as const)];
  return {
    adapters,
    switches: switches.map((node, index) => {
      const guid = SWITCH_GUIDS + BigInt(index) * SWITCH_GUID_STRIDE;
      return { ...defaultSwitchNode, ...node, nodeGuid: guid.toString(16).padStart(16, '0') };
    }),
    links: cables.map((ports) => ({ ports, link: { kind: 'cable' } })),
    subnet: 'managed',
  };
}

function play({ machine, built }: RecordedFabric): void {
  const [leaf] = built.switches;
  const isReady = (): boolean => built.switches.every((node) => node.ports.every(({ active }) => active));
  machine.runUntil(isReady, 'all ports are active');
  machine.runUntilIdle();
  const [from, to] = [FROM, TO].map((index) => new DriverEnd(machine, index));
  connectEnds(from, to, { pathMtu: 1, timeout: TIMEOUT });
  const start = (): void => {
    machine.clock.advance(EVERY_NS);
    to.listen(MESSAGE_BYTES);
    from.send(machine.random.bytes(MESSAGE_BYTES));
  };
  const finish = (): void => machine.runUntil(() => from.hasSent() && to.hasReceived(), 'the end of a message');
  const talk = (): void => {
    for (let message = 0; message < MESSAGES; message++) {
      start();
      finish();
    }
    machine.runUntilIdle();
  };
  const change = (word: 'down' | 'up'): void => machine.adapter.changeLink?.(encodeLinkChange(trunk, [word]));
  talk();
  const trunk = `${LEAF}:${leaf.switchTables.getPort(built.adapters[TO].ports[0].lid)}`;
  start();
  change('down');
  finish();
  talk();
  change('up');
  machine.runUntil(isReady, 'the trunk is active again');
  talk();
}

/** The route from the leaf to the other adapter, and the packets that the connection has sent. */
function look(seen: Seen) {
  const leaf = seen.switch(LEAF);
  const { lid } = seen.adapter(`a${TO + 1}`).ports[0];
  const { timeouts } = seen.adapter(`a${FROM + 1}`).engine.connected.completer;
  const port = lid === 0 ? 0 : leaf.switchTables.getPort(lid);
  return { leaf, lid, port, timeouts, received: seen.adapter(`a${TO + 1}`).ports[0].receivePackets };
}

/** The spine to which a port of the leaf is cabled. */
function spineAt(port: number): string {
  const [, other = ''] = plan.links.find(({ ports }) => ports[0] === `${LEAF}:${port}`)?.ports ?? [];
  return other.split(':')[0];
}

function areActive(seen: Seen): boolean {
  return plan.switches.every(({ name }) => seen.switch(name).ports.every(({ active }) => active));
}

function sentBy({ ports }: Switch, port: number): number {
  return ports[port - 1]?.transmitPackets ?? 0;
}

function makeStops(): readonly SceneStop[] {
  const common = { adapter: `a${FROM + 1}`, part: 'fabric' } as const;
  let first = 0;
  let sentBefore = 0;
  return [
    {
      ...common,
      title: 'Cables without a subnet',
      when: (seen) => look(seen).lid === 0,
      says: () => [
        `${plan.adapters.length} adapters, two leaf switches and two spines have just been switched on; no adapter has an address (LID) yet, and no switch knows a way.`,
        `The subnet manager runs on ${LEAF}. It asks each node that it reaches for its ports, one hop further each time.`,
      ],
      source: 'IBTA 14.4.3',
    },
    {
      ...common,
      title: 'A subnet',
      when: (seen) => {
        if (!areActive(seen)) return false;
        first = look(seen).port;
        sentBefore = sentBy(look(seen).leaf, first);
        return true;
      },
      says: (seen) => {
        const { lid, port } = look(seen);
        return [
          'The manager has given each adapter a LID, each switch a forwarding table, and has made all ports active.',
          `a${TO + 1} has LID ${lid}; ${LEAF} sends packets for it by port ${port}, to ${spineAt(port)}. Other LIDs go by the other spine.`,
        ];
      },
      source: 'IBTA 14.4.3, 18.2.4; docs/FABRIC.md',
    },
    {
      ...common,
      title: 'Traffic goes over the trunk',
      when: (seen) => sentBy(look(seen).leaf, first) > sentBefore + MESSAGES,
      says: (seen) => {
        const { leaf } = look(seen);
        return [
          `a${FROM + 1} sends to a${TO + 1} over a reliable connection: port ${first} of ${LEAF} has sent ${sentBy(leaf, first)} packets.`,
          'A switch looks at the destination LID of each packet, and at nothing of the connection.',
        ];
      },
      source: 'IBTA 18.2.4',
    },
    {
      ...common,
      title: 'The trunk is cut',
      when: (seen) => look(seen).leaf.ports[first - 1]?.state === PortState.DOWN,
      says: (seen) => {
        const { leaf, port, lid } = look(seen);
        return [
          `The cable at ${LEAF}:${first} is pulled while a message is on its way; the port is ${portStateName(leaf.ports[first - 1].state)}.`,
          `The table still says port ${port} for LID ${lid}, so packets for it are lost. The switches send a trap to the manager.`,
        ];
      },
      source: 'IBTA 14.2.5.1',
    },
    {
      ...common,
      title: 'Another way',
      when: (seen) => look(seen).port !== first,
      says: (seen) => {
        const { port, lid } = look(seen);
        return [
          `The trap made the manager sweep the subnet again. It found one trunk less, and has written a new table: LID ${lid} goes by port ${port}, to ${spineAt(port)}.`,
          'No adapter was told: addresses stay as they are.',
        ];
      },
      source: 'IBTA 14.4.4; docs/FABRIC.md',
    },
    {
      ...common,
      part: 'story',
      title: 'The connection goes on',
      when: (seen) => look(seen).timeouts > 0,
      says: (seen) => {
        const { timeouts } = look(seen);
        return [
          `For the connection a cut trunk is a lost packet: after ${TIMEOUT_TEXT} without an acknowledgement it sends again (timeouts: ${timeouts}), and now the packets arrive.`,
          'Software sees nothing but one slow message.',
        ];
      },
      source: 'IBTA 9.7.6.1.3',
    },
    {
      ...common,
      title: 'The cable is back',
      when: areActive,
      says: (seen) => {
        const { port, lid, leaf } = look(seen);
        return [
          `The trunk is joined again, has trained, and the manager has made port ${first} of ${LEAF} ${portStateName(leaf.ports[first - 1].state)}.`,
          `LID ${lid} goes by port ${port} from here on, to ${spineAt(port)}.`,
        ];
      },
      source: 'IBTA 14.4.3',
    },
    {
      ...common,
      title: 'All messages have arrived',
      when: (seen) => seen.isLast,
      says: (seen) => {
        const { received, timeouts } = look(seen);
        return [
          `a${TO + 1} has received ${received} packets, every message once and in order.`,
          `The cut cost ${timeouts} timeout, and joining the trunk again cost none.`,
        ];
      },
      source: 'IBTA 9.7.5.1',
    },
  ];
}

export const reroutedTrunk: Scene = { name: 'rerouted-trunk', seed: 9, budget: 64, plan, play, makeStops };
