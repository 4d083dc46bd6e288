// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca resources` as a user calls it: the tables of a known adapter, word for word, and requests
 * to a running adapter, recorded and replayed.
 */
import { join } from 'node:path';
import t from 'tap';
import { ControlClient } from '../../../device/process/control/control-client.ts';
import { reportResources } from '../../../device/process/reports/resource-report.ts';
import { encodeRequest, readResourceWords } from '../../../device/process/reports/resource-syntax.ts';
import { InProcessMachine } from '../../../device/rig/machine/machine.ts';
import { renderResources } from '../screens/resources-screen.ts';
import { makeDirectory } from '../testing/directory.ts';
import { readCommand } from '../testing/read-command.ts';
import { CliProcess } from '../testing/run-cli.ts';
import { runWords } from '../testing/run-words.ts';
import { performResources } from './resources.ts';

t.test('the tables of an adapter whose division is known', async (t) => {
  const machine = new InProcessMachine({
    functionCount: 3,
    adapter: { laneCount: 64, executionCredits: 64, completionCredits: 256, vcbLimit: 128 },
  });
  const words = [
    ...[
      'function 0 vcbs=30 pcbs=25 tvls=9',
      'function 1 vcbs=25 pcbs=20 tvls=10 contexts=8 send-blocks=512',
      'function 2 vcbs=15 pcbs=12 tvls=20',
    ],
    ...[
      'function 1 level 1 vcbs=15 pcbs=8',
      'lane 3 execution=4 completion=16 weight=2 shared=none',
      'dedicated lanes=62-63',
      'function 1 policy=most-spilled link-check=compare-swap low=3 adaptive=on host-queue=on spill-buffered=on spill-commands=on',
    ],
  ];
  const changes = readResourceWords(words.join(' ').split(' '), 64);
  t.equal(machine.functionAt(0).requestResources(encodeRequest(changes)).status, 0);
  t.equal(
    renderResources(reportResources(machine.device)),
    `              VCBs  in use  PCBs  in use  buffers  lanes
function 0      30       0    25       0       10  0-3,5-9        VCBs from 0
  level 0       30            10       0           0-3
  level 1        0            10       0           5-9
function 1      25       0    20       0       10  10-19          VCBs from 64
  level 0       10            10       0           10-14
  level 1       15             8       0           15-19
function 2      15       0    12       0       10  4,20-38        VCBs from 128
  level 0       15             2       0           4,20-24,30-38
  level 1        0            10       0           4,25-38
unallocated  16314           199               34  39-61
total        16384           256               64  64

lanes   of          execution  used  completion  used  shared  weight  list
0-2     function 0          0     0           2     0  both         1   320
3       function 0          4     0          16     0  none         2   320
4       function 2          0     0           2     0  both         1   320
5-9     function 0          0     0           2     0  both         1   320
10-19   function 1          0     0           2     0  both         1   320
20-38   function 2          0     0           2     0  both         1   320
39-61   all                 0     0           2     0  both         1   320
62-63   dedicated           0     0           2     0  both         1   320
shared                     60               114

send memory  contexts  in use  blocks  in use
function 0         53       0    5461       0
function 1          8       0     512       0
function 2         53       0    5461       0
unallocated        46            4950
total             160           16384

doorbells   policy        link check    spill below  until   of  adaptive  host queue  also spilled
function 0  newest        read                   16     64  128  no        no          none
function 1  most-spilled  compare-swap            3     64  128  yes       yes         buffered, commands
function 2  newest        read                   16     64  128  no        no          none

VCB addresses    of          level
0x0-0x1dfff      function 0      0
0x40000-0x49fff  function 1      0
0x4a000-0x58fff  function 1      1
0x80000-0x8efff  function 2      0
`,
  );
});

