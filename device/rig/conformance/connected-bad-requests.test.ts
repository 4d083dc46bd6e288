// SPDX-License-Identifier: Apache-2.0
/**
 * Requests of connected QPs with a field out of range end with a status and a cause, and send
 * nothing (IBTA 10.7.3.1, 11.4.1.1, 11.6.2).
 */
import t from 'tap';
import { SEND_COMMAND_TARGET_OFFSET } from '../../../protocol/layout/gen/send-command.gen.ts';
import {
  AccessFlag,
  CompletionStatus,
  FaultKind,
  QpState,
  SendOpcode,
  ServiceType,
} from '../../../protocol/layout/gen/values.gen.ts';
import { CHANGE_KEY } from '../../hca/function/request-opcodes.ts';
import type { SendRequest } from '../driver/send-request.ts';
import { ledger } from '../fixtures/ledger.ts';
import { PacketPeer } from '../fixtures/packet-peer.ts';

const { LOCAL_LENGTH_ERROR, LOCAL_PROTECTION_ERROR, LOCAL_QP_OPERATION_ERROR, FLUSHED } = CompletionStatus;
const { SEND, RDMA_WRITE, RDMA_READ, FETCH_ADD, COMPARE_SWAP } = SendOpcode;
const remote = { address: 0x1000, rkey: 7 };
const atomic = { swapOrAdd: 1n };

type Request = (peer: PacketPeer) => SendRequest;
/** Name, request, and the status and cause of its failure. */
type Row = readonly [name: string, request: Request, status: number, cause: FaultKind];

const sge = ({ fixture }: PacketPeer, lengthBytes: number) => fixture.sge(fixture.createBuffer(lengthBytes));
const send =
  (more: (peer: PacketPeer) => SendRequest): Request =>
  (peer) => ({ sges: [sge(peer, 8)], ...more(peer) });

