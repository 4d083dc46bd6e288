// SPDX-License-Identifier: Apache-2.0
/**
 * Texts beside the picture of a fabric: a node with its ports, a link with both ends, a way with
 * its hops, the fabric as a whole. All strings of guests are text nodes.
 */
import type { RouteReport } from '../../../device/process/reports/route-report.ts';
import type { ViewState } from '../../cli/view/view-protocol.ts';
import { bitRate, count, percentage, words } from '../words/numbers.ts';
import {
  type FabricLink,
  type FabricModel,
  type FabricNode,
  type LinkSide,
  lidsOf,
  listTroubles,
} from './fabric-model.ts';
import { LEAST_LOAD } from './fabric-picture.tsx';

/** Links that are named in the overview. */
const MOST_LINKS = 6;

export function NodePanel({ node, model }: { node: FabricNode; model: FabricModel }) {
  const { name, type, description, guid, ports } = node;
  const shown = ports.filter(({ number, link }) => number === 0 || link?.peer !== undefined);
  const free = ports.length - shown.length;
  const sides = new Map(model.links.flatMap((link) => link.sides.map((side) => [side.name, side] as const)));
  return (
    <section>
      <h2>{name}</h2>
      <Facts
        facts={[
          ['Kind', type],
          ['Description', description],
          ['GUID', guid],
          ['LID', lidsOf(node).join(', ') || 'none'],
          ['Free ports', free > 0 ? `${free}` : ''],
        ]}
      />
      {shown
        .filter(({ number }) => number > 0)
        .map(({ number }) => {
          const side = sides.get(`${name}:${number}`);
          return side && <Side key={number} side={side} title={`Port ${number}`} />;
        })}
    </section>
  );
}

export function LinkPanel({ link }: { link: FabricLink }) {
  return (
    <section>
      <h2>{link.sides.map(({ name }) => name).join(' – ')}</h2>
      <p>
        {link.state}
        {link.isImpaired && ', with faults, delay or a rate of its own'}
      </p>
      {link.sides.map((side) => (
        <Side key={side.name} side={side} title={side.name} />
      ))}
    </section>
  );
}

function Side({ side: { port, load }, title }: { side: LinkSide; title: string }) {
  if (port?.link === undefined) return null;
  const { state, physicalState, width, speed, peer, sent, received, sentBytes, receivedBytes } = port.link;
  const isDown = state === 'DOWN';
  return (
    <section class="side">
      <h3>
        {title} <span class={`state ${state.toLowerCase()}`}>{words(isDown ? physicalState : state)}</span>
      </h3>
      <Facts
        facts={[
          ['Peer', peer ?? 'unplugged'],
          ['Rate', isDown ? '' : `${width} ${speed}`],
          ['Sends', load === undefined ? '' : `${bitRate(load.bitsPerSecond)}, ${percentage(load.part)}`],
          ['Sent', `${count(sent)} packets, ${count(sentBytes)} bytes`],
          ['Received', `${count(received)} packets, ${count(receivedBytes)} bytes`],
        ]}
      />
      <Troubles troubles={listTroubles(port)} />
    </section>
  );
}

function Troubles({ troubles }: { troubles: ReturnType<typeof listTroubles> }) {
  if (troubles.length === 0) return null;
  return (
    <ul class="troubles">
      {troubles.map(([name, number]) => (
        <li key={name}>
          {count(number)} {words(name)}
        </li>
      ))}
    </ul>
  );
}

export function RoutePanel({
  from,
  to,
  route,
  onForget,
}: {
  from: string;
  to: string;
  route: RouteReport | undefined;
  onForget: () => void;
}) {
  return (
    <section>
      <h2>
        {from} to {to}
      </h2>
      {route !== undefined && (
        <>
          <p>
            {route.lid === undefined ? '' : `Packets to LID ${route.lid}`}
            {route.fault === undefined ? ` take ${route.hops.length - 1} links.` : ' do not arrive:'}
          </p>
          {route.fault !== undefined && <p class="alarm">{route.fault}</p>}
          <ol class="hops">
            {route.hops.map(({ node, in: entry, out }, index) => (
              <li key={index}>
                <b>{node}</b> {describePorts(entry, out)}
              </li>
            ))}
          </ol>
        </>
      )}
      <button type="button" onClick={onForget}>
        Choose others
      </button>
    </section>
  );
}