t.test('a running adapter shows and changes how it is divided, and the recording replays', async (t) => {
  const directory = makeDirectory(t);
  const recording = join(directory, 'x.rec');
  const environment = { XDG_RUNTIME_DIR: directory };
  const device = new CliProcess(['device', '--socket', join(directory, 's.sock'), '--record', recording], environment);
  t.teardown(() => device.child.kill('SIGKILL'));
  await device.until(/^listening on/m);
  const resources = (...words: string[]) => runWords(['resources', ...words], environment);
  t.match(await resources('show'), { status: 0, stdout: /^function 0 +64 +0 +256 +0 +64 +none +VCBs from 0$/m });
  const words = 'function 0 pcbs=200 tvls=10 level 1 vcbs=15 pcbs=50 lane 3 execution=4 completion=16 shared=none';
  const set = await resources('set', '--json', ...words.split(' '));
  t.equal(set.status, 0);
  t.match(JSON.parse(set.stdout), {
    functions: [{ pcbs: 200, levels: [{ vcbs: 49 }, { vcbs: 15, pcbs: 50 }] }],
    unallocated: { pcbs: 56 },
  });
  t.match(await resources('set', 'lane', '4', 'weight=9', 'function', '0', 'pcbs=300'), {
    status: 1,
    stderr:
      'vuhca resources: the adapter refuses: function 0 pcbs=300: not so much is unallocated; at most 256 would be accepted (NO_RESOURCES); nothing was changed\n',
  });
  t.match(JSON.parse((await resources('show', '--json')).stdout), { lanes: { 4: { weight: 1 } } });
  device.child.kill('SIGTERM');
  await device.whenExited;
  t.match(await runWords(['replay', recording]), { status: 0, stdout: /identical/ });
});

/** Requests, in this order, and the parts of the report that they change. */
const accepted: readonly (readonly [words: string, shown: object])[] = [
  ['function 1 vcbs=25', { functions: { 1: { vcbs: 25 } } }],
  ['function 1 base=500', { functions: { 1: { vcbBase: 500 } } }],
  ['function 1 pcbs=20', { functions: { 1: { pcbs: 20 } } }],
  ['function 1 buffers=3', { functions: { 1: { schedulerBuffers: 3 } } }],
  ['function 1 contexts=5 send-blocks=70', { functions: { 1: { sendContexts: 5, sendBlocks: 70 } } }],
  ['function 1 tvls=10', { functions: { 1: { lanes: { length: 10 } } } }],
  ['function 1 lanes=62-63,100', { functions: { 1: { lanes: [62, 63, 100] } } }],
  ['function 1 level 1 vcbs=15', { functions: { 1: { levels: [{ vcbs: 10 }, { vcbs: 15 }] } } }],
  ['function 1 level 0 pcbs=8 level 1 pcbs=12', { functions: { 1: { levels: [{ pcbs: 8 }, { pcbs: 12 }] } } }],
  ['function 1 level 1 tvls=2', { functions: { 1: { levels: { 1: { lanes: { length: 2 } } } } } }],
  ['function 1 level 0 lanes=63,100', { functions: { 1: { levels: { 0: { lanes: [63, 100] } } } } }],
  ['lane 3 execution=4', { lanes: { 3: { executionCredits: 4 } } }],
  ['lane 3 completion=16', { lanes: { 3: { completionCredits: 16 } } }],
  ['lane 3 shared=none', { lanes: { 3: { sharedExecution: false, sharedCompletion: false } } }],
  ['lane 3 weight=9', { lanes: { 3: { weight: 9 } } }],
  ['lane 3 list=50', { lanes: { 3: { listSize: 50 } } }],
  ['dedicated lanes=126-127', { dedicatedLanes: [126, 127] }],
  ['function 1 policy=most-spilled', { functions: { 1: { doorbells: { policy: 'MOST_SPILLED' } } } }],
  ['function 1 link-check=compare-swap', { functions: { 1: { doorbells: { linkCheck: 'COMPARE_SWAP' } } } }],
  ['function 1 adaptive=on', { functions: { 1: { doorbells: { adaptive: true } } } }],
  ['function 1 low=5 high=6', { functions: { 0: { doorbells: { low: 16 } }, 1: { doorbells: { low: 5, high: 6 } } } }],
  ['function 1 host-queue=on', { functions: { 1: { doorbells: { hostQueue: true, spillBuffered: false } } } }],
  ['function 1 spill-buffered=on', { functions: { 1: { doorbells: { spillBuffered: true, spillCommands: false } } } }],
  ['function 1 spill-commands=on', { functions: { 1: { doorbells: { spillBuffered: true, spillCommands: true } } } }],
  ['adapter disable=on', { disabled: true, lendIdle: false }],
  ['adapter lend=on', { disabled: true, lendIdle: true }],
  ['adapter freeze=on', { freezeSends: true, returnShares: false }],
  ['adapter disable=off freeze=off lend=off', { disabled: false, freezeSends: false, lendIdle: false }],
];

/**
 * Refusals of requests for too much of each resource, after the requests above, by an adapter of
 * three functions.
 */
