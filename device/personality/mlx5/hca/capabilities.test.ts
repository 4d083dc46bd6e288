// SPDX-License-Identifier: Apache-2.0
/**
 * What the device promises: each field of the page of general capabilities that is not 0 stands
 * here with the file of this personality, or of its fabric, whose test or bound is behind it.
 */
import { existsSync, readFileSync } from 'node:fs';
import t from 'tap';
import {
  decodeCmdHcaCap,
  newCmdHcaCap,
  setCmdHcaCapCqeVersion,
} from '../../../../protocol/mlx5/gen/cmd-hca-cap.gen.ts';
import { BAR_BYTES } from '../../../../protocol/mlx5/gen/constants.gen.ts';
import { CapabilityKind, hasUserIndices, makeCapabilities } from './capabilities.ts';

const FOLDER = new URL('../', import.meta.url);

/**
 * Field, and a file with words of it that show what is behind the field. The size of the GID table
 * is not here: its code for 8 entries is 0.
 */
const reasons: Readonly<Record<string, readonly [file: string, words: string]>> = {
  numPorts: ['../shared/undivided-adapter.ts', 'length: portCount'],
  qkv: ['data-path.test.ts', 'another Q_Key'],
  pkv: ['commands/vport-commands.test.ts', 'pkey'],
  logMaxMcg: ['commands/group-commands.test.ts', 'as many groups, and QPs in one, as the capabilities tell'],
  maxQpMcg: ['commands/group-commands.test.ts', 'as many groups, and QPs in one, as the capabilities tell'],
  blockLbMc: ['data-path.test.ts', 'a QP may refuse its own datagrams to a group'],
  ibVirt: ['commands/vport-commands.test.ts', 'QUERY_HCA_VPORT'],
  mcamReg: ['commands/management-registers.test.ts', 'all registers that there are, and no other'],
  deviceFrequencyKhz: ['mlx5-function.ts', 'TIMER_OFFSET'],
  logPgSz: ['memory/page-list.ts', 'LOG_LEAST_PAGE'],
  uarSz: ['stray-doorbells.test.ts', 'BAR_BYTES'],
  logBfRegSize: ['mlx5-function.ts', 'DOORBELL_HALF_BYTES'],
  logMaxMsg: ['../shared/send-command-builder.ts', 'MESSAGE_MAX_BYTES'],
  logMaxEq: ['commands/event-queue-commands.ts', 'EVENT'],
  logMaxEqSz: ['commands/event-queue-commands.ts', 'LOG_EVENT_ENTRIES'],
  logMaxCq: ['hca/hca.ts', 'LOG_COMPLETION_QUEUES'],
  logMaxCqSz: ['commands/completion-queue-commands.ts', 'LOG_COMPLETION_ENTRIES'],
  cqOi: ['queues/completions.test.ts', 'oi: 1'],
  cqe128Always: ['queues/completions.test.ts', 'with zeros before them'],
  cqResize: ['queues/completion-events.test.ts', 'resizing'],
  cqModeration: ['queues/completion-events.test.ts', 'moderated'],
  cqEqRemap: ['queues/completion-events.test.ts', 'another EQ takes the events'],
  logMaxQp: ['hca/hca.ts', 'LOG_QUEUE_PAIRS'],
  logMaxQpSz: ['commands/queue-pair-commands.ts', 'LOG_QUEUE_PAIR_BLOCKS'],
  logMaxSrq: ['hca/hca.ts', 'LOG_SHARED_QUEUES'],
  logMaxRmp: ['commands/shared-receive-queue-commands.ts', 'CREATE_RMP'],
  logMaxSrqSz: ['commands/shared-receive-queue-commands.ts', 'LOG_SHARED_ENTRIES'],
  logMaxRaReqQp: ['data-path.test.ts', 'LIMIT_EXCEEDED'],
  logMaxRaResQp: ['data-path.test.ts', 'logRraMax: 5'],
  logMaxPd: ['hca/hca.ts', 'LOG_DOMAINS'],
  logMaxXrcd: ['hca/hca.ts', 'LOG_XRC_DOMAINS'],
  logMaxTransportDomain: ['hca/hca.ts', 'LOG_TRANSPORT_DOMAINS'],
  maxWqeSzSq: ['queues/send-queue.ts', 'BLOCKS_MAX'],
  maxWqeSzRq: ['commands/queue-pair-commands.ts', 'RECEIVE_ENTRY_MAX_BYTES'],
  cqeVersion: ['queues/completion-encoder.test.ts', 'userIndex'],
  forceTeardown: ['start.test.ts', 'a function stops gracefully, by force and fast'],
  fastTeardown: ['start.test.ts', 'a function stops gracefully, by force and fast'],
  atomic: ['data-path.test.ts', 'FETCH_ADD'],
  rc: ['data-path.test.ts', 'SENDs over a reliable connection'],
  uc: ['data-path.test.ts', 'an unreliable connection'],
  ud: ['data-path.test.ts', 'datagrams'],
  xrc: ['queues/shared-receive-queue.ts', 'XRC'],
  logMaxMkey: ['memory/memory-keys.ts', 'LOG_KEYS'],
  logMaxMrwSz: ['memory/memory-keys.test.ts', 'len'],
  maxIndirection: ['memory/memory-keys.ts', 'MAX_INDIRECTION'],
  logMaxKlmListSize: ['memory/key-lists.ts', 'pieces'],
  umrExtendedTranslationOffset: ['memory/umr.test.ts', 'from its offset on'],
  imaicl: ['memory/driver-requests.test.ts', 'a window of type 2'],
};

t.test('nothing is promised without a reason', async (t) => {
  const page = makeCapabilities(1).get(CapabilityKind.GENERAL);
  if (page === undefined) throw new Error('there is no page of general capabilities');
  const fields = decodeCmdHcaCap(new DataView(page.buffer), 0, newCmdHcaCap());
  const told = Object.entries(fields).flatMap(([name, value]) => (value === 0 ? [] : [name]));
  t.same(told.sort(), Object.keys(reasons).sort());
  for (const [name, [file, words]] of Object.entries(reasons)) {
    const place = new URL(file, FOLDER);
    if (t.ok(existsSync(place), `${name}: ${file}`))
      t.ok(readFileSync(place, 'utf8').includes(words), `${name}: ${words}`);
  }
});

t.test('sizes are those of the device', async (t) => {
  const page = makeCapabilities(1).get(CapabilityKind.GENERAL) as Uint8Array;
  const told = decodeCmdHcaCap(new DataView(page.buffer), 0, newCmdHcaCap());
  t.equal(2 ** told.uarSz * 2 ** 20, BAR_BYTES);
  t.same([told.gidTableSize, told.pkeyTableSize], [0, 0], '8 GIDs, 128 P_Keys');
  t.same([told.numPorts, 2 ** told.logPgSz], [1, 4096]);
});

t.test('completions carry user indices when software has taken their form', async (t) => {
  t.notOk(hasUserIndices(undefined), 'nothing is known');
  for (const [version, isTaken] of [
    [0, false],
    [1, true],
  ] as const) {
    const page = makeCapabilities(1).get(CapabilityKind.GENERAL) as Uint8Array;
    // The page may lie anywhere.
    const bytes = new Uint8Array(page.length + 8);
    bytes.set(page, 8);
    setCmdHcaCapCqeVersion(new DataView(bytes.buffer), 8, version);
    t.equal(hasUserIndices(bytes.subarray(8)), isTaken, `version ${version}`);
  }
});
