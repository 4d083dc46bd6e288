// SPDX-License-Identifier: Apache-2.0
/**
 * The control command that fails an mthca device: the error buffer, and causes that do not exist.
 */
import t from 'tap';
import { ERROR_BUFFER_OFFSET } from '../../protocol/mthca/gen/constants.gen.ts';
import { CommandOpcode, CommandStatus, FatalKind } from '../../protocol/mthca/gen/values.gen.ts';
import { MthcaDriver, makeMthcaMachine } from '../personality/mthca/test-support/mthca-driver.ts';
import type { ControlClientHandle } from './control-server.ts';
import { makeMthcaCommands } from './mthca-commands.ts';

const client = {} as ControlClientHandle;

t.test('a device fails by command, and recovers by reset', (t) => {
  const driver = new MthcaDriver(makeMthcaMachine());
  driver.start();
  const fail = makeMthcaCommands(() => driver.device).get('fail');
  const request = (parameters: object) => ({ version: 1, id: 1, command: 'fail', parameters: { ...parameters } });
  t.throws(() => fail?.(request({ cause: 'moon' }), client), /no cause moon; there are internal, bus, memory, parity/);
  t.equal(driver.readRegister(ERROR_BUFFER_OFFSET), 0, 'nothing has happened');
  t.same(fail?.(request({ cause: 'bus' }), client), { cause: 'bus' });
  t.equal(driver.readRegister(ERROR_BUFFER_OFFSET) >>> 24, FatalKind.BUS);
  t.equal(driver.command(CommandOpcode.NOP).status, CommandStatus.INTERNAL_ERROR);
  driver.reset();
  const next = new MthcaDriver(driver.machine);
  next.start();
  t.same(fail?.(request({}), client), { cause: 'internal' });
  t.not(next.readRegister(ERROR_BUFFER_OFFSET), 0, 'an internal error is seen, too');
  t.end();
});
