// SPDX-License-Identifier: Apache-2.0
/** The end of QEMU or of the adapter is explained by what ended it, and by nothing else. */
import t from 'tap';
import { describeDeviceExit, describeGuestExit } from './describe-exit.ts';

const WARNING = 'qemu-system-x86_64: -device {"driver":"vfio-user-pci"}: warning: no error interrupt';

t.test('QEMU', async (t) => {
  const exit = (signal: NodeJS.Signals | null, errors: string) =>
    describeGuestExit({ status: signal === null ? 1 : null, signal, errors });
  t.equal(exit('SIGKILL', WARNING), 'QEMU was ended by SIGKILL, which another process sent');
  t.equal(exit('SIGTERM', `${WARNING}\nx`), 'QEMU was ended by SIGTERM, which another process sent');
  t.equal(exit('SIGABRT', `${WARNING}\nAssertion failed`), 'QEMU crashed with SIGABRT; it said: Assertion failed');
  t.equal(exit('SIGSEGV', WARNING), 'QEMU crashed with SIGSEGV; it said: nothing');
  t.equal(exit(null, `${WARNING}\nno such disk`), 'QEMU ended with status 1; it said: no such disk');
  t.equal(exit(null, WARNING), 'QEMU ended with status 1; it said: nothing');
});

t.test('the adapter', async (t) => {
  const exit = { left: [], lastLine: 'the adapter has failed in a pass: x' };
  t.equal(
    describeDeviceExit({ ...exit, status: null, signal: 'SIGKILL' }),
    'the adapter process ended (SIGKILL), so the guest was ended',
  );
  t.equal(
    describeDeviceExit({ ...exit, status: 70, signal: null }),
    'the adapter process ended with status 70, so the guest was ended; it said last: the adapter has failed in a pass: x',
  );
  t.match(describeDeviceExit({ ...exit, status: 1, signal: null, lastLine: undefined }), /said last: nothing$/);
});
