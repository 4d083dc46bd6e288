// SPDX-License-Identifier: Apache-2.0
/**
 * A recording that is replayed step by step, with everything that `vuhca view` shows of a moment:
 * the reports of a live process from the replayed adapters, the rows of `vuhca show`, and the
 * stories of messages. The process of replay-process.ts has one and copies it; tests use it
 * directly.
 */

import { Adapter } from '../../../device/hca/adapter/adapter.ts';
import { showContents } from '../../../device/hca/adapter/contents/contents.ts';
import { Refusal } from '../../../device/hca/adapter/refusal.ts';
import { isFabricPlan, RecordingDamage } from '../../../device/hosts/recording-format.ts';
import type { Replay, ReplayResult } from '../../../device/hosts/replay.ts';
import { showViews } from '../../../device/personality/shared/contents.ts';
import { reportFabric } from '../../../device/process/reports/fabric-report.ts';
import { type LinkReport, reportLinks } from '../../../device/process/reports/link-report.ts';
import { reportManagers } from '../../../device/process/reports/manager-report.ts';
import { reportPersonality } from '../../../device/process/reports/personality-report.ts';
import { type RouteReport, reportRoute } from '../../../device/process/reports/route-report.ts';
import { reportAdapter, reportSwitch } from '../../../device/process/reports/status-report.ts';
import { listNodes, type NamedSwitch } from '../../../device/topology/named-nodes.ts';
import { type ObservedAdapter, observeReplay, openReplay, type TraceDepth } from '../trace/observed-replay.ts';
import { type RecordedMemory, recordMemories } from './recorded-memory.ts';
import { listStories } from './stories.ts';
import type { RouteQuery, StoryList, StoryQuery, ViewQuery, ViewRow, ViewSession, ViewState } from './view-protocol.ts';
import { ViewRefusal } from './view-source.ts';

/**
 * Snapshots do not share the notes made between them: the fewer are kept, the more snapshots are
 * possible.
 */
const DEPTH: TraceDepth = { blocksLog2: 8, timelineLog2: 16, bytesMax: 64 * 1024 * 1024 };

export class RecordedSession {
  readonly replay: Replay;
  readonly adapters: readonly ObservedAdapter[];
  readonly switches: readonly NamedSwitch[];
  /** Reason why the replay went no further: a sentence, once it has stopped before the end. */
  trouble: string | undefined = undefined;
  readonly #memories = new Map<Adapter, readonly RecordedMemory[]>();

  /** Before the first step. Throws RecordingDamage. */
  constructor(recording: Uint8Array) {
    const replay = openReplay(recording);
    const { plan } = replay.header;
    this.replay = replay;
    this.adapters = observeReplay(replay, DEPTH);
    const names = isFabricPlan(plan) ? plan.switches.map(({ name }) => name) : [];
    this.switches = (replay.built?.switches ?? []).map((core, index) => ({ name: names[index], core }));
    this.#keepWrites();
  }

  /** Names and kinds of the adapters, for the page. */
  get described(): ViewSession['adapters'] {
    return this.adapters.map(({ name, core }) =>
      core instanceof Adapter ? { name } : { name, personality: core.personality },
    );
  }

  /** Number of the step that comes next. */
  get step(): number {
    return this.replay.steps;
  }

  /** Performs the next step; false if there is none, or it cannot be performed. */
  advance(): boolean {
    if (this.trouble !== undefined) return false;
    const before = this.step;
    try {
      this.replay.step();
    } catch (error) {
      if (!(error instanceof RecordingDamage)) throw error;
      this.trouble = error.message;
      return false;
    }
    if (this.step > before) return true;
    this.trouble = describeEnd(this.replay.result);
    return false;
  }

  /** Performs the steps before `step`. Returns false if the recording has fewer. */
  advanceTo(step: number): boolean {
    while (this.step < step) if (!this.advance()) return false;
    return true;
  }

