// SPDX-License-Identifier: Apache-2.0
/** Fields that a transition takes over: by the bits of a mask, and those that it always takes. */
import t from 'tap';
import { type Ads, decodeAds, newAds } from '../../../../protocol/mlx5/gen/ads.gen.ts';
import {
  decodeQpc,
  newQpc,
  QPC_PRIMARY_ADDRESS_PATH_OFFSET,
  QPC_SECONDARY_ADDRESS_PATH_OFFSET,
  QPC_SIZE,
  type Qpc,
} from '../../../../protocol/mlx5/gen/qpc.gen.ts';
import { QpOptional } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { initialFields, mergeContext, OPTIONAL_MASK, receiveFields, sendFields } from './queue-pair-parameters.ts';

const SOURCE_AT = 0x18;
const source = new DataView(new Uint8Array(SOURCE_AT + QPC_SIZE).fill(0xff).buffer);

/** Fields that are not 0: those of the context, of the path in use and of the other one. */
function mergedFields(mask: number, always: Parameters<typeof mergeContext>[4] = []): string[] {
  const target = new DataView(new ArrayBuffer(QPC_SIZE));
  mergeContext(target, source, SOURCE_AT, mask, always);
  const namesOf = (what: string, fields: Qpc | Ads): string[] =>
    Object.entries(fields).flatMap(([name, value]) => (value === 0 ? [] : [`${what}${name}`]));
  const pathAt = (at: number): Ads => decodeAds(target, at, newAds());
  return [
    ...namesOf('', decodeQpc(target, 0, newQpc())),
    ...namesOf('path ', pathAt(QPC_PRIMARY_ADDRESS_PATH_OFFSET)),
    ...namesOf('other ', pathAt(QPC_SECONDARY_ADDRESS_PATH_OFFSET)),
  ];
}

const fieldsOf: Readonly<Partial<Record<QpOptional, string>>> = {
  [QpOptional.REMOTE_READS]: 'rre',
  [QpOptional.REMOTE_ATOMICS]: 'rae',
  [QpOptional.REMOTE_WRITES]: 'rwe',
  [QpOptional.PKEY_INDEX]: 'path pkeyIndex',
  [QpOptional.QKEY]: 'qKey',
  [QpOptional.RNR_TIMEOUT]: 'minRnrNak',
  [QpOptional.READS_OUT]: 'logSraMax',
  [QpOptional.READS_IN]: 'logRraMax',
  [QpOptional.MIGRATION_STATE]: 'pmState',
  [QpOptional.RETRY_COUNT]: 'retryCount',
  [QpOptional.RNR_RETRY]: 'rnrRetry',
  [QpOptional.ACK_TIMEOUT]: 'path ackTimeout',
  [QpOptional.PRIMARY_PORT]: 'path vhcaPortNum',
  [QpOptional.COUNTER_SET]: 'counterSetId',
};

t.test('each bit of the mask takes over its field, and no other', async (t) => {
  for (const [bit, field] of Object.entries(fieldsOf)) t.same(mergedFields(1 << Number(bit)), [field], field);
  t.same(mergedFields(0), []);
  t.same(mergedFields(~OPTIONAL_MASK), [], 'bits that mean nothing');
  const path = mergedFields(1 << QpOptional.PRIMARY_PATH);
  t.ok(path.includes('path rlid') && path.every((name) => name.startsWith('path ')));
  for (const own of ['pkeyIndex', 'ackTimeout', 'vhcaPortNum']) t.notOk(path.includes(`path ${own}`), own);
  const other = mergedFields(1 << QpOptional.ALTERNATE_PATH);
  t.ok(other.includes('other rlid') && other.every((name) => name.startsWith('other ')));
});

t.test('some fields need no bit', async (t) => {
  const named = mergedFields(0, initialFields);
  t.same(named.sort(), [
    ...['counterSetId', 'path pkeyIndex', 'path vhcaPortNum', 'pmState', 'qKey', 'rae', 'rre', 'rwe'],
  ]);
  const received = mergedFields(0, receiveFields).filter((name) => !name.startsWith('path '));
  t.same(received.sort(), ['logMsgMax', 'logRraMax', 'minRnrNak', 'mtu', 'nextRcvPsn', 'remoteQpn']);
  const sent = mergedFields(0, sendFields);
  t.same(sent.sort(), ['logSraMax', 'nextSendPsn', 'path ackTimeout', 'retryCount', 'rnrRetry']);
});
