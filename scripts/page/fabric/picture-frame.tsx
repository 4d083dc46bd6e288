// SPDX-License-Identifier: Apache-2.0
/**
 * A picture that a reader zooms by wheel, two fingers, buttons and keys, and moves by dragging and
 * arrows. The frame shows all of it until the reader changes that. Arithmetic is in frame.ts.
 */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type Frame, fit, move, type Size, zoom } from './frame.ts';

const KEY_STEP = 60;
const KEY_ZOOM = 1.25;
const WHEEL_ZOOM = 1.0015;
/** A hand is not still. */
const CLICK_MOVES = 6;

interface Point {
  readonly x: number;
  readonly y: number;
}

export function PictureFrame({
  picture,
  label,
  children,
}: {
  picture: Size;
  label: string;
  /** Of an SVG group; `scale` is 1 where a pixel of the picture is one of the screen. */
  children: (scale: number) => ComponentChildren;
}) {
  const svg = useRef<SVGSVGElement>(null);
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  const [chosen, setFrame] = useState<Frame>();
  const pointers = useRef(new Map<number, Point>());
  /** Pixels that the pointer was moved by since it went down. */
  const moved = useRef(0);
  const now = useRef({ picture, size });
  now.current = { picture, size };
  const change = useRef((make: (frame: Frame, picture: Size, window: Size) => Frame): void => {
    const { picture, size } = now.current;
    setFrame((known) => make(known ?? fit(picture, size), picture, size));
  }).current;
  // Before the first paint: a frame without a size would jump when the observer tells it.
  useLayoutEffect(() => {
    const element = svg.current as SVGSVGElement;
    const { width, height } = element.getBoundingClientRect();
    setSize({ width, height });
    const observer = new ResizeObserver(
      ([
        {
          contentRect: { width, height },
        },
      ]) => setSize({ width, height }),
    );
    observer.observe(element);
    // Listeners of JSX are passive, so the page would scroll.
    const onWheel = (event: WheelEvent): void => {
      event.preventDefault();
      change((frame, ...sizes) => zoom(frame, WHEEL_ZOOM ** -event.deltaY, placeOf(event, element), ...sizes));
    };
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => {
      observer.disconnect();
      element.removeEventListener('wheel', onWheel);
    };
  }, [change]);
  const frame = chosen ?? fit(picture, size.width === 0 ? picture : size);
  const middle = { x: size.width / 2, y: size.height / 2 };
  const zoomBy = (factor: number): void => change((one, ...sizes) => zoom(one, factor, middle, ...sizes));
  const moveBy = (dx: number, dy: number): void => change((one, ...sizes) => move(one, dx, dy, ...sizes));
  const onKey = (event: KeyboardEvent): void => {
    const actions: Readonly<Record<string, () => void>> = {
      '+': () => zoomBy(KEY_ZOOM),
      '=': () => zoomBy(KEY_ZOOM),
      '-': () => zoomBy(1 / KEY_ZOOM),
      '0': () => setFrame(undefined),
      ArrowLeft: () => moveBy(KEY_STEP, 0),
      ArrowRight: () => moveBy(-KEY_STEP, 0),
      ArrowUp: () => moveBy(0, KEY_STEP),
      ArrowDown: () => moveBy(0, -KEY_STEP),
    };
    const action = event.ctrlKey || event.metaKey || event.altKey ? undefined : actions[event.key];
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  const onMove = (event: PointerEvent): void => {
    const before = pointers.current.get(event.pointerId);
    if (before === undefined) return;
    const point = { x: event.clientX, y: event.clientY };
    const [other] = [...pointers.current].filter(([id]) => id !== event.pointerId).map(([, one]) => one);
    pointers.current.set(event.pointerId, point);
    moved.current += distance(before, point);
    if (other === undefined) return moveBy(point.x - before.x, point.y - before.y);
    const between = { clientX: (point.x + other.x) / 2, clientY: (point.y + other.y) / 2 };
    const factor = distance(point, other) / Math.max(1, distance(before, other));
    change((one, ...sizes) => zoom(one, factor, placeOf(between, svg.current as Element), ...sizes));
  };
  const release = (event: PointerEvent): void => void pointers.current.delete(event.pointerId);
  return (
    <div class="frame">
      {/* biome-ignore lint/a11y/useSemanticElements: an SVG is no field set. */}
      <svg
        ref={svg}
        role="group"
        aria-label={label}
        onKeyDown={onKey}
        onPointerDown={({ pointerId, clientX, clientY }) => {
          if (pointers.current.size === 0) moved.current = 0;
          pointers.current.set(pointerId, { x: clientX, y: clientY });
        }}
        onClickCapture={(event) => {
          // The end of a drag is no choice.
          if (moved.current > CLICK_MOVES) event.stopPropagation();
        }}
        onPointerMove={onMove}
        onPointerUp={release}
        onPointerLeave={release}
        onPointerCancel={release}
      >
        <title>{label}</title>
        <g transform={`translate(${frame.x} ${frame.y}) scale(${frame.scale})`}>{children(frame.scale)}</g>
      </svg>
      <div class="zoom">
        <button type="button" aria-label="Nearer" onClick={() => zoomBy(KEY_ZOOM)}>
          +
        </button>
        <button type="button" aria-label="Farther" onClick={() => zoomBy(1 / KEY_ZOOM)}>
          −
        </button>
        <button type="button" aria-label="Show all" disabled={chosen === undefined} onClick={() => setFrame(undefined)}>
          ⤢
        </button>
      </div>
    </div>
  );
}

function placeOf({ clientX, clientY }: { clientX: number; clientY: number }, element: Element): Point {
  const { left, top } = element.getBoundingClientRect();
  return { x: clientX - left, y: clientY - top };
}

function distance(one: Point, other: Point): number {
  return Math.hypot(one.x - other.x, one.y - other.y);
}
