// SPDX-License-Identifier: Apache-2.0
/**
 * A cluster as plain data: its nodes and the fabric between them. `vuhca cluster up` makes it from
 * options and a file, and its supervisor reads it from the cluster's folder.
 */
import type { TcgThread } from '../../../qemu/guest-options.ts';
import type { Personality } from '../options/personality.ts';

export interface NodeSpec {
  readonly name: string;
  /** From 1. */
  readonly number: number;
  /** Of its interface ib0. */
  readonly address: string;
  /** Which adapter it has. */
  readonly personality: Personality;
  readonly cpus: number;
  /** How QEMU runs its processors. */
  readonly tcgThread: TcgThread;
  readonly memoryMiB?: number;
  /** Debian packages beside those that every node has. */
  readonly packages: readonly string[];
  /** The path of an image that it boots from, instead of Debian's root file system. */
  readonly disk?: string;
}

export interface ClusterSpec {
  readonly name: string;
  readonly nodes: readonly NodeSpec[];
  /** Nodes of the same fabric in other clusters, when this one is a part of a plan. */
  readonly others?: readonly Pick<NodeSpec, 'name' | 'address'>[];
  /** Has the secret that the ssh keys of all parts are made of. */
  readonly keyFile?: string;
  /** Adapters without a node of the cluster: places for guests that others start. */
  readonly free: readonly string[];
  /** The content of a topology file; each adapter has the name of its node. */
  readonly topology: object;
  /** The subnet has no manager of ours, so ports may stay down for long. */
  readonly isUnmanaged: boolean;
  readonly kernel?: string;
  /** Of the adapter process. */
  readonly deviceArguments: readonly string[];
  /** A silence that ends a node which is not up yet. */
  readonly silenceSeconds: number;
}

/** What the adapter of a place is, as cluster-file.ts has written it. */
export interface AdapterSpec {
  readonly personality: Personality;
  readonly orderCheck?: boolean;
  /** It is for a guest whose processors take turns. */
  readonly pollsPause?: boolean;
}

/** The adapter of a node, or of a place without one. */
export function adapterOf({ topology }: Pick<ClusterSpec, 'topology'>, name: string): AdapterSpec {
  return (topology as { readonly adapters: Readonly<Record<string, AdapterSpec>> }).adapters[name];
}

/** Nodes have addresses of one network, which has room for so many. */
export const NODES_MAX = 1000;
/** The network of the interfaces ib0. */
export const NETWORK_BITS = 16;
const NUMBERS_PER_BYTE = 250;

/** The address of node `number`, from 1: 10.77.0.1 and so on. */
export function addressOf(number: number): string {
  const place = number - 1;
  return `10.77.${Math.floor(place / NUMBERS_PER_BYTE)}.${(place % NUMBERS_PER_BYTE) + 1}`;
}
