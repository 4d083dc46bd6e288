// SPDX-License-Identifier: Apache-2.0
/** A picture that is zoomed and moved at random is never lost, and a point stays where it is. */
import t from 'tap';
import { Random } from '../../../device/random.ts';
import { type Frame, fit, move, zoom } from './frame.ts';

const WINDOW = { width: 900, height: 600 };

t.test('all of a picture is shown in the middle, small ones not much enlarged', async (t) => {
  const wide = fit({ width: 1800, height: 300 }, WINDOW);
  t.ok(wide.scale < 0.5 && wide.x > 0);
  t.equal(wide.y * 2 + 300 * wide.scale, WINDOW.height);
  t.equal(fit({ width: 10, height: 10 }, WINDOW).scale, 1.4);
  t.ok(fit({ width: 100, height: 100 }, { width: 0, height: 0 }).scale > 0);
});

t.test('a picture is never lost, and the point under the pointer stays', async (t) => {
  for (let seed = 1; seed <= 20; seed++) {
    const random = new Random(seed);
    const picture = { width: 50 + random.below(3000), height: 50 + random.below(3000) };
    let frame: Frame = fit(picture, WINDOW);
    for (let at = 0; at < 50; at++) {
      const point = { x: random.below(WINDOW.width), y: random.below(WINDOW.height) };
      const isZoom = random.below(2) === 0;
      const before = frame;
      frame = isZoom
        ? zoom(frame, 0.5 + random.below(100) / 50, point, picture, WINDOW)
        : move(frame, random.below(2000) - 1000, random.below(2000) - 1000, picture, WINDOW);
      const [right, bottom] = [frame.x + frame.scale * picture.width, frame.y + frame.scale * picture.height];
      const isSeen = right >= 59 && bottom >= 59 && frame.x <= WINDOW.width - 59 && frame.y <= WINDOW.height - 59;
      if (!isSeen || !(frame.scale > 0 && frame.scale <= 4)) t.fail(`seed ${seed}: ${JSON.stringify(frame)}`);
      if (!isZoom || !isInside(before, point, picture)) continue;
      const [x, y] = [(point.x - before.x) / before.scale, (point.y - before.y) / before.scale];
      if (Math.abs(frame.x + x * frame.scale - point.x) > 1e-6 || Math.abs(frame.y + y * frame.scale - point.y) > 1e-6)
        if (isFree(frame, picture)) t.fail(`seed ${seed}: the point has moved`);
    }
  }
});

function isInside(frame: Frame, { x, y }: { x: number; y: number }, picture: typeof WINDOW): boolean {
  const [u, v] = [(x - frame.x) / frame.scale, (y - frame.y) / frame.scale];
  return u >= 0 && v >= 0 && u <= picture.width && v <= picture.height;
}

/** No bound holds the picture. */
function isFree({ scale, x, y }: Frame, picture: typeof WINDOW): boolean {
  return (
    x < WINDOW.width - 60.1 &&
    y < WINDOW.height - 60.1 &&
    x > 60.1 - scale * picture.width &&
    y > 60.1 - scale * picture.height
  );
}
