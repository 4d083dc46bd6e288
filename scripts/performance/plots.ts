// SPDX-License-Identifier: Apache-2.0
/**
 * The plots of docs/PERFORMANCE.md: latency and bandwidth by size beside a copy, the rate by the
 * number of queue pairs, figures beside soft-RoCE, and the parts of the time of one message. Titles
 * say what the figures show. Called by scripts/pictures.
 */
import type { SizeCost } from '../bench/core-costs.ts';
import { type KeptFigures, type Measured, titleOf } from '../foreign/figures.ts';
import { COLOURS } from '../picture/colours.ts';
import { LABEL_DISTANCE } from '../plot/label-sides.ts';
import { drawLabels, titlePanel } from '../plot/labels.ts';
import { type Panel, type Plot, renderPlot } from '../plot/render.ts';
import { tellApart } from '../plot/series.ts';
import type { Performance } from './figures.ts';
import { bytes, us } from './page.ts';

const WIDTH = 560;
const HEIGHT = 230;
const BAR_STEP = 26;
const BAR_HEIGHT = 17;
/** Room at the right of bars for their labels. */
const ROOM = 1.12;
const NS_PER_US = 1000;
/** A number of bytes as a label. */
const BYTES =
  "datum.value >= 1048576 ? datum.value / 1048576 + ' MiB' : datum.value >= 1024 ? datum.value / 1024 + ' KiB' : datum.value + ' B'";

/** A line of a plot over sizes or numbers. */
interface Line<Of> {
  readonly name: string;
  /** Where its values stand. */
  readonly side: 'above' | 'below' | 'none';
  readonly read: (of: Of) => number;
}

/** Latency of a lone message by its size, beside a copy of the bytes and their CRC. */
export function drawLatency({ sizes }: Performance): Promise<string> {
  const [least, most] = [sizes[0], sizes.at(-1) as SizeCost];
  return renderPlot({
    title:
      `A lone message of ${bytes(least.bytes)} takes ${us(least.loneNs)} in the device core, ` +
      `one of ${bytes(most.bytes)} ${most.loneToCopy.toPrecision(2)} times a copy of its bytes`,
    subtitle: ['RDMA WRITE on a reliable connection from port to port, in process, one in flight: processor time.'],
    spec: single(
      drawLines(
        sizes,
        [
          { name: 'a message', side: 'above', read: ({ loneNs }) => loneNs / NS_PER_US },
          { name: 'a CRC over its bytes', side: 'none', read: ({ crcNs }) => crcNs / NS_PER_US },
          { name: 'a copy of its bytes', side: 'below', read: ({ copyNs }) => copyNs / NS_PER_US },
        ],
        {
          ...{ read: (one) => one.bytes, title: 'size of a message', isOfBytes: true, yTitle: 'us' },
          format: '.2~r',
        },
      ),
    ),
  });
}

/** Bandwidth by size beside a copy, and figures of a guest beside soft-RoCE. */
export function drawBandwidth({ sizes }: Performance, figures: KeptFigures): Promise<string> {
  const fastest = sizes.reduce((best, one) => (speed(one) > speed(best) ? one : best));
  const ratio = figures.vuhca?.['bandwidth-65536'];
  const beside = ratio === undefined ? '' : `, and in a guest 64 KiB have ${ratio} times the bandwidth of soft-RoCE`;
  return renderPlot({
    title: `The device core moves ${speed(fastest).toPrecision(2)} GB/s in messages of ${bytes(fastest.bytes)}${beside}`,
    subtitle: ['Above: in process, sixteen RDMA WRITEs of one doorbell. Below: `ib_write_bw` and `ib_send_lat`.'],
    spec: {
      vconcat: [
        drawLines(
          sizes,
          [
            { name: 'messages', side: 'below', read: speed },
            { name: 'a copy of the bytes', side: 'above', read: (one) => one.bytes / one.copyNs },
          ],
          {
            ...{ read: (one) => one.bytes, title: 'size of a message', isOfBytes: true, yTitle: 'GB/s' },
            format: '.2~r',
          },
        ),
        drawRatios(figures),
      ],
      spacing: 34,
    },
  });
}