const refused: readonly (readonly [words: string, said: string])[] = [
  ['function 1 vcbs=65', 'at most 64 would be accepted (BAD_FIELD)'],
  ['function 1 base=20000', 'at most 16359 would be accepted (BAD_FIELD)'],
  ['function 1 base=130', 'another function has VCBs there (NO_RESOURCES)'],
  ['function 1 pcbs=4000', 'not so much is unallocated; at most 172 would be accepted (NO_RESOURCES)'],
  ['function 1 buffers=65', 'not so much is unallocated; at most 44 would be accepted (NO_RESOURCES)'],
  ['function 1 tvls=127', 'not so much is unallocated; at most 86 would be accepted (NO_RESOURCES)'],
  ['function 1 lanes=0-1', 'not so much is unallocated; of lanes 0 on, 20-31 would be accepted (NO_RESOURCES)'],
  ['function 1 level 1 vcbs=26', 'the function does not own so much; at most 25 would be accepted (SHARE_EXCEEDED)'],
  ['function 1 level 0 pcbs=9', 'the function does not own so much; at most 8 would be accepted (SHARE_EXCEEDED)'],
  ['function 1 level 0 tvls=4', 'the function does not own so much; at most 3 would be accepted (SHARE_EXCEEDED)'],
  [
    'function 1 level 0 lanes=61',
    'the function does not own so much; of lanes 32 on, 62-63 would be accepted (SHARE_EXCEEDED)',
  ],
  ['lane 3 execution=200', 'not so much is unallocated; at most 129 would be accepted (NO_RESOURCES)'],
  ['lane 3 completion=2000', 'not so much is unallocated; at most 516 would be accepted (NO_RESOURCES)'],
  ['lane 3 execution=0', 'a lane needs credits of each kind, its own or shared ones (BAD_STATE)'],
  ['lane 3 weight=256', 'at most 255 would be accepted (BAD_FIELD)'],
  ['lane 3 list=321', 'at most 320 would be accepted (BAD_FIELD)'],
  ['function 1 low=6', 'at most 5 would be accepted (BAD_FIELD)'],
  ['function 1 high=5', 'at least 6 would be accepted (BAD_FIELD)'],
  ['function 1 high=129', 'at most 128 would be accepted (BAD_FIELD)'],
  ['lane 128 weight=1', 'there is none; the last one is 127 (BAD_OBJECT)'],
  ['function 3 pcbs=1', 'there is none; the last one is 2 (BAD_OBJECT)'],
  ['dedicated lanes=0', 'not so much is unallocated; of lanes 0 on, 20-31 would be accepted (NO_RESOURCES)'],
];

t.test('every resource can be set on a running adapter; what is refused is said, and nothing is changed', async (t) => {
  const directory = makeDirectory(t);
  const args = ['device', '--socket', join(directory, 's'), '--functions', '3'];
  const device = new CliProcess(args, { XDG_RUNTIME_DIR: directory });
  t.teardown(() => device.child.kill('SIGKILL'));
  const [, path] = await device.until(/^listening on .+ control (\S+)$/m);
  const control = await ControlClient.connect(path);
  t.teardown(() => control.close());
  const set = (words: string) => control.request('set-resources', { words: words.split(' ') });
  for (const [words, shown] of accepted) {
    t.match(await set(words), shown, words);
    t.match(await control.request('resources'), shown, words);
  }
  const before = await control.request('resources');
  for (const [words, said] of refused)
    for (const request of [words, `lane 5 weight=7 ${words}`]) {
      await t.rejects(set(request), { message: `${words}: ${said}; nothing was changed` });
      t.same(await control.request('resources'), before, request);
    }
  const returned = { returnShares: true, functions: { 1: { vcbs: 0, pcbs: 0, lanes: [] } } };
  t.match(await set('adapter return=on'), returned, 'no function has a guest');
});

t.test('mistakes in the words alone are reported before any adapter is asked', async (t) => {
  const mistakes: [string, RegExp][] = [
    ['set function 0 pcb=3', /there is no pcb to set/],
    ['set', /nothing to set/],
    ['sing', /sing is not understood; say show or set/],
    ['show me', /me is one argument too many/],
  ];
  for (const [words, message] of mistakes) {
    const perform = async () => performResources(await readCommand('resources', ...words.split(' ')));
    await t.rejects(perform(), { name: 'UsageError', message });
  }
  await t.rejects(readCommand('resources'), { name: 'UsageError', message: /is missing/ });
});
