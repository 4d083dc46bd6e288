// SPDX-License-Identifier: Apache-2.0
/**
 * Commands about event and completion queues that are not there, or of which there are no more.
 * completion-queue-commands.test.ts has their fields.
 */
import t from 'tap';
import { MODIFY_CQ_IN_SIZE } from '../../../../protocol/mlx5/gen/modify-cq-in.gen.ts';
import { CommandOpcode, CommandStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { Mlx5Driver } from '../../../rig/mlx5/driver/mlx5-driver.ts';
import { LOG_EVENT_QUEUES } from '../hca/capabilities.ts';

const { QUERY_EQ, DESTROY_EQ, QUERY_CQ, DESTROY_CQ, MODIFY_CQ } = CommandOpcode;
const QUERY_BYTES = 0x110;

function start() {
  const driver = new Mlx5Driver();
  driver.start();
  return { driver, uar: driver.allocateUar() };
}

t.test('a queue that is not there is told as such', async (t) => {
  const { driver, uar } = start();
  const { number } = driver.createEventQueue(uar, 0n);
  const fill = (view: DataView): void => view.setUint32(8, number + 1);
  for (const opcode of [QUERY_EQ, DESTROY_EQ, QUERY_CQ, DESTROY_CQ, MODIFY_CQ]) {
    const command = { inputBytes: MODIFY_CQ_IN_SIZE, outputBytes: QUERY_BYTES, fill };
    t.equal(driver.command(opcode, command).status, CommandStatus.BAD_RESOURCE, `0x${opcode.toString(16)}`);
  }
});

t.test('there are as many event queues as the capabilities tell', async (t) => {
  const { driver, uar } = start();
  const { uars } = driver.device.hca;
  for (let queue = 0; queue < 2 ** LOG_EVENT_QUEUES; queue++) driver.createEventQueue(uar, 0n, 0);
  t.throws(() => driver.createEventQueue(uar, 0n, 0), { message: `status ${CommandStatus.NO_RESOURCES}` });
  t.equal(uars.usersOf(uar), 2 ** LOG_EVENT_QUEUES);
});