/** Messages of 64 bytes per second by the number of queue pairs that send them in turn. */
export function drawRate({ queuePairs }: Performance): Promise<string> {
  const most = queuePairs.at(-1) as Performance['queuePairs'][number];
  return renderPlot({
    title: `A message over ${most.count} queue pairs in turn costs ${most.toOne.toFixed(2)} times one over a single pair`,
    subtitle: ['RDMA WRITE of 64 bytes in process, sixteen for a doorbell, each doorbell on the next queue pair.'],
    spec: single(
      drawLines(queuePairs, [{ name: 'messages', side: 'above', read: ({ ns }) => 1e3 / ns }], {
        ...{
          read: ({ count }) => count,
          title: 'queue pairs',
          yTitle: 'million messages per second',
          isFromZero: true,
        },
        format: '.2~f',
      }),
    ),
  });
}

/** The parts of the time from the post of one message to its completion, one behind the other. */
export function drawMessage(performance: Performance): Promise<string> {
  const parts = partsOf(performance);
  const core = parts.find(({ part }) => part === CORE)?.us ?? 0;
  const total = performance.messages.doorbell.receivedNs / NS_PER_US;
  const rows = parts.map((one, index) => {
    const before = parts.slice(0, index).reduce((sum, { us: part }) => sum + part, 0);
    return { ...one, from: before, to: before + one.us };
  });
  const end = total * ROOM;
  return renderPlot({
    title: `Of the ${total.toPrecision(3)} us of a message in a guest the device core takes ${core.toPrecision(2)}`,
    subtitle: [
      'A datagram of 64 bytes by doorbell, from the post to the completion of the receiver.',
      'The parts were measured each by itself in the same run; the last one is what remains.',
    ],
    spec: single({
      data: { values: rows },
      width: WIDTH,
      height: { step: BAR_STEP },
      encoding: { y: namedBars('part') },
      layer: [
        {
          mark: { type: 'bar', height: BAR_HEIGHT, cornerRadius: 2, fill: COLOURS.first },
          encoding: {
            x: {
              field: 'from',
              type: 'quantitative',
              title: 'us',
              scale: { domain: [0, end] },
              axis: { domain: false },
            },
            x2: { field: 'to' },
          },
        },
        ...drawLabels({
          mark: { dx: LABEL_DISTANCE, align: 'left' },
          encoding: { x: { field: 'to', type: 'quantitative' }, text: { field: 'us', format: '.1f' } },
        }),
      ],
    } as Panel),
  });
}

function single(panel: Panel): Plot['spec'] {
  return { vconcat: [panel] };
}

const CORE = 'the device core';

/** In us. A part that noise makes negative is none. */
function partsOf({ trapNs, guest, messages, sizes }: Performance): { part: string; us: number }[] {
  const sendNs = Math.max(0, guest.doorbell.adapter.limitNs - trapNs);
  const coreNs = sizes[0].loneNs;
  const restNs = Math.max(0, messages.doorbell.receivedNs - trapNs - sendNs - coreNs);
  return [
    { part: 'the doorbell traps into QEMU', us: trapNs / NS_PER_US },
    { part: 'QEMU sends it', us: sendNs / NS_PER_US },
    { part: CORE, us: coreNs / NS_PER_US },
    { part: 'driver, wake-up, socket, polls', us: restNs / NS_PER_US },
  ];
}

interface Axes<Of> {
  readonly read: (of: Of) => number;
  readonly title: string;
  readonly yTitle: string;
  readonly format: string;
  readonly isOfBytes?: boolean;
  /** The upright axis is linear. */
  readonly isFromZero?: boolean;
}