function describePorts(entry: number | undefined, out: number | undefined): string {
  if (entry !== undefined && out !== undefined) return `in by port ${entry}, out by port ${out}`;
  if (out !== undefined) return `out by port ${out}`;
  return entry === undefined ? '' : `in by port ${entry}`;
}

export function Overview({ model, state }: { model: FabricModel; state: ViewState }) {
  const nodes = [...model.nodes.values()];
  const ofKind = (kind: string): number => nodes.filter(({ type }) => type === kind).length;
  const active = model.links.filter((link) => link.state === 'active').length;
  const broken = model.links.filter((link) => link.state !== 'active');
  const troubled = model.links.filter(({ troubles }) => troubles > 0);
  const busy = model.links.filter(({ load }) => load >= LEAST_LOAD).sort((one, other) => other.load - one.load);
  return (
    <section>
      <h2>Fabric</h2>
      <Facts
        facts={[
          ['Switches', `${ofKind('switch')}`],
          ['Adapters', `${ofKind('adapter')}`],
          ['Links active', `${active} of ${model.links.length}`],
        ]}
      />
      <Managers managers={state.fabric.managers ?? []} nodes={nodes} />
      <LinkList title="Not active" links={broken} tell={(link) => link.state} />
      <LinkList title="Errors and drops" links={troubled} tell={({ troubles }) => count(troubles)} />
      <LinkList title="Busiest" links={busy} tell={({ load }) => percentage(load)} />
      <p class="muted">
        Point at a node or a link for its counters. Choose two nodes for the way between them. Press ? for the keys.
      </p>
    </section>
  );
}

function Managers({
  managers,
  nodes,
}: {
  managers: NonNullable<ViewState['fabric']['managers']>;
  nodes: readonly FabricNode[];
}) {
  const nameOf = (guid: string): string =>
    nodes.find(({ ports }) => ports.some((port) => port.guid === guid && port.lid !== undefined))?.name ?? guid;
  return managers.map(
    ({ guid, state, priority, heavySweeps, lightSweeps, isSettled, datagrams, problems, duplicates }) => (
      <section class="side" key={guid}>
        <h3>
          Subnet manager <span class="state">{words(state)}</span>
        </h3>
        <p class={isSettled ? 'work' : 'work busy'}>{isSettled ? 'at rest' : 'at work'}</p>
        <Facts
          facts={[
            ['At', nameOf(guid)],
            ['Priority', `${priority}`],
            ['Sweeps', count(heavySweeps)],
            ['Looks', count(lightSweeps)],
            ['Datagrams', count(datagrams)],
            ['Found twice', duplicates.join(', ')],
          ]}
        />
        <Troubles troubles={Object.entries(problems)} />
      </section>
    ),
  );
}

function LinkList({
  title,
  links,
  tell,
}: {
  title: string;
  links: readonly FabricLink[];
  tell: (link: FabricLink) => string;
}) {
  if (links.length === 0) return null;
  return (
    <section class="side">
      <h3>{title}</h3>
      <ul class="links">
        {links.slice(0, MOST_LINKS).map((link) => (
          <li key={link.id}>
            <span>{link.sides.map(({ name }) => name).join(' – ')}</span> <b>{tell(link)}</b>
          </li>
        ))}
        {links.length > MOST_LINKS && <li class="muted">and {links.length - MOST_LINKS} more</li>}
      </ul>
    </section>
  );
}

/** Names and values; empty values are left out. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, value: string])[] }) {
  return (
    <dl class="facts">
      {facts
        .filter(([, value]) => value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
