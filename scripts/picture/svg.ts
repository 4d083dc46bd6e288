// SPDX-License-Identifier: Apache-2.0
/** Elements of an SVG, and the file around them: page, title, dark colours. Called by graph.ts. */
import { COLOURS, darkStyle, FONT } from './colours.ts';
import { escapeXml } from './text.ts';

export type Attributes = Readonly<Record<string, string | number>>;

/** An element; numbers are rounded to a tenth of a pixel. */
export function element(name: string, attributes: Attributes, content = ''): string {
  const words = Object.entries(attributes).map(([key, value]) => ` ${key}="${format(value)}"`);
  return content === '' ? `<${name}${words.join('')}/>` : `<${name}${words.join('')}>${content}</${name}>`;
}

function format(value: string | number): string {
  return typeof value === 'number' ? `${Math.round(value * 10) / 10}` : escapeXml(value);
}

/** The file. `description` is for readers that cannot see it. */
export function svgFile(width: number, height: number, description: string, content: readonly string[]): string {
  const size = { width: Math.ceil(width), height: Math.ceil(height) };
  const parts = [
    element('title', {}, escapeXml(description)),
    `<style>${darkStyle()}</style>`,
    element('rect', { width: '100%', height: '100%', fill: COLOURS.background }),
    ...content,
  ];
  const head = {
    xmlns: 'http://www.w3.org/2000/svg',
    viewBox: `0 0 ${size.width} ${size.height}`,
    ...size,
    'font-family': FONT,
    role: 'img',
  };
  return `${element('svg', head, `\n${parts.join('\n')}\n`)}\n`;
}
