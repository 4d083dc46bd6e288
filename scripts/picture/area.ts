// SPDX-License-Identifier: Apache-2.0
/** Places on a picture, in pixels from its upper left corner. */

export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A box or a text: its upper left corner and its size. */
export interface Area extends Point {
  readonly width: number;
  readonly height: number;
}
