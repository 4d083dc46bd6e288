// SPDX-License-Identifier: Apache-2.0
/**
 * The colours of pictures, as readers with any colour vision see them on light and dark pages. The
 * matrices are those of Machado, Oliveira and Fernandes (2009) for complete deficiencies, over
 * linear RGB; distances are those of CIELAB, in which 2.3 is the least noticeable difference.
 */
import t from 'tap';
import { COLOURS, ROLES, SERIES } from './colours.ts';

type Triple = readonly [number, number, number];

const VISIONS: Readonly<Record<string, readonly [Triple, Triple, Triple]>> = {
  full: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};
const PAGES = ['light', 'dark'] as const;
const IN_ORDER = ['first', 'second', 'third', 'fourth', 'fifth'] as const;
const LEAST_DISTANCE = 30;
/** WCAG 2.1: of graphical objects, and of text. */
const LEAST_CONTRAST = 3;
const LEAST_CONTRAST_OF_TEXT = 4.5;

function linear(colour: string): Triple {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return [red, green, blue];
}

const dot = (row: Triple, rgb: Triple): number => row[0] * rgb[0] + row[1] * rgb[1] + row[2] * rgb[2];
const luminance = (rgb: Triple): number => dot([0.2126, 0.7152, 0.0722], rgb);

/** The colour in CIELAB as a reader sees it. */
function see(colour: string, vision: readonly [Triple, Triple, Triple]): Triple {
  const [red, green, blue] = vision.map((row) => Math.min(1, Math.max(0, dot(row, linear(colour)))));
  const rgb: Triple = [red, green, blue];
  const cube = (value: number): number => (value > 0.008856 ? Math.cbrt(value) : 7.787 * value + 16 / 116);
  const x = cube(dot([0.4124, 0.3576, 0.1805], rgb) / 0.95047);
  const y = cube(luminance(rgb));
  const z = cube(dot([0.0193, 0.1192, 0.9505], rgb) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

function contrast(one: string, other: string): number {
  const [high, low] = [one, other].map((colour) => luminance(linear(colour))).sort((left, right) => right - left);
  return (high + 0.05) / (low + 0.05);
}

t.test('series are told apart with any colour vision, on either page', async (t) => {
  for (const page of PAGES)
    for (const [vision, matrix] of Object.entries(VISIONS)) {
      const seen = IN_ORDER.map((role) => see(ROLES[role][page], matrix));
      for (const [at, one] of seen.entries())
        for (const [behind, other] of seen.slice(at + 1).entries()) {
          const distance = Math.hypot(...one.map((value, axis) => value - other[axis]));
          const names = `${IN_ORDER[at]} and ${IN_ORDER[at + 1 + behind]}`;
          if (distance < LEAST_DISTANCE) t.fail(`${names}, ${page} page, ${vision}: ${distance.toFixed(1)}`);
        }
    }
});

t.test('each series has its own colour, dashes and shape', async (t) => {
  t.same(
    SERIES.map(({ colour }) => colour),
    IN_ORDER.map((role) => COLOURS[role]),
  );
  t.equal(new Set(SERIES.map(({ dash }) => dash.join())).size, SERIES.length);
  t.equal(new Set(SERIES.map(({ shape }) => shape)).size, SERIES.length);
});

t.test('lines and text stand out from the page and from boxes', async (t) => {
  for (const page of PAGES) {
    const ground = ROLES.background[page];
    for (const role of [...IN_ORDER, 'muted'] as const)
      t.ok(contrast(ROLES[role][page], ground) >= LEAST_CONTRAST, `${role}, ${page} page`);
    for (const role of ['title', 'text', 'muted'] as const)
      t.ok(contrast(ROLES[role][page], ground) >= LEAST_CONTRAST_OF_TEXT, `${role}, ${page} page`);
    for (const box of ['relay', 'host', 'guest', 'outside'] as const)
      for (const role of ['title', 'text'] as const)
        t.ok(
          contrast(ROLES[role][page], ROLES[box][page]) >= LEAST_CONTRAST_OF_TEXT,
          `${role} in ${box}, ${page} page`,
        );
  }
});
