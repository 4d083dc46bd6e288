// SPDX-License-Identifier: Apache-2.0
/** The faults that `vuhca explain` describes, word for word. */
import t from 'tap';
import { reportAdapter, type StatusReport } from '../../../device/process/reports/status-report.ts';
import { AdapterFixture } from '../../../device/rig/fixtures/adapter-fixture.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { describeFirstFaults } from './explain-faults.ts';

t.test('the first fault of each function names register, access and meaning', async (t) => {
  const fixture = new AdapterFixture({ adapter: { functionCount: 2 } });
  const report = (): string => {
    const adapter = { name: 'a', sockets: [], ...reportAdapter(fixture.machine.device) };
    return describeFirstFaults({ adapters: [adapter], personalities: [] } as unknown as StatusReport);
  };
  t.equal(report(), '', 'nothing to tell');
  fixture.machine.functionAt(1).writeRegister(CSR.DEVICE_STATUS, 4, 0x80000001, 0);
  t.equal(
    report(),
    `
first fault  function 1 of a: REGISTER_READ_ONLY, register DEVICE_STATUS (0x84),
             write of 0x80000001, 4 bytes, at 0.000000 s
fault        REGISTER_READ_ONLY (2): Write to a read-only register.
`,
  );
  fixture.access.readRegister(0x7ff8, 2);
  const whole = report().replaceAll(/\s+/g, ' ');
  t.match(whole, /function 0 of a: REGISTER_RESERVED, offset 0x7ff8, read of 2 bytes, at .*function 1 of a/);
});
