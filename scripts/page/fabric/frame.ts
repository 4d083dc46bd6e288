// SPDX-License-Identifier: Apache-2.0
/**
 * The part of a picture that a window shows: scale and offset, changed by zooming at a point and by
 * moving. Pure; picture-frame.tsx has the pointer and the keys.
 */

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** A point of the picture is shown at `scale * point + offset`. */
export interface Frame {
  readonly scale: number;
  readonly x: number;
  readonly y: number;
}

const LARGEST = 4;
/** Least scale: a picture is never smaller than the window. */
const SMALLEST_OF_FIT = 0.8;
const MARGIN = 12;
/** Small pictures are not blown up. */
const LARGEST_FIT = 1.4;
/** Part of the picture that stays in the window. */
const KEPT = 60;

/** The whole picture in the middle of the window. */
export function fit(picture: Size, window: Size): Frame {
  const scale = Math.min(
    LARGEST_FIT,
    (window.width - 2 * MARGIN) / picture.width,
    (window.height - 2 * MARGIN) / picture.height,
  );
  const [x, y] = [(window.width - scale * picture.width) / 2, (window.height - scale * picture.height) / 2];
  return { scale: Math.max(scale, 0.01), x, y };
}

/** Zooms so that the picture stays where it is at a point of the window. */
export function zoom(frame: Frame, factor: number, at: { x: number; y: number }, picture: Size, window: Size): Frame {
  const least = SMALLEST_OF_FIT * fit(picture, window).scale;
  const scale = Math.min(LARGEST, Math.max(least, frame.scale * factor));
  const part = scale / frame.scale;
  return keep({ scale, x: at.x - (at.x - frame.x) * part, y: at.y - (at.y - frame.y) * part }, picture, window);
}

export function move(frame: Frame, dx: number, dy: number, picture: Size, window: Size): Frame {
  return keep({ ...frame, x: frame.x + dx, y: frame.y + dy }, picture, window);
}

/** Never loses the picture. */
function keep({ scale, x, y }: Frame, picture: Size, window: Size): Frame {
  const bound = (offset: number, size: number, room: number): number =>
    Math.min(room - KEPT, Math.max(KEPT - scale * size, offset));
  return { scale, x: bound(x, picture.width, window.width), y: bound(y, picture.height, window.height) };
}
