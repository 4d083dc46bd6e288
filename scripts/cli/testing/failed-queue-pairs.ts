// SPDX-License-Identifier: Apache-2.0
/** Failed queue pairs, for tests of the screens that show the reason. */
import { listQueuePairs, type QueuePairReport } from '../../../device/process/reports/queue-pair-report.ts';
import { AdapterFixture } from '../../../device/rig/fixtures/adapter-fixture.ts';
import { connect } from '../../../device/rig/fixtures/connected-fixture.ts';
import { SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';

/**
 * A connection whose second WRITE named a wrong R_Key, one whose message finds no receive WQE, a
 * datagram QP in SQE, and one that software moved to ERR. Numbers are 2 to 7.
 */
export function makeHistory(): QueuePairReport[] {
  const fixture = new AdapterFixture({ seed: 1 });
  const { a, region } = connect(fixture, { sendPsn: 100, receivePsn: 500, pathMtu: 1 });
  const [from, to] = [fixture.createBuffer(600), fixture.createBuffer(600)];
  for (const rkey of [region.rkey, 0x1234500]) {
    a.post({ opcode: SendOpcode.RDMA_WRITE, sges: [fixture.sge(from)], remote: { address: to.address, rkey } });
    fixture.settle();
  }
  const { a: idle } = connect(fixture);
  idle.post({ inline: new Uint8Array(8) });
  fixture.settle();
  const { sender, receiver, to: datagram } = fixture.createPair();
  sender.post(datagram({ sges: [{ address: 0, length: 8, lkey: 0x7700 }] }));
  fixture.settle();
  receiver.toError();
  fixture.checkInvariants();
  const { queuePairs } = listQueuePairs(fixture.machine.device, 0);
  return [...queuePairs];
}
