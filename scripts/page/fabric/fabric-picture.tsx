// SPDX-License-Identifier: Apache-2.0
/**
 * The picture of a fabric: boxes of switches with their adapters, links with state and load. Dashes
 * as well as colours show states, and the width of a line its load. Nodes are buttons.
 */
import { memo } from 'preact/compat';
import type { FabricLayout } from '../../cli/view/view-protocol.ts';
import { percentage } from '../words/numbers.ts';
import { type FabricLink, type FabricModel, type FabricNode, lidsOf } from './fabric-model.ts';
import { PictureFrame } from './picture-frame.tsx';

/** A node or a link of the picture. */
export type Part = { readonly node: string } | { readonly link: string };

export interface FabricPictureProps {
  readonly layout: FabricLayout;
  readonly model: FabricModel;
  /** Chosen nodes: one, or the two ends of a way. */
  readonly chosen: readonly string[];
  /** Ids of links and names of nodes of the way. */
  readonly way: ReadonlySet<string>;
  /** What has changed between two moments, in the same terms. */
  readonly changed?: ReadonlySet<string>;
  readonly label: string;
  onChoose?(node: string): void;
  onPoint?(part: Part | undefined): void;
}

const LINE_WIDTH = 1.6;
const USED_WIDTH = 7;
/** Width from which a title has its numbers below it. */
const READABLE_SCALE = 0.45;
const TEXT_X = 9;
/** Load below which a link is idle: management alone makes no link busy. */
export const LEAST_LOAD = 0.001;

export function FabricPicture(props: FabricPictureProps) {
  const { layout, model, label } = props;
  const homes = layout.nodes.filter(({ home }) => home === undefined);
  const cells = layout.nodes.filter(({ home }) => home !== undefined);
  const isWay = ({ link }: { link: FabricLink }): number => (props.way.has(link.id) ? 1 : 0);
  // A way lies above all other lines.
  const lines = layout.links
    .map((place, index) => ({ place, link: model.links[index] }))
    .sort((one, other) => isWay(one) - isWay(other));
  return (
    <PictureFrame picture={layout} label={label}>
      {(scale) => (
        <>
          {homes.map((box) => (
            <Box key={box.name} box={box} scale={scale} {...pickNode(props, box.name)} />
          ))}
          {lines.map(({ place, link }) => (
            <Line
              key={link.id}
              {...{ place, link }}
              isWay={props.way.has(link.id)}
              isChanged={props.changed?.has(link.id) === true}
              onPoint={props.onPoint}
            />
          ))}
          {cells.map((box) => (
            <Box key={box.name} box={box} scale={scale} {...pickNode(props, box.name)} />
          ))}
        </>
      )}
    </PictureFrame>
  );
}

function pickNode({ model, chosen, way, changed, onChoose, onPoint }: FabricPictureProps, name: string) {
  const node = model.nodes.get(name);
  return {
    node,
    load: node?.type === 'adapter' ? model.loads.get(name) : undefined,
    isMaster: node !== undefined && lidsOf(node).some((lid) => model.managerLids.has(lid)),
    isChosen: chosen.includes(name),
    isWay: way.has(name),
    isChanged: changed?.has(name) === true,
    onChoose,
    onPoint,
  };
}

interface BoxProps {
  readonly box: FabricLayout['nodes'][number];
  readonly scale: number;
  readonly node: FabricNode | undefined;
  /** Of the busiest link of an adapter, 0 to 1. */
  readonly load: number | undefined;
  readonly isMaster: boolean;
  readonly isChosen: boolean;
  readonly isWay: boolean;
  readonly isChanged: boolean;
  readonly onChoose: ((node: string) => void) | undefined;
  readonly onPoint: ((part: Part | undefined) => void) | undefined;
}

