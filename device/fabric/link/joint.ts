// SPDX-License-Identifier: Apache-2.0
/**
 * Two ports of one process and the link between them, which may change while they run
 * (docs/TOPOLOGY.md): it is cut and plugged in again, or gets other properties and faults. The
 * builders of adapters and fabrics make one for each link; `link-changes.ts` changes it.
 */

import { Random } from '../../random.ts';
import type { LinkEnd } from '../port/link.ts';
import { Cable } from './cable.ts';
import { FaultyLink } from './faulty-link.ts';
import { type FaultyLinkOptions, findLinkOptionError, type PortLinkOptions } from './link-options.ts';

/** A link that is one: a cable, or one with properties and faults. */
export type JoinedOptions = Exclude<PortLinkOptions, { readonly kind: 'none' }>;

/** Properties that a link may take while it runs; those that are absent stay. */
export interface LinkChange extends Partial<Pick<FaultyLinkOptions, ChangeableProperty | 'faults'>> {
  /** Of the draws of its faults; the draws begin anew. */
  readonly seed?: number;
}

export const changeableProperties = [
  'bitsPerSecond',
  'delayNs',
  'lateNs',
  'mtuBytes',
  'reorderNs',
  'reorderWindow',
] as const;
export type ChangeableProperty = (typeof changeableProperties)[number];

/** A link that `vuhca link` changes. */
export interface ChangeableLink {
  readonly isCut: boolean;
  /** A change takes the link down, and it trains. */
  readonly isRetrained: boolean;
  /** One sentence why the link cannot take the change, or undefined. */
  findObjection(change: LinkChange): string | undefined;
  change(change: LinkChange): void;
  cut(): void;
  plugIn(): void;
}

/** Properties and faults of a link with the seed of their draws. */
export type SeededProperties = { readonly seed: number } & Partial<FaultyLinkOptions>;

/** The properties of a link after a change; `old` is undefined for one that had none. */
export function mergeProperties(old: SeededProperties | undefined, change: LinkChange): SeededProperties {
  return { seed: 1, ...old, ...change, faults: { ...old?.faults, ...change.faults } };
}

export class Joint implements ChangeableLink {
  readonly ends: readonly [LinkEnd, LinkEnd];
  #options: JoinedOptions;
  #link: Cable | FaultyLink | undefined;

  /** Plugs a link into both ports. Throws RangeError when an option is out of range. */
  constructor(first: LinkEnd, second: LinkEnd, options: JoinedOptions) {
    this.ends = [first, second];
    this.#options = options;
    this.#link = this.#makeLink();
  }

  get options(): JoinedOptions {
    return this.#options;
  }

  get isCut(): boolean {
    return this.#link === undefined;
  }

  get isRetrained(): boolean {
    return this.#options.kind === 'cable';
  }

  /** The link while it is plugged in. */
  get link(): Cable | FaultyLink | undefined {
    return this.#link;
  }

  /** Pulls the link out of both ports; packets on the way are lost. */
  cut(): void {
    if (this.#link === undefined) return;
    this.#link = undefined;
    this.ends[0].plug(undefined);
    this.#wake();
  }

  /** Plugs the link in again; it trains at once. */
  plugIn(): void {
    if (this.#link !== undefined) return;
    this.#link = this.#makeLink();
    this.#wake();
  }

  findObjection(change: LinkChange): string | undefined {
    const [first, second] = this.ends;
    const [here, there] = [first, second].map(({ transmitQueues }) => transmitQueues.rings.length);
    // A cable may join them, a link that counts credits not.
    if (here !== there) return `the link joins ports of ${here} and of ${there} data lanes; it has to stay a cable`;
    return findLinkOptionError(this.#merge(change));
  }

  /**
   * Gives the link other properties. A cable becomes another link, which goes down and trains; one
   * that has properties keeps its state and the packets on the way. A link that is cut gets them
   * when it is plugged in. Throws RangeError for what `findObjection` objects to.
   */
  change(change: LinkChange): void {
    const objection = this.findObjection(change);
    if (objection !== undefined) throw new RangeError(objection);
    const options = this.#merge(change);
    this.#options = options;
    if (this.#link === undefined) return;
    if (this.#link instanceof FaultyLink) this.#link.reconfigure(options, new Random(options.seed));
    else this.#link = this.#makeLink();
    this.#wake();
  }

  #merge(change: LinkChange) {
    const old = this.#options.kind === 'faulty' ? this.#options : undefined;
    return { kind: 'faulty' as const, ...mergeProperties(old, change) };
  }

  #makeLink(): Cable | FaultyLink {
    const [first, second] = this.ends;
    if (this.#options.kind === 'cable') return new Cable(first, second);
    return new FaultyLink(first, second, this.#options, new Random(this.#options.seed));
  }

  #wake(): void {
    for (const end of this.ends) end.onWork?.();
  }
}

/** The joint with this end. */
export function findJoint(joints: readonly Joint[], end: LinkEnd | undefined): Joint | undefined {
  return joints.find(({ ends }) => ends.some((one) => one === end));
}

/** Joins two ports as the options say; returns undefined when they stay apart. */
export function joinPorts(first: LinkEnd, second: LinkEnd, options: PortLinkOptions): Joint | undefined {
  return options.kind === 'none' ? undefined : new Joint(first, second, options);
}
