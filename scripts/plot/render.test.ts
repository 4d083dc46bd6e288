// SPDX-License-Identifier: Apache-2.0
/**
 * The common properties of plots: a title, colours for light and dark pages, an error for each
 * mistake.
 */
import t from 'tap';
import { COLOURS, darkStyle } from '../picture/colours.ts';
import { type Plot, renderPlot } from './render.ts';
import { readMarks, readTexts, readTitle } from './testing/read-marks.ts';

const VALUES = [
  { name: 'one', amount: 3 },
  { name: 'two', amount: 5 },
  { name: 'three', amount: 0 },
];

function describe(change: Partial<Plot> = {}, values: readonly object[] = VALUES): Plot {
  const spec = {
    data: { values },
    mark: 'bar',
    encoding: {
      y: { field: 'name', type: 'nominal' },
      x: { field: 'amount', type: 'quantitative', title: 'amount in units' },
      color: { field: 'name', type: 'nominal', legend: { title: null } },
    },
  } as Plot['spec'];
  return { title: 'Two has the most', subtitle: ['How to read it.'], spec, ...change };
}

t.test('marks, axes and legend come from the data', async (t) => {
  const svg = await renderPlot(describe());
  t.same(
    readMarks(svg).map(({ kind, shows }) => [kind, shows.name, shows['amount in units']]),
    [
      ['bar', 'one', '3'],
      ['bar', 'two', '5'],
      ['bar', 'three', '0'],
    ],
  );
  const texts = readTexts(svg);
  for (const text of ['Two has the most', 'How to read it.', 'amount in units']) t.ok(texts.includes(text), text);
  t.equal(texts.filter((text) => text === 'two').length, 2, 'on the axis and in the legend');
  t.equal(await renderPlot(describe()), svg, 'the same data give the same file');
  t.not(await renderPlot(describe({}, [{ name: 'one', amount: 4 }])), svg);
});

t.test('every colour is in the palette, with another one for dark pages', async (t) => {
  const svg = await renderPlot(describe());
  const [head, body] = svg.split('</style>');
  const used = new Set([...body.matchAll(/(?:fill|stroke)="(#[^"]*)"/g)].map(([, colour]) => colour));
  for (const role of ['background', 'title', 'muted', 'grid', 'first', 'second', 'third'] as const)
    t.ok(used.has(COLOURS[role]), `${role} is used`);
  const ours = new Set<string>(Object.values(COLOURS));
  t.same(
    [...used].filter((colour) => !ours.has(colour)),
    [],
  );
  t.equal(ours.size, Object.keys(COLOURS).length, 'no two roles share a light colour');
  for (const colour of used)
    for (const attribute of ['fill', 'stroke'])
      t.match(head, new RegExp(`\\[${attribute}="${colour}"\\]\\{${attribute}:#(?!${colour.slice(1)})[0-9a-f]{6}\\}`));
  t.ok(head.includes(`<style>${darkStyle()}`));
  t.match(darkStyle(), /^@media \(prefers-color-scheme:dark\)\{.*\}$/);
});

t.test('a long title is broken into lines of about equal length', async (t) => {
  const title = 'Guests with a share < 1 & more to do than that share allows have exactly what their lanes guarantee';
  const svg = await renderPlot(describe({ title }));
  t.equal(readTitle(svg), title.replace('&', '&amp;').replace('<', '&lt;'));
  const lines = readTexts(svg).filter((text) => title.replace('&', '&amp;').replace('<', '&lt;').includes(text));
  t.same(lines.length, 2);
  t.ok(
    lines.every((line) => line.length > 35 && line.length <= 68),
    lines.join(' | '),
  );
});

t.test('a specification with a mistake is refused', async (t) => {
  const wrong = { data: { values: VALUES }, mark: 'bar', encoding: { nowhere: { field: 'name' } } };
  await t.rejects(renderPlot(describe({ spec: wrong as unknown as Plot['spec'] })), { message: /^plot: / });
});
