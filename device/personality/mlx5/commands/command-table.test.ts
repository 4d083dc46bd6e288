// SPDX-License-Identifier: Apache-2.0
/** The checks that all commands have in common, and their order. */
import t from 'tap';
import { CommandOpcode, CommandStatus, HealthSyndrome } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { Mlx5Driver } from '../../../rig/mlx5/driver/mlx5-driver.ts';
import { Firmware } from '../../shared/firmware.ts';

const { ALLOC_PD, NOP, QUERY_ADAPTER, CREATE_EQ, QUERY_CQ } = CommandOpcode;
const { OK, BAD_OPCODE, BAD_RESOURCE, BAD_INPUT_LENGTH, BAD_OUTPUT_LENGTH, BAD_SYSTEM_STATE } = CommandStatus;
const NO_OPCODE = 0x7ff;
const MODIFIER = 1;

t.test('a command needs a row, the kernel, its lengths and a function that runs', async (t) => {
  const driver = new Mlx5Driver();
  driver.connect();
  const statusOf = (opcode: number, command = {}): number => driver.command(opcode, command).status;
  const ofProcess = { fill: (view: DataView) => view.setUint16(2, 1) };
  t.equal(statusOf(NO_OPCODE, ofProcess), BAD_OPCODE);
  t.equal(statusOf(NOP), OK);
  t.equal(statusOf(NOP, ofProcess), BAD_RESOURCE);
  t.equal(statusOf(CREATE_EQ), BAD_INPUT_LENGTH);
  t.equal(statusOf(CREATE_EQ, ofProcess), BAD_RESOURCE);
  t.equal(statusOf(QUERY_ADAPTER), BAD_OUTPUT_LENGTH);
  t.equal(statusOf(ALLOC_PD), BAD_SYSTEM_STATE);
  t.equal(statusOf(QUERY_CQ), BAD_OUTPUT_LENGTH, 'lengths before the state');
  driver.start();
  t.equal(statusOf(ALLOC_PD), OK);
  t.equal(statusOf(ALLOC_PD, { modifier: MODIFIER }), CommandStatus.BAD_PARAMETER, 'it has no variants');
  driver.device.hca.fail(HealthSyndrome.HARDWARE, Firmware.REFUSES);
  for (const opcode of [ALLOC_PD, NOP, NO_OPCODE]) t.equal(statusOf(opcode), CommandStatus.INTERNAL_ERROR);
});