const malformed: Row[] = [
  ['an unknown opcode', () => ({ header: { opcode: 0x77 } }), LOCAL_QP_OPERATION_ERROR, FaultKind.COMMAND_OPCODE],
  ['opcode 255', () => ({ header: { opcode: 255 } }), LOCAL_QP_OPERATION_ERROR, FaultKind.COMMAND_OPCODE],
  [
    'an opcode of personalities',
    () => ({ header: { opcode: CHANGE_KEY } }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.COMMAND_OPCODE,
  ],
  ['17 SGEs', send(() => ({ header: { sgeCount: 17 } })), LOCAL_QP_OPERATION_ERROR, FaultKind.COMMAND_SGE],
  ['31 SGEs', send(() => ({ header: { sgeCount: 31 } })), LOCAL_QP_OPERATION_ERROR, FaultKind.COMMAND_SGE],
  [
    'more SGEs than fit its length',
    (peer) => ({ sges: [sge(peer, 8), sge(peer, 8)], header: { sgeCount: 3, messageLength: 16 } }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.COMMAND_SGE,
  ],
  [
    'SGEs shorter than the message',
    send(() => ({ header: { messageLength: 9 } })),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.COMMAND_SGE,
  ],
  [
    'SGEs longer than the message',
    send(() => ({ header: { messageLength: 7 } })),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.COMMAND_SGE,
  ],
  ['a length without SGEs', () => ({ header: { messageLength: 1 } }), LOCAL_QP_OPERATION_ERROR, FaultKind.COMMAND_SGE],
  [
    'inline payload and an SGE',
    () => ({ inline: new Uint8Array(8), header: { sgeCount: 1 } }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.COMMAND_SGE,
  ],
  [
    'inline payload longer than the command',
    () => ({ inline: new Uint8Array(8), header: { messageLength: 9 } }),
    LOCAL_LENGTH_ERROR,
    FaultKind.COMMAND_LENGTH,
  ],
  [
    'inline payload of more than 256 bytes',
    () => ({ inline: new Uint8Array(256), header: { messageLength: 257 } }),
    LOCAL_LENGTH_ERROR,
    FaultKind.COMMAND_LENGTH,
  ],
  [
    '2^31 + 1 bytes',
    send(() => ({ header: { messageLength: 0x8000_0001 } })),
    LOCAL_LENGTH_ERROR,
    FaultKind.COMMAND_LENGTH,
  ],
  [
    '2^32 - 1 bytes',
    send(() => ({ header: { messageLength: 0xffff_ffff } })),
    LOCAL_LENGTH_ERROR,
    FaultKind.COMMAND_LENGTH,
  ],
];

const badMemory: Row[] = [
  [
    'an unknown L_Key',
    (peer) => ({ sges: [{ ...sge(peer, 8), lkey: 0xffffff00 }] }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_INVALID,
  ],
  [
    'a wrong key byte',
    (peer) => ({ sges: [{ ...sge(peer, 8), lkey: (peer.region.lkey ^ 1) >>> 0 }] }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_INVALID,
  ],
  [
    'an L_Key of another PD',
    (peer) => {
      const { driver } = peer.fixture;
      return { sges: [{ ...sge(peer, 8), lkey: driver.createDmaRegion(driver.createProtectionDomain()).lkey }] };
    },
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_PD,
  ],
  [
    'a byte before the region',
    (peer) => ({ sges: [{ ...sge(peer, 8), address: peer.fixture.access.memoryAddress - 1 }] }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_BOUNDS,
  ],
  [
    'a byte beyond the region',
    (peer) => {
      const { memoryAddress, memoryBytes } = peer.fixture.access;
      return { sges: [{ ...sge(peer, 8), address: memoryAddress + memoryBytes - 7 }] };
    },
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_BOUNDS,
  ],
  [
    'an address beyond 2^53',
    (peer) => ({ sges: [{ ...sge(peer, 8), address: 2 ** 63 }] }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_BOUNDS,
  ],
  [
    'a bad last one of 16 SGEs',
    (peer) => ({ sges: [...Array(15).fill(sge(peer, 1)), { address: 0, length: 1, lkey: 0 }] }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_INVALID,
  ],
  [
    'an R_Key of a window as L_Key',
    (peer) => ({ sges: [{ ...sge(peer, 8), lkey: peer.fixture.driver.createMemoryWindow(peer.fixture.pd, 1).rkey }] }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_INVALID,
  ],
  [
    'memory that is not mapped',
    ({ fixture }) => {
      const startAddress = 0x10;
      const { lkey } = fixture.driver.createMemoryRegion({ pd: fixture.pd, access: 1, startAddress, length: 64 });
      return { sges: [{ address: startAddress, length: 8, lkey }] };
    },
    LOCAL_PROTECTION_ERROR,
    FaultKind.DMA_READ,
  ],
];

/** READs and atomics: reliable QPs only. */
const badFetches: Row[] = [
  [
    'a READ with inline payload',
    () => ({ opcode: RDMA_READ, remote, inline: new Uint8Array(8) }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.COMMAND_SGE,
  ],
  [
    'a READ into memory without local write',
    (peer) => ({ opcode: RDMA_READ, remote, sges: [{ ...sge(peer, 8), lkey: readOnly(peer) }] }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_ACCESS,
  ],
  [
    'an atomic into memory without local write',
    (peer) => ({ opcode: FETCH_ADD, remote, atomic, sges: [{ ...sge(peer, 8), lkey: readOnly(peer) }] }),
    LOCAL_PROTECTION_ERROR,
    FaultKind.KEY_ACCESS,
  ],
  [
    'an atomic of 7 bytes',
    (peer) => ({ opcode: FETCH_ADD, remote, atomic, sges: [sge(peer, 7)] }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.COMMAND_SGE,
  ],
  [
    'an atomic of 16 bytes',
    (peer) => ({ opcode: COMPARE_SWAP, remote, atomic, sges: [sge(peer, 16)] }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.COMMAND_SGE,
  ],
  [
    'an atomic without SGE',
    () => ({ opcode: FETCH_ADD, remote, atomic }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.COMMAND_SGE,
  ],
  [
    'an atomic with two SGEs',
    (peer) => ({ opcode: FETCH_ADD, remote, atomic, sges: [sge(peer, 8)], header: { sgeCount: 2 } }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.COMMAND_SGE,
  ],
  [
    'an atomic without operands',
    (peer) => ({ opcode: FETCH_ADD, remote, sges: [sge(peer, 8)] }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.COMMAND_SGE,
  ],
  [
    'an atomic with inline payload',
    () => ({ opcode: FETCH_ADD, remote, inline: new Uint8Array(16), header: { messageLength: 8 } }),
    LOCAL_QP_OPERATION_ERROR,
    FaultKind.COMMAND_SGE,
  ],
];

function readOnly({ fixture }: PacketPeer): number {
  return fixture.driver.createDmaRegion(fixture.pd, AccessFlag.REMOTE_READ).lkey;
}

function check(serviceType: ServiceType, service: string, [name, request, status, cause]: Row): void {
  t.test(`${service}: ${name}`, async (t) => {
    ledger(t, '11.6.2', `A ${service} request with ${name} ends with its status, and nothing is sent`);
    for (const opcode of [undefined, RDMA_WRITE]) {
      const peer = new PacketPeer({ serviceType });
      const wrong = request(peer);
      // Each SEND is also tried as a WRITE.
      const isPlain = wrong.opcode === undefined && wrong.header?.opcode === undefined;
      peer.qp.post({ ...wrong, ...(opcode !== undefined && isPlain ? { opcode, remote } : {}), signaled: false });
      peer.qp.post({ inline: Uint8Array.of(1), signaled: false });
      t.same(peer.take(), []);
      const done = peer.qp.parts.sendCq.drain().map((entry) => [entry.status, entry.vendorError, entry.queueSequence]);
      t.same(done, [[status, cause, 0], [FLUSHED, FaultKind.NONE, 1]]); // biome-ignore format: a table
      t.equal(peer.fixture.faults(cause), 1, 'counted once');
      t.equal(peer.qp.query().state, serviceType === ServiceType.RC ? QpState.ERR : QpState.SQE);
      t.same(peer.events(), [], 'the completion says it');
      peer.fixture.finish();
    }
  });
}

for (const row of [...malformed, ...badMemory, ...badFetches]) check(ServiceType.RC, 'RC', row);
for (const row of [...malformed, ...badMemory]) check(ServiceType.UC, 'UC', row);

t.test('unused fields of a request are not checked', async (t) => {
  ledger(t, '10.2.6', 'The L_Key and address of an SGE of zero bytes are not checked');
  const peer = new PacketPeer();
  peer.qp.post({
    sges: [{ address: 2 ** 60, length: 0, lkey: 0x1234 }, sge(peer, 8), { address: 1, length: 0, lkey: 5 }],
  });
  t.equal(peer.takeOne().payload.length, 8);
  peer.qp.post({
    opcode: SEND,
    inline: Uint8Array.of(1),
    alter: (view) => view.setBigUint64(SEND_COMMAND_TARGET_OFFSET, 0xffff_ffff_ffff_ffffn),
  });
  t.same([...peer.takeOne().payload], [1]);
});
