// SPDX-License-Identifier: Apache-2.0
/** Small charts of rates over the last minute, by uPlot, in the colours of the page. */
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { type Rates, shortNumber } from './rates.ts';

const HEIGHT = 84;
const WINDOW_SECONDS = 60;
const AXIS_WIDTH = 44;
/** Roles of colours, in the order of the series. */
const COLOURS = ['--first', '--second', '--third'];

export function RateCharts({ rates }: { readonly rates: Rates }) {
  return (
    <section class="unit unit-rates" aria-label="Rates over the last minute">
      <header>
        <h3>Per second, over the last minute</h3>
      </header>
      <div class="charts">
        {rates.series.map(({ name, perSecond }, place) => (
          <RateChart key={name} name={name} seconds={rates.seconds} perSecond={perSecond} colour={COLOURS[place]} />
        ))}
      </div>
    </section>
  );
}

interface ChartProps {
  readonly name: string;
  readonly seconds: readonly number[];
  readonly perSecond: readonly number[];
  readonly colour: string;
}

function RateChart({ name, seconds, perSecond, colour }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  useEffect(() => {
    const element = place.current;
    if (element === null) return undefined;
    const made = new uPlot(optionsOf(element, colour), [[], []], element);
    chart.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height: HEIGHT }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      made.destroy();
    };
  }, [colour]);
  useEffect(() => chart.current?.setData([[...seconds], [...perSecond]]), [seconds, perSecond]);
  const last = perSecond.at(-1);
  return (
    <figure class="chart">
      <figcaption>
        <span>{name}</span> <b>{last === undefined ? 'no rate yet' : `${shortNumber(last)}/s`}</b>
      </figcaption>
      <div ref={place} />
    </figure>
  );
}

/** Colours are read as the chart is drawn, so that it follows a change of the theme. */
function optionsOf(element: HTMLElement, colour: string): uPlot.Options {
  const role = (name: string) => (): string => getComputedStyle(element).getPropertyValue(name);
  const grid = { stroke: role('--grid'), width: 1 };
  return {
    width: element.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, range: (_, from, to) => [Math.min(from, to - WINDOW_SECONDS), to] },
      y: { range: (_, __, to) => [0, Math.max(1, to * 1.1)] },
    },
    axes: [
      { show: false },
      {
        stroke: role('--muted'),
        grid,
        ticks: { show: false },
        size: AXIS_WIDTH,
        space: 24,
        font: `11px ${getComputedStyle(element).fontFamily}`,
        values: (_, values) => values.map((value) => shortNumber(value)),
      },
    ],
    series: [{}, { stroke: role(colour), width: 1.5, points: { show: false } }],
  };
}
