// SPDX-License-Identifier: Apache-2.0
/**
 * Draws a plot described in Vega-Lite (https://vega.github.io/vega-lite/docs/spec.html) as one SVG
 * that follows the reader's choice of a light or dark page, without a DOM or a canvas. The
 * libraries are loaded by the first plot, so a program that draws none does not wait for them.
 * Called by the plots of the demonstrations.
 */
import type { TopLevelSpec } from 'vega-lite';
import type { Field } from 'vega-lite/types_unstable/channeldef.js';
import type { LayerSpec, UnitSpec } from 'vega-lite/types_unstable/spec/index.js';
import { darkStyle } from './colours.ts';
import { THEME } from './theme.ts';

/** One panel of a plot, or a layer of one. */
export type Panel = UnitSpec<Field> | LayerSpec<Field>;

/** The content of a plot, and its finding in one sentence. */
export interface Plot {
  /** The finding, computed from the data: a sentence without a full stop. */
  readonly title: string;
  /** Further findings and how to read the plot: sentences, each on a line of its own. */
  readonly subtitle: readonly string[];
  /** Its panels: a specification without title and configuration. */
  readonly spec: TopLevelSpec;
}

/** Mean widths of characters, in parts of the font's size: wide enough that no text is cut off. */
const CHARACTER_WIDTH = 0.54;
const BOLD_CHARACTER_WIDTH = 0.64;
const TITLE_COLUMNS = 68;
const SUBTITLE_COLUMNS = 116;
/** How much longer than the mean a line may be, so that the last one is not short. */
const WRAP_SLACK = 4;

/** The text of the SVG file. */
export async function renderPlot({ title, subtitle, spec }: Plot): Promise<string> {
  const [vega, { compile }] = await Promise.all([import('vega'), import('vega-lite')]);
  const heading = {
    text: wrap(title, TITLE_COLUMNS),
    subtitle: subtitle.flatMap((line) => wrap(line, SUBTITLE_COLUMNS)),
  };
  (vega as unknown as { textMetrics: TextMetrics }).textMetrics.width = measureText;
  vega.resetSVGDefIds();
  const { spec: compiled } = compile({ ...spec, title: heading, config: THEME } as TopLevelSpec, { logger: STRICT });
  const view = new vega.View(vega.parse(compiled), { renderer: 'none', logLevel: vega.Error });
  try {
    return finish(await view.toSVG(), title);
  } finally {
    view.finalize();
  }
}

/** A warning of Vega-Lite is a mistake in a specification. */
const STRICT = {
  level: () => STRICT,
  error: fail,
  warn: fail,
  info: () => STRICT,
  debug: () => STRICT,
};

function fail(...words: readonly unknown[]): never {
  throw new Error(`plot: ${words.join(' ')}`);
}

/** Vega's measurement of text, which its types omit. */
interface TextMetrics {
  width: (item: { readonly fontSize?: number; readonly fontWeight?: number }, text: unknown) => number;
}

/** Replaces Vega's estimate without a canvas, which is far too wide and spreads legends out. */
const measureText: TextMetrics['width'] = ({ fontSize = 11, fontWeight = 400 }, text) =>
  (fontWeight < 600 ? CHARACTER_WIDTH : BOLD_CHARACTER_WIDTH) * fontSize * String(text ?? '').length;

/** Lines of about equal length and at most `columns` characters, broken between words. */
function wrap(text: string, columns: number): string[] {
  const count = Math.ceil(text.length / columns);
  const target = count === 1 ? columns : Math.min(columns, Math.ceil(text.length / count) + WRAP_SLACK);
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= target) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function finish(svg: string, title: string): string {
  const head = `<title>${escapeXml(title)}</title><style>${darkStyle()}</style>`;
  return `${svg.replace(/<svg [^>]*>/, (tag) => `${tag}${head}`)}\n`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