  /** All data that the page shows at this moment. Throws ViewRefusal for absent objects. */
  describe({ adapter: name, views = [] }: ViewQuery): ViewState {
    const { replay, step } = this;
    const { timeNs, nextCall } = replay;
    const shown = name === undefined ? undefined : this.find(name);
    return {
      timeNs,
      step,
      ...(nextCall !== undefined && { call: nextCall }),
      fabric: {
        timeNs,
        ...reportFabric(listNodes(this.adapters, this.switches)),
        managers: reportManagers(replay.built?.managers ?? [], timeNs),
      },
      ...(shown && reportInside(shown)),
      ...(shown && { views: this.#showAll(shown, views) }),
      switches: this.switches.map(reportSwitch),
      links: this.#reportLinks(),
    };
  }

  /** The way between two nodes by the tables of this moment. Throws ViewRefusal for other names. */
  route(query: Pick<RouteQuery, 'from' | 'to'>): RouteReport {
    const nodes = listNodes(this.adapters, this.switches);
    const [from, to] = [query.from, query.to].map((name) => {
      const node = nodes.find((one) => one.name === name);
      if (node !== undefined) return node;
      const names = nodes.map((one) => one.name).join(', ');
      throw new ViewRefusal('unknown', `there is no node ${name}; there are ${names}`);
    });
    return reportRoute(nodes, from, to);
  }

  /** The messages of a queue pair up to this moment. */
  tell(query: Pick<StoryQuery, 'adapter' | 'qp'>): StoryList {
    this.find(query.adapter);
    const traces = this.adapters.map(({ name, observer }) => observer.read(name, 0));
    const list = listStories(traces, query);
    if (list.reason === undefined || list.queuePairs.includes(query.qp)) return list;
    return { ...list, reason: `QP ${query.qp} is not ready to receive by step ${this.step}` };
  }

  /** The adapter of that name. Throws ViewRefusal when there is none. */
  find(name: string): ObservedAdapter {
    const found = this.adapters.find((one) => one.name === name);
    if (found !== undefined) return found;
    const names = this.adapters.map((one) => one.name).join(', ');
    throw new ViewRefusal('unknown', `there is no adapter ${name}; there are ${names}`);
  }

  #reportLinks(): LinkReport[] {
    const { replay, adapters, switches } = this;
    const joints = replay.built?.joints ?? adapters.flatMap(({ core }) => core.joints);
    return reportLinks({ served: adapters, switches, joints, socketLinks: [] });
  }

  /** A personality does not have all views. */
  #showAll(shown: ObservedAdapter, views: readonly string[]): Record<string, readonly ViewRow[]> {
    return Object.fromEntries(
      views.flatMap((view) => {
        const rows = this.#show(shown, view);
        return rows === undefined ? [] : [[view, rows]];
      }),
    );
  }

  #show({ core }: ObservedAdapter, view: string): readonly ViewRow[] | undefined {
    try {
      if (!(core instanceof Adapter)) return showViews(core, { view }).rows;
      return showContents({ adapter: core, hosts: this.#memories.get(core) ?? [] }, { view }).rows;
    } catch (error) {
      if (error instanceof Refusal) return undefined;
      throw error;
    }
  }

  #keepWrites(): void {
    const byFunction = this.adapters.flatMap(({ core }): (RecordedMemory | undefined)[] => {
      if (!(core instanceof Adapter)) return [undefined];
      const memories = recordMemories(core);
      this.#memories.set(core, memories);
      return memories;
    });
    this.replay.onWrite = (index, address, source, offset, lengthBytes) =>
      byFunction[index]?.note(address, source, offset, lengthBytes);
  }
}

function reportInside({ name, functionOf, core }: ObservedAdapter): Pick<ViewState, 'adapter' | 'personality'> {
  return core instanceof Adapter
    ? { adapter: { name, ...reportAdapter(core) } }
    : { personality: { name, functionOf, ...reportPersonality(core) } };
}

/** Reason why a replay performed no further step; undefined at the end of a whole recording. */
function describeEnd({ steps, truncated, divergence }: ReplayResult): string | undefined {
  if (divergence !== undefined) {
    const { during, expected, actual } = divergence;
    return `the adapter did something else at ${during}: recorded ${expected}, now ${actual}`;
  }
  return truncated ? `the end of the recording is missing, after step ${steps}` : undefined;
}
