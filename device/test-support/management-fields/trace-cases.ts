// SPDX-License-Identifier: Apache-2.0
/**
 * Cases of the commands of selective traces of queue pairs. The traced QP has sent one command, so
 * that there is a command block to read.
 */
import { TRACE_BLOCK_SIZE } from '../../../protocol/layout/gen/trace-block.gen.ts';
import { ManagementOpcode, ManagementStatus, SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';
import { traceAttributes } from '../../../protocol/layout/management.ts';
import { tracePayload } from '../../hosts/in-process/driver/payloads.ts';
import { type CommandCase, each, ignored, queryOnly, type Request, refused, taken } from './command-case.ts';
import { type Fixture, NOWHERE } from './fixture.ts';
import { objectTrials } from './header-trials.ts';
import { objectCommand } from './memory-cases.ts';

const { BAD_ADDRESS, BAD_FIELD } = ManagementStatus;
const SNAP_LENGTH = 64;

function traceToModify(fixture: Fixture): Request {
  const objectNumber = createTraced(fixture);
  return {
    header: { objectNumber },
    payload: { enable: 1, blocksLog2: 2, snapLength: SNAP_LENGTH },
    headerTrials: objectTrials(objectNumber),
    payloadTrials: {
      enable: [taken('either')],
      stopOnError: [taken('either')],
      blocksLog2: [
        refused(BAD_FIELD, [17, 255], { limit: 16 }),
        ignored('of what ends a trace', { given: { enable: 0 } }),
      ],
      snapLength: [
        refused(BAD_FIELD, [65537, 0xffffffff], { limit: 65536 }),
        ignored('of what ends a trace', { given: { enable: 0 } }),
      ],
      ...queryOnly('stopped', 'head', 'tail', 'lost'),
      ...each(['position', 'bufferAddress', 'bufferLength', 'count'], ignored('only to read')),
    },
  };
}

/** The trace has a block of one datagram without payload. */
function traceToRead(fixture: Fixture): Request {
  const objectNumber = createTraced(fixture);
  return {
    header: { objectNumber },
    payload: { bufferAddress: fixture.memory, bufferLength: 4096 },
    headerTrials: objectTrials(objectNumber),
    payloadTrials: {
      position: [taken('behind the last block: none is read')],
      bufferAddress: [refused(BAD_ADDRESS, [fixture.memory + 4, NOWHERE, 2n ** 50n])],
      bufferLength: [refused(BAD_FIELD, [0, TRACE_BLOCK_SIZE - 1], { limit: TRACE_BLOCK_SIZE })],
      ...each(['enable', 'stopOnError', 'blocksLog2', 'snapLength'], ignored('only to modify')),
      ...each(['stopped', 'head', 'tail', 'lost', 'count'], ignored('only in the answer')),
    },
  };
}

/** A traced QP that has sent a command without a packet. */
function createTraced(fixture: Fixture): number {
  const qp = fixture.createQueuePair({});
  const { management } = fixture.driver;
  const payload = tracePayload({ enable: 1, blocksLog2: 4, snapLength: SNAP_LENGTH });
  management.perform({ opcode: ManagementOpcode.MODIFY_TRACE, objectNumber: qp.qpn, payload });
  qp.post({ header: { opcode: SendOpcode.NOP } });
  fixture.adapterFixture.settle();
  return fixture.watch(ManagementOpcode.QUERY_TRACE, qp.qpn);
}

export const traceCases: readonly CommandCase[] = [
  { opcode: ManagementOpcode.MODIFY_TRACE, table: traceAttributes, build: traceToModify },
  { opcode: ManagementOpcode.READ_TRACE, table: traceAttributes, build: traceToRead },
  objectCommand(ManagementOpcode.QUERY_TRACE, createTraced),
];
