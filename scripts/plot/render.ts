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
import { darkStyle } from '../picture/colours.ts';
import { escapeXml, measureText, wrapText } from '../picture/text.ts';
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

const TITLE = { width: 600, fontSize: 17, fontWeight: 600 };
const SUBTITLE = { width: 720, fontSize: 12.5 };

/** The text of the SVG file. */
export async function renderPlot({ title, subtitle, spec }: Plot): Promise<string> {
  const [vega, { compile }] = await Promise.all([import('vega'), import('vega-lite')]);
  const heading = {
    text: wrapText(title, TITLE.width, TITLE.fontSize, TITLE.fontWeight),
    subtitle: subtitle.flatMap((line) => wrapText(line, SUBTITLE.width, SUBTITLE.fontSize)),
  };
  (vega as unknown as { textMetrics: TextMetrics }).textMetrics.width = measureItem;
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
const measureItem: TextMetrics['width'] = ({ fontSize = 11, fontWeight = 400 }, text) =>
  measureText(String(text ?? ''), fontSize, fontWeight);

function finish(svg: string, title: string): string {
  const head = `<title>${escapeXml(title)}</title><style>${darkStyle()}</style>`;
  return `${svg.replace(/<svg [^>]*>/, (tag) => `${tag}${head}`)}\n`;
}
