// SPDX-License-Identifier: Apache-2.0
/** The types of the table of layers (layers.ts), which the check and the document read. */

export interface Layer {
  /** Folder or file from the root of the repository. The longest path that holds a file decides. */
  readonly path: string;
  /** One line for docs/ARCHITECTURE.md. */
  readonly holds: string;
  /**
   * Layers that its files may import from, besides their own. All of them come earlier in the
   * table.
   */
  readonly uses: readonly string[];
  /** Only tests, and support of tests, may import from it. */
  readonly forTests?: boolean;
}

/**
 * A layer as it is written in the table. `uses` has names divided by spaces; a name is a path, or
 * the last folders of exactly one path of the table: `port` for `device/fabric/port`.
 */
export type Row = Omit<Layer, 'uses'> & { readonly uses: string };
