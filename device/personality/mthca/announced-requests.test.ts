// SPDX-License-Identifier: Apache-2.0
/**
 * The order check of the personality mthca (docs/HAZARDS.md, "What a doorbell announces"): work
 * requests and input mailboxes that software stores after their doorbell are found, and orderly
 * software is not blamed.
 */
import t from 'tap';
import { COMMAND_REGISTER_STATUS_OFFSET } from '../../../protocol/mthca/gen/command-register.gen.ts';
import { HCR_OFFSET } from '../../../protocol/mthca/gen/constants.gen.ts';
import { QpService, WorkOpcode } from '../../../protocol/mthca/gen/values.gen.ts';
import { DataFixture } from '../../rig/mthca/driver/data-fixture.ts';

const OPTIONS = { orderCheck: true };
const { RDMA_WRITE } = WorkOpcode;

t.test('a byte of a work request that is stored behind the doorbell is found', async (t) => {
  // Bytes 0 to 7 link to the next request, which is posted later.
  for (const [at, isFound] of [
    [0, false],
    [7, false],
    [8, true],
    [20, true],
    [47, true],
    [60, false],
  ] as const)
    for (const behind of [0, 1]) {
      const fixture = new DataFixture(OPTIONS);
      const { machine } = fixture.driver;
      const [a] = fixture.connect();
      const [source, target] = [fixture.memory(100), fixture.memory(100)];
      const work = { opcode: RDMA_WRITE, pieces: [source], remote: target, signaled: 0 as const };
      machine.expectsLateStores = true;
      for (let count = 0; count <= behind; count++) a.write(work);
      const view = a.sendView(behind);
      a.ring();
      view.setUint8(at, view.getUint8(at) ^ 1);
      fixture.run();
      const expected = { kind: 'work request', object: a.number, index: behind, offset: at, differing: 1 };
      const name = `byte ${at} of request ${behind}`;
      if (isFound) t.match(machine.lateStores, [{ ...expected, seen: 'fetch' }], name);
      else t.same(machine.lateStores, [], `${name} is none of what the doorbell announces`);
    }
});

t.test('an input mailbox that is stored behind the command is found', async (t) => {
  const fixture = new DataFixture(OPTIONS);
  const { port, machine, memory } = fixture.driver;
  const parameter = new DataView(new ArrayBuffer(8));
  const write = port.writeRegister.bind(port);
  port.writeRegister = (offset, sizeBytes, low, high) => {
    const inRegister = offset - HCR_OFFSET;
    if (inRegister === 0 || inRegister === 4) parameter.setUint32(inRegister, low, true);
    write(offset, sizeBytes, low, high);
    if (inRegister !== COMMAND_REGISTER_STATUS_OFFSET) return;
    const box = memory.view(Number(parameter.getBigUint64(0)), 16);
    box.setUint8(9, box.getUint8(9) ^ 0x10);
  };
  machine.expectsLateStores = true;
  fixture.memory(64);
  t.match(machine.lateStores, [{ kind: 'mailbox', offset: 9, differing: 1, seen: 'fetch' }]);
});

t.test('orderly software is not blamed, over many laps and after a reset of the queue pair', async (t) => {
  for (const service of [QpService.RC, QpService.UC]) {
    const fixture = new DataFixture(OPTIONS);
    const [a] = fixture.connect(service);
    const [source, target] = [fixture.memory(100), fixture.memory(100)];
    for (let lap = 0; lap < 200; lap++) {
      const work = { opcode: RDMA_WRITE, inline: new Uint8Array(8).fill(lap), remote: target };
      a.post(work, { opcode: RDMA_WRITE, pieces: [source], remote: target }, work);
      fixture.run();
      t.equal(a.take().length, 3, `lap ${lap}`);
    }
    t.same(fixture.driver.machine.lateStores, []);
  }
});
