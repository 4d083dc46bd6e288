// SPDX-License-Identifier: Apache-2.0
/**
 * A message as a sequence diagram, in the look of `vuhca trace show --ladder`
 * (scripts/cli/trace/ladder-picture.ts), by the same layout. All words are text nodes.
 */
import type { Story } from '../../cli/view/view-protocol.ts';
import {
  AXIS,
  BAR,
  LINE_HEIGHT,
  LINES,
  LINK,
  layOutSequence,
  type SequenceArrow,
  type SequenceLayout,
  type SequenceWords,
} from '../../picture/sequence.ts';

const CROSS = 7;
/** The title stands in the page, so the diagram begins with the names of the ends. */
const TITLE = 36;

export function StoryDiagram({ story }: { readonly story: Story }) {
  const layout = layOutSequence(story);
  const { width, height, top, bottom, axis, waits, arrows, notes, legend, description } = layout;
  return (
    <svg class="sequence" viewBox={`0 ${TITLE} ${width} ${height - TITLE}`} role="img" aria-label={description}>
      <title>{description}</title>
      <defs>
        <Marker id="sequence-head" size={6} />
        <Marker id="sequence-wide" size={3} />
      </defs>
      <text class="time" x={AXIS} y={top - 28}>
        us
      </text>
      {story.ends.map((name, side) => (
        <text key={LINES[side]} class="end" x={LINES[side]} y={top - 28}>
          {name}
        </text>
      ))}
      <text class="legend middle" x={LINK} y={top - 28}>
        link
      </text>
      {LINES.map((x) => (
        <line key={x} class="line" x1={x} y1={top - 16} x2={x} y2={bottom} />
      ))}
      <line class="link" x1={LINK} y1={top - 16} x2={LINK} y2={bottom} />
      <Axis axis={axis} />
      {waits.map(({ x, y, height: length, words }) => (
        <g key={`${x} ${y}`}>
          <rect class="wait" x={x} y={y} width={BAR} height={length} />
          <Words words={words} />
        </g>
      ))}
      {arrows.map((arrow, place) => (
        <Arrow key={place} arrow={arrow} />
      ))}
      {notes.map((words) => (
        <Words key={`${words.x} ${words.y}`} words={words} />
      ))}
      <text class="legend" x={24} y={height - 30}>
        {legend}
      </text>
      <text class="legend" x={24} y={height - 12}>
        Times count from the first event; the distance of rows grows with the logarithm of time.
      </text>
    </svg>
  );
}

function Marker({ id, size }: { readonly id: string; readonly size: number }) {
  return (
    <marker id={id} viewBox="0 0 10 10" refX="9" refY="5" markerWidth={size} markerHeight={size} orient="auto">
      <path class="head" d="M0,0 L10,5 L0,10 z" />
    </marker>
  );
}

function Axis({ axis }: Pick<SequenceLayout, 'axis'>) {
  return (
    <g>
      {axis.map(({ y, time, passed }) => (
        <g key={y}>
          {passed !== undefined && (
            <text class="time" x={AXIS} y={passed.y}>
              {passed.words}
            </text>
          )}
          <line class="tick" x1={AXIS + 4} y1={y} x2={AXIS + 10} y2={y} />
          {time !== undefined && (
            <text class="time" x={AXIS} y={y + 4}>
              {time}
            </text>
          )}
        </g>
      ))}
    </g>
  );
}

function Arrow({ arrow: { begin, end, kinds, hasCross, label, cause } }: { readonly arrow: SequenceArrow }) {
  const { x, y, angle, isLeft, words } = label;
  return (
    <g>
      <line class={['packet', ...kinds].join(' ')} x1={begin.x} y1={begin.y} x2={end.x} y2={end.y} />
      {hasCross && (
        <path
          class="cross"
          d={`M${end.x - CROSS} ${end.y - CROSS}l${2 * CROSS} ${2 * CROSS}m0 ${-2 * CROSS}l${-2 * CROSS} ${2 * CROSS}`}
        />
      )}
      <text class={isLeft ? 'word left' : 'word'} x={x} y={y} transform={`rotate(${angle} ${x} ${y})`}>
        {words}
      </text>
      {cause !== undefined && <Words words={cause} />}
    </g>
  );
}

function Words({ words: { x, y, isLeft, isBad, lines } }: { readonly words: SequenceWords }) {
  const kind = ['word', ...(isLeft ? ['left'] : []), ...(isBad ? ['bad'] : [])].join(' ');
  return (
    <text class={kind} x={x} y={y}>
      {lines.map((line, place) => (
        <tspan key={place} x={x} dy={place === 0 ? 0 : LINE_HEIGHT}>
          {line}
        </tspan>
      ))}
    </text>
  );
}
