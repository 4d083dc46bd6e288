// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca status --qp`: the table and the single screen for queue pairs with a known history, word
 * for word; and of a running adapter, with its errors. The same for `vuhca show`.
 */
import { join } from 'node:path';
import t from 'tap';
import { VIEW_NAMES } from '../../../device/hca/adapter/contents/view-names.ts';
import { Driver } from '../../../device/rig/driver/driver.ts';
import { VfioUserAccess } from '../../../device/rig/live/vfio-user-access.ts';
import { makeDirectory } from '../testing/directory.ts';
import { makeHistory } from '../testing/failed-queue-pairs.ts';
import { CliProcess } from '../testing/run-cli.ts';
import { runWords } from '../testing/run-words.ts';
import { renderQueuePair, renderQueuePairs } from './queue-pair-screen.ts';
import { renderRows } from './show-screen.ts';

const COLUMNS = 80;

function isNarrow(text: string): boolean {
  return text.split('\n').every((line) => line.length <= COLUMNS);
}

t.test('all queue pairs, a line for each', async (t) => {
  const text = renderQueuePairs(makeHistory());
  t.equal(
    text,
    `QP  fn  type  state  peer  sends  busy  receives  failure
2    0  RC    ERR    3@2       2     0         0  REMOTE_ACCESS_ERROR
3    0  RC    ERR    2@1       0     0         0  KEY_INVALID
4    0  RC    RTS    5@2       1     1         0
5    0  RC    RTS    4@1       0     0         0
6    0  UD    SQE              1     0         0  LOCAL_PROTECTION_ERROR
7    0  UD    ERR              0     0         0  by software
peer: QP@LID; sends, receives: number of the next WQE; busy: commands in flight
\`vuhca status --qp N\` shows one in full
`,
  );
  t.ok(isNarrow(text));
  t.equal(renderQueuePairs([]), 'no QPs\n');
});

t.test('one queue pair in full', async (t) => {
  const [requester, responder, waiting, , datagram, moved] = makeHistory();
  t.equal(
    renderQueuePair(requester),
    `QP 2         RC, ERR, function 0, QoS level 0
objects      PD 1, send CQ 1, receive CQ 2
failure      a send failed in RTS at 0.000000 s, send WQE 1
             status REMOTE_ACCESS_ERROR, PSN 103
             received NAK REMOTE_ACCESS_ERROR
peer         QP 3 at LID 2, port 1
send         next WQE 2, 0 in flight, 0 of them in kick lists, next PSN 106
receive      next WQE 0, 0 known to be posted, expected PSN 500, MSN 0
`,
  );
  t.equal(
    renderQueuePair(responder),
    `QP 3         RC, ERR, function 0, QoS level 0
objects      PD 1, send CQ 3, receive CQ 4
failure      a request of the peer failed in RTS at 0.000000 s
             fault KEY_INVALID, PSN 103, sent NAK REMOTE_ACCESS_ERROR
peer         QP 2 at LID 1, port 2
send         next WQE 0, 0 in flight, 0 of them in kick lists, next PSN 500
receive      next WQE 0, 0 known to be posted, expected PSN 103, MSN 1
             last request ended at check R_Key
`,
  );
  t.equal(
    renderQueuePair(datagram),
    `QP 6         UD, SQE, function 0, QoS level 0
objects      PD 1, send CQ 9, receive CQ 9
failure      a send failed in RTS at 0.000000 s, send WQE 0
             status LOCAL_PROTECTION_ERROR, fault KEY_INVALID
peer         none, port 1
send         next WQE 1, 0 in flight, 0 of them in kick lists, next PSN 0
receive      next WQE 0, 0 known to be posted
`,
  );
  t.equal(
    renderQueuePair(moved),
    `QP 7         UD, ERR, function 0, QoS level 0
objects      PD 1, send CQ 10, receive CQ 10
failure      software moved it to ERR in RTS at 0.000000 s
peer         none, port 2
send         next WQE 0, 0 in flight, 0 of them in kick lists, next PSN 0
receive      next WQE 0, 0 known to be posted
`,
  );
  t.equal(
    renderQueuePair(waiting),
    `QP 4         RC, RTS, function 0, QoS level 0
objects      PD 1, send CQ 5, receive CQ 6
failure      none
peer         QP 5 at LID 2, port 1
send         next WQE 1, 1 in flight, 0 of them in kick lists, next PSN 1
             acknowledged before PSN 0, last turn ended at select
             waits: receiver not ready, 7 retries left, RNR: 7
receive      next WQE 0, 0 known to be posted, expected PSN 0, MSN 0
`,
  );
  for (const qp of [requester, responder, waiting, datagram, moved]) t.ok(isNarrow(renderQueuePair(qp)));
});

