// SPDX-License-Identifier: Apache-2.0
/**
 * The look of the sequence diagrams of `vuhca trace show --ladder`, in a light and a dark scheme.
 * Colours and font are those of all pictures (scripts/picture); dashes and crosses carry the same
 * information. The rules contain the values themselves, so viewers without CSS variables work as
 * well.
 */
import { FONT, ROLES } from '../../picture/colours.ts';

const SHAPES = `
  text { font: 13px ${FONT}; }
  .time, .legend { font-size: 12px; }
  .title { font-size: 16px; font-weight: bold; }
  .end { font-weight: bold; text-anchor: middle; }
  .left, .time { text-anchor: end; }
  .middle { text-anchor: middle; }
  .word { paint-order: stroke; stroke-width: 4px; stroke-linejoin: round; }
  .line { stroke-width: 2; }
  .link { stroke-dasharray: 1 5; }
  .packet { stroke-width: 2; fill: none; marker-end: url(#head); }
  .again { stroke-dasharray: 9 4; }
  .run { stroke-width: 6; marker-end: url(#wide); }
  .unknown { stroke-dasharray: 2 4; }
  .lost, .dropped { marker-end: none; }
  .cross { stroke-width: 3; }
`;

function colours(page: 'light' | 'dark'): string {
  const { background, text, muted, first, second, guest } = ROLES;
  return [
    `.ground { fill: ${background[page]}; } text { fill: ${text[page]}; } .time, .legend { fill: ${muted[page]}; }`,
    `.bad { fill: ${second[page]}; } .word { stroke: ${background[page]}; } .line { stroke: ${text[page]}; }`,
    `.link, .tick { stroke: ${muted[page]}; } .packet { stroke: ${first[page]}; } .head { fill: ${first[page]}; }`,
    `.lost, .dropped, .cross { stroke: ${second[page]}; } .wait { fill: ${guest[page]}; stroke: ${text[page]}; }`,
  ].join('\n  ');
}

/** The style sheet of a picture. */
export const LADDER_STYLE = `${SHAPES}  ${colours('light')}
  @media (prefers-color-scheme: dark) { ${colours('dark')} }
`;