function Box({ box, scale, node, load, isMaster, isChosen, isWay, isChanged, onChoose, onPoint }: BoxProps) {
  const { name, kind, home, x, y, width, height } = box;
  const lids = node === undefined ? [] : lidsOf(node);
  const address = lids.length === 0 ? 'no LID' : `LID ${lids.join(', ')}`;
  const choose = (): void => onChoose?.(name);
  const classes = ['node', kind, home && 'cell', isChosen && 'chosen', isWay && 'way', isChanged && 'changed'];
  const title = kind === 'outside' ? 'elsewhere' : name;
  return (
    // biome-ignore lint/a11y/useSemanticElements: an SVG has no buttons.
    <g
      class={classes.filter(Boolean).join(' ')}
      role="button"
      tabIndex={kind === 'outside' ? -1 : 0}
      aria-pressed={isChosen}
      aria-label={`${kind} ${title}, ${address}${isMaster ? ', subnet manager' : ''}`}
      onClick={choose}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' && event.key !== ' ') return;
        event.preventDefault();
        choose();
      }}
      onPointerEnter={() => onPoint?.({ node: name })}
      onPointerLeave={() => onPoint?.(undefined)}
      onFocus={() => onPoint?.({ node: name })}
      onBlur={() => onPoint?.(undefined)}
    >
      <rect x={x} y={y} width={width} height={height} rx={kind === 'switch' ? 3 : 9} />
      <text class="name" x={x + TEXT_X} y={y + 16}>
        {title}
      </text>
      {scale > READABLE_SCALE && kind !== 'outside' && (
        <text class={lids.length === 0 ? 'line absent' : 'line'} x={x + TEXT_X} y={y + 29}>
          {address}
        </text>
      )}
      {load !== undefined && load >= LEAST_LOAD && (
        <rect class="load" x={x + TEXT_X} y={y + height - 4} width={(width - 2 * TEXT_X) * load} height={2.5} rx={1} />
      )}
      {isMaster && (
        <text class="master" x={x + width - TEXT_X} y={y + 16} text-anchor="end">
          SM
        </text>
      )}
    </g>
  );
}

interface LineProps {
  readonly link: FabricLink;
  readonly place: FabricLayout['links'][number];
  readonly isWay: boolean;
  readonly isChanged: boolean;
  readonly onPoint: ((part: Part | undefined) => void) | undefined;
}

const Line = memo(({ link, place: { points, text, isInside }, isWay, isChanged, onPoint }: LineProps) => {
  const { id, state, load, troubles, isImpaired } = link;
  const classes = [
    ...['link', state, load >= LEAST_LOAD && 'busy'],
    ...[isImpaired && 'impaired', isWay && 'way', isChanged && 'changed', troubles > 0 && 'troubled'],
  ];
  return (
    <g
      class={classes.filter(Boolean).join(' ')}
      onPointerEnter={() => onPoint?.({ link: id })}
      onPointerLeave={() => onPoint?.(undefined)}
    >
      <path class="reach" d={pathOf(points)} />
      {/* Adapters in a box share a rail, which tells of no single link. */}
      {isInside === true && <path class="rail" d={pathOf(points)} />}
      <path class="line" d={pathOf(isInside === true ? points.slice(-2) : points)} stroke-width={widthOf(load)} />
      {text !== undefined && (
        <>
          <rect class="ground" {...text} />
          <text class="words" x={text.x + text.width / 2} y={text.y + text.height / 2} text-anchor="middle">
            {wordsOf(link)}
          </text>
        </>
      )}
    </g>
  );
}, looksEqual);

/** The same line would be drawn again. */
function looksEqual(before: LineProps, now: LineProps): boolean {
  const [one, other] = [before.link, now.link];
  return (
    before.place === now.place &&
    before.isWay === now.isWay &&
    before.isChanged === now.isChanged &&
    one.state === other.state &&
    one.isImpaired === other.isImpaired &&
    one.troubles > 0 === other.troubles > 0 &&
    widthOf(one.load) === widthOf(other.load) &&
    (now.place.text === undefined || wordsOf(one) === wordsOf(other))
  );
}

/** Steps of half a pixel, so that a line is drawn anew only when that shows. */
function widthOf(load: number): number {
  return Math.round(2 * (LINE_WIDTH + USED_WIDTH * Math.sqrt(load))) / 2;
}

function wordsOf({ state, load, sides }: FabricLink): string {
  if (state === 'cut' || state === 'down') return state;
  const link = sides.find(({ port }) => port?.link !== undefined)?.port?.link;
  if (link === undefined) return '';
  return load >= LEAST_LOAD ? `${link.width} ${link.speed} ${percentage(load)}` : `${link.width} ${link.speed}`;
}

function pathOf(points: FabricLayout['links'][number]['points']): string {
  return `M${points.map(({ x, y }) => `${Math.round(x * 10) / 10} ${Math.round(y * 10) / 10}`).join('L')}`;
}
