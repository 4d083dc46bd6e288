// SPDX-License-Identifier: Apache-2.0
/**
 * Datagrams posted while a port is not active: they vanish, and the sender goes on (IBTA 7.2.7). A
 * management agent or a network interface keeps its queue pair over a change of the port.
 */
import t from 'tap';
import { CompletionStatus, PortState, QpState } from '../../../protocol/layout/gen/values.gen.ts';
import { AdapterFixture } from '../fixtures/adapter-fixture.ts';
import { ledger } from '../fixtures/ledger.ts';

const GRH = 40;

for (const [name, state] of [
  ['DOWN', PortState.DOWN],
  ['INITIALIZE', PortState.INITIALIZE],
] as const)
  t.test(`hazard 47: datagrams vanish while the port is in ${name}`, async (t) => {
    ledger(t, '7.2.7', `A datagram posted while the port is in ${name} is dropped and completes without an error`);
    const fixture = new AdapterFixture();
    const { sender, receiver, to } = fixture.createPair();
    const port = fixture.machine.device.ports[0];
    const payload = fixture.createBuffer(fixture.random.bytes(2048));
    const before = port.transmitDiscards;
    port.setState(state);
    for (const request of [to({ inline: new Uint8Array(8) }), to({ sges: [fixture.sge(payload)] })]) {
      sender.post(request);
      t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
    }
    t.equal(sender.query().state, QpState.RTS);
    t.equal(port.transmitDiscards, before + 2, 'the port counts them');
    t.notOk(receiver.parts.receiveCq.ready);
    port.setState(PortState.ACTIVE);
    fixture.postReceive(receiver, GRH + 2048);
    sender.post(to({ sges: [fixture.sge(payload)] }));
    t.equal(sender.parts.sendCq.take().status, CompletionStatus.SUCCESS);
    t.equal(receiver.parts.receiveCq.take().byteLength, GRH + 2048, 'the next one arrives');
  });
