// SPDX-License-Identifier: Apache-2.0
/**
 * Answers of a server of the page, from fabrics of the rig (fabrics.ts): a live one whose links are
 * busy at random, with an adapter that works, or the recording of a subnet manager that configures
 * its subnet, with one state for each step. false-server.ts serves it.
 */
import { reportRoute } from '../../../device/process/reports/route-report.ts';
import { Random } from '../../../device/random.ts';
import type { ManagedFabricPlan } from '../../../device/rig/fixtures/managed-fabric.ts';
import { describeAct } from '../../cli/view/act-lines.ts';
import type {
  Act,
  ActAnswer,
  Found,
  StoryList,
  StoryQuery,
  ViewQuery,
  ViewSession,
  ViewState,
} from '../../cli/view/view-protocol.ts';
import { BusyAdapter } from '../inside/testing/busy-adapter.ts';
import { ReportedFabric } from './fabrics.ts';

const CONTROL = '/run/user/1000/vuhca/control';
/** Bytes of the busiest link in one frame, at 4x QDR. */
const MOST_BYTES = 5e8;
const FRAME_NS = 1e8;

export interface FalseSource {
  readonly session: ViewSession;
  /** No state is answered before it resolves. */
  readonly whenReady?: Promise<void>;
  state(query: ViewQuery): ViewState;
  route(from: string, to: string): unknown;
  find(condition: string, from: number, backward: boolean): Found;
  act(act: Act): ActAnswer;
  /** Of a source whose messages are traced. */
  stories?(query: StoryQuery): StoryList;
}

type Node = ViewState['fabric']['nodes'][number];

/** `change`: changes the state before it is shown. */
export function liveSource(
  plan: ManagedFabricPlan,
  { mayAct = true, seed = 1, change = (state: ViewState): ViewState => state } = {},
): FalseSource {
  const reported = new ReportedFabric(plan);
  const random = new Random(seed);
  const bytes = new Map<string, number>();
  let frames = 0;
  const busy = new BusyAdapter({ seed, functions: 4, flowsOfEach: 4 });
  const cut: ViewState['links'] & object[] = [];
  const addTraffic = (node: Node): Node => ({
    ...node,
    ports: node.ports.map((port) => {
      if (port.link === undefined) return port;
      const key = `${node.name}:${port.number}`;
      const sentBytes =
        (bytes.get(key) ?? 0) + Math.floor((MOST_BYTES / 2 ** random.below(12)) * (random.below(100) / 100));
      bytes.set(key, sentBytes);
      return { ...port, link: { ...port.link, sentBytes, sent: port.link.sent + Math.floor(sentBytes / 2048) } };
    }),
  });
  return {
    session: {
      ...{ kind: 'live', title: CONTROL, version: '0.1.0', mayAct },
      adapters: reported.fabric.adapters.map((_, index) => ({ name: `a${index}` })),
    },
    state: ({ adapter: name }) => {
      const { timeNs = 0, ...fabric } = reported.report();
      const at = timeNs + frames++ * FRAME_NS;
      const { adapter, views } = busy.next();
      return change({
        ...(name !== undefined && adapter !== undefined && { adapter: { ...adapter, name }, ...(views && { views }) }),
        timeNs: at,
        fabric: { ...fabric, timeNs: at, nodes: fabric.nodes.map(addTraffic) },
        links: [...linksOf(reported), ...cut],
      });
    },
    route: (from, to) => reportRoute(reported.nodes, findNode(reported, from), findNode(reported, to)),
    find: () => ({}),
    act: (act) => {
      const line = describeAct(act, CONTROL);
      const { port, words } = act.parameters as { port: string; words: readonly string[] };
      if (act.command !== 'link' || words[0] !== 'down') return { line, error: 'the false adapter only cuts links' };
      const found = [...linksOf(reported), ...cut].find(({ ends }) => ends.includes(port));
      if (found === undefined) return { line, error: `no link is at port ${port}` };
      const [name, number] = port.split(':');
      const end = findNode(reported, name).mads.node.ports[Number(number) - 1];
      const link = reported.fabric.links.find((one) => one === end.link);
      if (link === undefined) return { line, error: `the link of ${port} is already down` };
      reported.fabric.unplug(link);
      cut.push({ ...found, kind: 'cut', up: false });
      return { line, result: { text: `the link of ${port} is down` } };
    },
  };
}

/** Each alarm of the subnet manager is a step. */
export function recordedSource(plan: ManagedFabricPlan, steps: number): FalseSource {
  const reported = new ReportedFabric(plan, false);
  const states: ViewState[] = [];
  const firstPart = Math.floor(steps / 4);
  let isRead = false;
  while (states.length <= steps) {
    const fabric = reported.report();
    const step = states.length;
    states.push({ timeNs: fabric.timeNs ?? 0, step, call: 'run', fabric, links: linksOf(reported) });
    if (step === Math.floor(steps / 2)) reported.fabric.unplug(reported.fabric.links[0]);
    reported.fabric.settle();
    reported.fabric.clock.jumpToAlarm();
  }
  return {
    // The rest is read when a reader has gone to the end of the first part.
    get session(): ViewSession {
      const all = {
        ...({ kind: 'recording', title: 'sweep.rec', version: '0.1.0', mayAct: false, steps } as const),
        adapters: reported.fabric.adapters.map((_, index) => ({ name: `a${index}` })),
      };
      return isRead ? all : { ...all, steps: firstPart, reading: firstPart / steps };
    },
    state: ({ step = 0 }) => {
      isRead ||= step === firstPart;
      return states[Math.min(step, steps)];
    },
    route: (from, to) => reportRoute(reported.nodes, findNode(reported, from), findNode(reported, to)),
    find: (condition, from, backward) => {
      if (condition !== 'link down') throw new Error(`there is no condition ${condition}`);
      const plugs = (state: ViewState): number =>
        state.fabric.nodes.flatMap(({ ports }) => ports.filter(({ link }) => link?.peer !== undefined)).length;
      const isHit = (_: ViewState, step: number): boolean =>
        step < steps && plugs(states[step + 1]) < plugs(states[step]) && (backward ? step < from : step >= from);
      const step = backward ? states.findLastIndex(isHit) : states.findIndex(isHit);
      return step < 0 ? {} : { step, timeNs: states[step + 1].timeNs };
    },
    act: (act) => ({ line: describeAct(act, CONTROL), error: 'a recording does not change' }),
  };
}

function findNode({ nodes }: ReportedFabric, name: string) {
  const found = nodes.find((node) => node.name === name);
  if (found === undefined) throw new Error(`there is no node ${name}`);
  return found;
}

/** Links as the status has them. */
function linksOf(reported: ReportedFabric): NonNullable<ViewState['links']> {
  const ends = reported.nodes.flatMap(({ name, mads }) =>
    mads.node.ports.map((end) => ({ name: `${name}:${end.number}`, end })),
  );
  return reported.fabric.links.map((link) => {
    const names = ends.filter(({ end }) => end.link === link).map(({ name }) => name);
    return { ends: names, kind: 'cable', up: true, sent: 0, received: 0, lost: 0 };
  });
}
