// SPDX-License-Identifier: Apache-2.0
/**
 * The properties of a link with faults, delay or a rate of its own, in words short enough for a
 * label on the link in a picture. Options of device/fabric/link/link-options.ts that the file does
 * not set are left out. Called by topology-picture.ts.
 */
import type { FaultyLinkOptions } from '../../../device/fabric/link/link-options.ts';

const NS_UNITS = [
  ['s', 1e9],
  ['ms', 1e6],
  ['us', 1e3],
] as const;
const PER_CENT = 100;

const WORDS: { readonly [Name in keyof FaultyLinkOptions]?: (value: FaultyLinkOptions[Name]) => readonly string[] } = {
  faults: (faults) => Object.entries(faults).map(([fault, part]) => `${fault} ${number(PER_CENT * part)} %`),
  delayNs: (ns) => [`takes ${time(ns)}`],
  mtuBytes: (bytes) => [`MTU ${bytes}`],
  lateNs: (ns) => [`late by ${time(ns)}`],
  reorderWindow: (packets) => [`overtaken by ${packets}`],
  reorderNs: (ns) => [`overtaken within ${time(ns)}`],
  schedule: (faults) => (faults.length === 0 ? [] : [`${faults.length} planned faults`]),
  flaps: (flaps) => (flaps.length === 0 ? [] : [`down ${flaps.length} times`]),
  flapEveryNs: (ns) => (ns === 0 ? [] : [`down every ${time(ns)}`]),
  flapLengthNs: (ns) => (ns === 0 ? [] : [`down for ${time(ns)}`]),
  bufferBlocks: (blocks) => [`buffer ${blocks} blocks`],
  bufferPackets: (packets) => [`buffer ${packets} packets`],
  flightPackets: (packets) => [`${packets} in flight`],
};

/** A line for each property besides the rate. */
export function linkWords(options: Partial<FaultyLinkOptions>): string[] {
  return Object.entries(WORDS).flatMap(([name, describe]) => {
    const value = options[name as keyof FaultyLinkOptions];
    return value === undefined ? [] : (describe as (value: unknown) => readonly string[])(value);
  });
}

/** `5 us`, `20 ms`. */
function time(ns: number): string {
  const [unit, size] = NS_UNITS.find(([, length]) => ns >= length) ?? ['ns', 1];
  return `${number(ns / size)} ${unit}`;
}

function number(value: number): string {
  return `${Number(value.toPrecision(3))}`;
}
