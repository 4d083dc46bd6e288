// SPDX-License-Identifier: Apache-2.0
/**
 * The look of the sequence diagrams of `vuhca trace show --ladder`, in a light and a dark scheme.
 * Colours are those that readers of all kinds tell apart; dashes and crosses say the same.
 */

/** Colours of a scheme. Viewers without variables of CSS read them as well. */
interface Scheme {
  readonly ground: string;
  readonly ink: string;
  readonly pale: string;
  readonly packet: string;
  readonly bad: string;
  readonly wait: string;
}

const LIGHT: Scheme = {
  ...{ ground: '#ffffff', ink: '#1a1a1a', pale: '#5c5c5c' },
  ...{ packet: '#00518c', bad: '#a83e00', wait: '#cfc2da' },
};
const DARK: Scheme = {
  ...{ ground: '#16181d', ink: '#f0f0f0', pale: '#a8adb5' },
  ...{ packet: '#7cc4f5', bad: '#ffa366', wait: '#665579' },
};

const SHAPES = `
  text { font: 13px sans-serif; }
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

function colours({ ground, ink, pale, packet, bad, wait }: Scheme): string {
  return [
    `.ground { fill: ${ground}; } text { fill: ${ink}; } .time, .legend { fill: ${pale}; } .bad { fill: ${bad}; }`,
    `.word { stroke: ${ground}; } .line { stroke: ${ink}; } .link, .tick { stroke: ${pale}; }`,
    `.packet { stroke: ${packet}; } .head { fill: ${packet}; } .lost, .dropped, .cross { stroke: ${bad}; }`,
    `.wait { fill: ${wait}; stroke: ${ink}; }`,
  ].join('\n  ');
}

/** The style sheet of a picture. */
export const LADDER_STYLE = `${SHAPES}  ${colours(LIGHT)}
  @media (prefers-color-scheme: dark) { ${colours(DARK)} }
`;
