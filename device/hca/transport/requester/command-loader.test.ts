// SPDX-License-Identifier: Apache-2.0
/** Requests in the form of a personality: only its own front end takes them. */
import t from 'tap';
import { COMMAND_HEADER_BYTES } from '../../../../protocol/layout/gen/constants.gen.ts';
import { setSendCommandOpcode, setSendCommandSequence } from '../../../../protocol/layout/gen/send-command.gen.ts';
import { FaultKind, ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import type { PhysicalCollectBuffer } from '../../collect/physical-collect-buffer.ts';
import { CHANGE_KEY } from '../../function/request-opcodes.ts';
import type { KeyLookup } from '../../protection/key-lookup.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import { RequestKind } from '../requester-opcodes.ts';
import { SendRecord } from '../state/send-record.ts';
import { loadCommand } from './command-loader.ts';

function load(opcode: number, keys: Partial<KeyLookup>) {
  const bytes = new Uint8Array(COMMAND_HEADER_BYTES);
  const view = new DataView(bytes.buffer);
  setSendCommandOpcode(view, 0, opcode);
  setSendCommandSequence(view, 0, 3);
  const reported: FaultKind[] = [];
  const faults = { report: (fault: FaultKind) => reported.push(fault) };
  const record = new SendRecord();
  const qp = { owner: { faults }, serviceType: ServiceType.RC } as unknown as QueuePair;
  loadCommand(
    qp,
    record,
    { bytes, view, fault: FaultKind.NONE } as unknown as PhysicalCollectBuffer,
    keys as KeyLookup,
  );
  return { kind: record.kind, fault: record.fault, reported, sequence: record.sequence };
}

t.test('a request that changes a key is local where the front end performs it', async (t) => {
  const found = load(CHANGE_KEY, { perform: () => FaultKind.NONE });
  t.same(found, { kind: RequestKind.LOCAL, fault: FaultKind.NONE, reported: [], sequence: 3 });
});

t.test('elsewhere it is refused as any unknown opcode', async (t) => {
  const { COMMAND_OPCODE } = FaultKind;
  const refused = { kind: RequestKind.NONE, fault: COMMAND_OPCODE, reported: [COMMAND_OPCODE], sequence: 3 };
  for (const opcode of [CHANGE_KEY, 0x14, 0xff]) t.same(load(opcode, {}), refused, `opcode ${opcode}`);
});
