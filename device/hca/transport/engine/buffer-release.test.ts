// SPDX-License-Identifier: Apache-2.0
/**
 * When the PCB of a command is free again (US 9,069,485 par. 82-83; docs/DOCUMENTS.md decision 28):
 * behind its completion, and on a reliable connection behind its last packet.
 */
import t from 'tap';
import { CSR } from '../../../../protocol/layout/gen/registers.gen.ts';
import { ServiceType } from '../../../../protocol/layout/gen/values.gen.ts';
import type { DriverQueuePair } from '../../../rig/driver/queue-pair.ts';
import type { SendRequest } from '../../../rig/driver/send-request.ts';
import { AdapterFixture } from '../../../rig/fixtures/adapter-fixture.ts';

const PIPELINE_NS = 1000;
const INLINE = { inline: Uint8Array.of(1) };

t.test('the PCB of a command is free behind its completion; on a connection, behind its last packet', async (t) => {
  const fixture = new AdapterFixture({ adapter: { laneCount: 1, pipelineNs: PIPELINE_NS } });
  const { machine } = fixture;
  const post = (qp: DriverQueuePair, request: SendRequest) => {
    for (let count = 0; count < 3; count++) qp.post(request);
    fixture.settle();
  };
  const pass = () => {
    machine.clock.advance(PIPELINE_NS);
    fixture.settle();
  };
  const { sender, to } = fixture.createPair();
  const completions = ({ parts }: DriverQueuePair) => parts.sendCq.drain().length;
  // To no QP: nothing has to arrive.
  post(sender, to({ ...INLINE, remoteQpn: 0xabcde }));
  t.same([completions(sender), fixture.read(CSR.PCB_IN_USE)], [0, 3]);
  pass();
  t.same([completions(sender), fixture.read(CSR.PCB_IN_USE)], [3, 0]);
  // Nobody answers: the completion list has the messages (docs/DOCUMENTS.md decision 28).
  const connected = fixture.createQueuePair({ creation: { serviceType: ServiceType.RC }, state: 'reset' });
  connected.connect({ reliable: true, port: 1, dlid: 0x99, remoteQpn: 5, timeout: 14, retryCount: 1 });
  post(connected, INLINE);
  t.same([completions(connected), fixture.read(CSR.PCB_IN_USE)], [0, 3], 'in the pipeline');
  pass();
  t.same([completions(connected), fixture.read(CSR.PCB_IN_USE)], [0, 0]);
  t.same(
    [fixture.read(CSR.EXECUTION_CREDITS_USED), fixture.read(CSR.COMPLETION_CREDITS_USED)],
    [0, 3],
    'completion credits until the answer',
  );
});