t.test('the table of a view: columns that some row fills, under the words of their names', async (t) => {
  const rows = [
    { queue: 'QP', number: 2, isOld: true, sendCq: 1, stampNs: null, qp: null },
    { queue: 'CQ', number: 10, isOld: false, sendCq: null, stampNs: null, qp: 7 },
  ];
  t.equal(
    renderRows(rows),
    `queue  number  is old  send CQ  QP
QP          2  yes           1
CQ         10  no                7
`,
  );
  t.equal(renderRows([]), 'none\n');
});

t.test('a running adapter', async (t) => {
  const directory = makeDirectory(t);
  const environment = { XDG_RUNTIME_DIR: directory };
  const socket = join(directory, 's.sock');
  const device = new CliProcess(['device', '--socket', socket], environment);
  t.teardown(() => device.child.kill('SIGKILL'));
  await device.until(/^listening on/m);
  const status = (...words: string[]) => runWords(['status', ...words], environment);
  t.match(await status('--qp'), { status: 0, stdout: 'no QPs\n' });
  t.match(await status('--qp', '--json'), { status: 0, stdout: '{"adapters":[{"name":"a","queuePairs":[]}]}\n' });
  t.match(await status('--qp', '7'), { status: 1, stderr: /there is no QP 7\n/ });
  t.match(await status('--qp', '0x7', '--function', '0'), { status: 1, stderr: /there is no QP 7 of function 0\n/ });
  t.match(await status('--qp', 'x'), { status: 2, stderr: /option --qp is x; it must be a whole number/ });
  const explain = (...words: string[]) => runWords(['explain', ...words], environment);
  t.match(await explain(), { status: 0, stdout: /^no QP has failed/ });
  t.match(await explain('--qp', '7'), { status: 1, stderr: /there is no QP 7, and none of those that failed last/ });
  t.match(await explain('--json'), { status: 0, stdout: '{"queuePairs":[]}\n' });
  const access = new VfioUserAccess(socket);
  const driver = new Driver(access).bringUp();
  const sendCq = driver.createCompletionQueue();
  const qp = driver.createQueuePair({ pd: driver.createProtectionDomain(), sendCq }).start({ port: 1 });
  qp.toError();
  qp.destroy();
  t.match(await explain('--last', '1'), { stdout: new RegExp(`^QP ${qp.qpn} of a .*: software moved it to ERR`) });
  t.match(await explain('--qp', `${qp.qpn}`), { stdout: /since then +\d+ s; it is destroyed\n/ });
  access.close();
  const show = (...words: string[]) => runWords(['show', ...words], environment);
  for (const view of VIEW_NAMES) t.match(await show(view), { status: 0, stdout: 'none\n' }, view);
  t.match(await show('queues', '--json'), { status: 0, stdout: '{"view":"queues","rows":[]}\n' });
  t.match(await show('queues', '--adapter', 'b'), { status: 1, stderr: /there is no adapter b; there are a\n/ });
  const watching = new CliProcess(['show', 'events', '--watch'], environment);
  await watching.until(/none\n[^n]+none\n/);
  watching.child.kill('SIGTERM');
  await watching.whenExited;
});