function drawLines<Of>(figures: readonly Of[], lines: readonly Line<Of>[], axes: Axes<Of>): Panel {
  const rows = lines.flatMap(({ name, side, read }) =>
    figures.map((figure) => ({ line: name, at: axes.read(figure), value: read(figure), side })),
  );
  const series = tellApart(
    'line',
    lines.map(({ name }) => name),
    'points',
  );
  const label = (side: 'above' | 'below'): Panel[] =>
    drawLabels({
      transform: [{ filter: { field: 'side', equal: side } }],
      mark: { dy: side === 'above' ? -LABEL_DISTANCE : LABEL_DISTANCE },
      encoding: { text: { field: 'value', format: axes.format } },
    });
  const isAlone = lines.length === 1;
  return {
    width: WIDTH,
    height: HEIGHT,
    data: { values: rows },
    encoding: {
      x: {
        ...{ field: 'at', type: 'quantitative', title: axes.title },
        scale: { type: 'log', base: 2, nice: false, padding: 30 },
        axis: {
          ...{ grid: false, values: figures.map(axes.read), labelPadding: 20 },
          ...(axes.isOfBytes ? { labelExpr: BYTES } : { format: ',d' }),
        },
      },
      y: {
        ...{ field: 'value', type: 'quantitative', title: axes.yTitle },
        scale: axes.isFromZero ? { zero: true, nice: true, padding: 22 } : { type: 'log', nice: true, padding: 22 },
        axis: { domain: false, format: ',.2~r', tickCount: 4 },
      },
      color: isAlone ? { ...series.color, legend: null } : series.color,
    },
    layer: [
      { mark: 'line', encoding: { strokeDash: isAlone ? { ...series.strokeDash, legend: null } : series.strokeDash } },
      { mark: 'point', encoding: { shape: isAlone ? { ...series.shape, legend: null } : series.shape } },
      ...(['above', 'below'] as const).flatMap((side) => (lines.some((one) => one.side === side) ? label(side) : [])),
    ],
  } as Panel;
}

const RATIOS = {
  'latency-64': 'latency, 64 B',
  'rate-64': 'messages, 64 B',
  'bandwidth-65536': 'bandwidth, 64 KiB',
} as const;

/** A bar for each adapter and figure of a guest. */
function drawRatios(figures: KeptFigures): Panel {
  const adapters = Object.entries(figures) as [Measured, Record<string, number>][];
  const rows = Object.entries(RATIOS).flatMap(([name, title]) =>
    adapters.flatMap(([adapter, ratios]) =>
      ratios?.[name] === undefined ? [] : [{ figure: `${title}: ${titleOf(adapter)}`, ratio: ratios[name] }],
    ),
  );
  const end = ROOM * Math.max(...rows.map(({ ratio }) => ratio));
  return {
    title: titlePanel('In a guest, times better than soft-RoCE'),
    data: { values: rows },
    width: WIDTH,
    height: { step: BAR_STEP },
    encoding: { y: namedBars('figure') },
    layer: [
      {
        mark: { type: 'bar', height: BAR_HEIGHT, cornerRadiusEnd: 2, fill: COLOURS.first },
        encoding: {
          x: {
            ...{ field: 'ratio', type: 'quantitative', title: 'times soft-RoCE' },
            scale: { domain: [0, end], nice: false },
            axis: { domain: false },
          },
        },
      },
      ...drawLabels({
        mark: { dx: LABEL_DISTANCE, align: 'left' },
        encoding: { x: { field: 'ratio', type: 'quantitative' }, text: { field: 'ratio', format: '.3~r' } },
      }),
    ],
  } as Panel;
}

/** The upright axis of bars in the order of their rows, with the names in that field. */
function namedBars(field: string) {
  return { field, type: 'nominal', sort: null, title: null, axis: { domain: false, ticks: false, labelLimit: 0 } };
}

/** GB/s of messages in a stream. */
function speed({ bytes: size, streamNs }: SizeCost): number {
  return size / streamNs;
}
