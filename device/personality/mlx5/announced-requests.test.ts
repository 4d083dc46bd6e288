// SPDX-License-Identifier: Apache-2.0
/**
 * The order check of the personality mlx5 (docs/HAZARDS.md, "What a doorbell announces"): work
 * requests that software stores after their doorbell are found, and orderly software is not blamed.
 */
import t from 'tap';
import { CommandOpcode, QpService, SendOpcode } from '../../../protocol/mlx5/gen/values.gen.ts';
import { DataFixture } from '../../rig/mlx5/driver/data-fixture.ts';
import { Mlx5Driver, makeMlx5Machine } from '../../rig/mlx5/driver/mlx5-driver.ts';

const { WRITE, NOP } = SendOpcode;
const BLOCK_BYTES = 64;

function fixtureOf(): DataFixture {
  return new DataFixture(new Mlx5Driver(makeMlx5Machine({}, { orderCheck: true })));
}

t.test('a byte of a request that is stored behind the doorbell is found', async (t) => {
  // A request of 16 + 16 + 4 + 70 bytes, in units of 16: two blocks, 112 bytes.
  for (const [at, isFound] of [
    [0, true],
    [15, true],
    [63, true],
    [64, true],
    [111, true],
    [112, false],
    [127, false],
  ] as const)
    for (const behind of [0, 3]) {
      const fixture = fixtureOf();
      const { machine, memory } = fixture.driver;
      const [a] = fixture.connect();
      const remote = fixture.memory(100);
      machine.expectsLateStores = true;
      for (let count = 0; count < behind; count++) a.write({ opcode: NOP });
      a.write({ opcode: WRITE, inline: new Uint8Array(70).fill(7), remote });
      a.ring();
      const place = a.queue + a.sendAt + behind * BLOCK_BYTES + at;
      const view = memory.view(place, 1);
      view.setUint8(0, view.getUint8(0) ^ 1);
      fixture.run();
      const name = `byte ${at} behind ${behind} requests`;
      const index = behind + Math.floor(at / BLOCK_BYTES);
      const expected = { kind: 'work request', object: a.number, index, offset: at % BLOCK_BYTES, seen: 'fetch' };
      if (isFound) t.match(machine.lateStores, [expected], name);
      else t.same(machine.lateStores, [], `${name} is nobody's`);
    }
});

t.test('orderly software is not blamed, over many laps, in ERR and after a reset', async (t) => {
  for (const service of [QpService.RC, QpService.UC]) {
    const fixture = fixtureOf();
    const [a, b] = fixture.connect(service);
    const [source, remote] = [fixture.memory(100), fixture.memory(100)];
    for (let lap = 0; lap < 44; lap++) {
      const long = { opcode: WRITE, inline: new Uint8Array(300).fill(lap), remote };
      a.post(long, { opcode: WRITE, pieces: [source], remote }, { opcode: NOP });
      fixture.run();
      t.equal(a.setup.cq.take().length, 3, `lap ${lap}`);
      a.setup.cq.tell();
      if (lap % 14 !== 13) continue;
      a.command(CommandOpcode.QP_2ERR);
      a.post(long, { opcode: NOP });
      // Nobody reads what was posted: a reset forgets it.
      if (lap === 27) a.reset();
      fixture.run();
      a.setup.cq.take();
      a.setup.cq.tell();
      for (const qp of [a, b]) qp.reset();
      a.start(b.number, fixture.lid);
      b.start(a.number, fixture.lid);
    }
    t.same(fixture.driver.machine.lateStores, []);
  }
});
