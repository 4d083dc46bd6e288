// SPDX-License-Identifier: Apache-2.0
/**
 * An mthca device in process: started as the Linux driver starts it, commands by polling and by
 * event, ports, datagrams of management, reset.
 */
import t from 'tap';
import { PortCapability } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { PortState } from '../../../protocol/layout/gen/values.gen.ts';
import { HCR_OFFSET } from '../../../protocol/mthca/gen/constants.gen.ts';
import { PORT_CHANGE_CAPABILITY_MASK_OFFSET, PORT_CHANGE_SIZE } from '../../../protocol/mthca/gen/port-change.gen.ts';
import {
  CommandOpcode,
  CommandStatus,
  EventKind,
  FatalKind,
  PortEvent,
} from '../../../protocol/mthca/gen/values.gen.ts';
import { MthcaDriver, makeMthcaMachine } from '../../rig/mthca/driver/mthca-driver.ts';
import { portSetup } from '../../rig/mthca/driver/profile.ts';
import { Firmware } from '../shared/firmware.ts';

function datagram(managementClass: number, method: number, attribute: number, modifier = 0): Uint8Array {
  const mad = new Uint8Array(256);
  const view = new DataView(mad.buffer);
  mad.set([1, managementClass, 1, method]);
  view.setUint16(16, attribute);
  view.setUint32(20, modifier);
  return mad;
}

t.test('the device starts as the Linux driver starts it', (t) => {
  const driver = new MthcaDriver(makeMthcaMachine());
  driver.reset();
  t.equal(driver.command(CommandOpcode.ENABLE_LAM, { out: 0x100 }).status, CommandStatus.NO_ATTACHED_MEMORY);
  driver.start();
  t.equal(driver.limits.ports, 2);
  t.equal(2 ** driver.limits.logUarMib, 8, 'MiB of user access regions: the size of the BAR');
  t.equal(driver.device.hca.regions.table.count, 1, 'one region, of the event queue');
  t.end();
});

t.test('QUERY_FW and QUERY_ADAPTER tell what drivers look for', (t) => {
  for (const [portCount, version] of [
    [1, [1, 2, 0]],
    [2, [5, 3, 0]],
  ] as const) {
    const driver = new MthcaDriver(makeMthcaMachine({ portCount }));
    const { output } = driver.expect(CommandOpcode.QUERY_FW, { out: 0x100 });
    t.same([output.getUint16(2), output.getUint16(6), output.getUint16(4)], version, 'subminor stands before minor');
    driver.startFirmware();
    const board = driver.expect(CommandOpcode.QUERY_ADAPTER, { out: 0x100 }).output;
    const words = [0xf0, 0xf4, 0xf8].map((at) => board.getUint32(at, true));
    const text = words.flatMap((word) => [word >>> 24, (word >>> 16) & 255, (word >>> 8) & 255, word & 255]);
    t.equal(String.fromCharCode(...text.filter((byte) => byte !== 0)), 'VUHCA-MTHCA');
  }
  t.end();
});

t.test('a command completes by an event and an interrupt', (t) => {
  const driver = new MthcaDriver(makeMthcaMachine());
  const queue = driver.start();
  const host = driver.machine.hostAt(0);
  driver.expect(CommandOpcode.NOP, { byEvent: true, modifier: 0x1f });
  t.equal(host.raised[1], 1);
  const [event] = queue.take();
  t.equal(event.getUint8(1), EventKind.COMMAND);
  t.equal(event.getUint16(6), 0x1234, 'the token');
  t.equal(event.getUint8(15), CommandStatus.OK);
  driver.expect(CommandOpcode.NOP, { byEvent: true });
  t.equal(host.raised[1], 1, 'the queue was not armed again');
  queue.arm();
  driver.machine.runUntilIdle();
  t.equal(host.raised[1], 2, 'arming with an entry that was not taken interrupts at once');
  queue.take();
  queue.arm();
  driver.machine.runUntilIdle();
  t.equal(host.raised[1], 2, 'arming an empty queue does not');
  driver.command(CommandOpcode.INIT_IB, { modifier: 3, byEvent: true });
  t.equal(queue.take()[0].getUint8(15), CommandStatus.BAD_INDEX, 'the event has the status');
  t.end();
});

t.test('events go around the ring, and a full queue fails without a store', (t) => {
  const driver = new MthcaDriver(makeMthcaMachine());
  const queue = driver.start();
  for (let round = 0; round < 3 * queue.entries; round++) {
    driver.expect(CommandOpcode.NOP, { byEvent: true });
    t.equal(queue.take().length, 1);
  }
  for (let entry = 0; entry < queue.entries; entry++) driver.expect(CommandOpcode.NOP, { byEvent: true });
  const before = driver.bytes(queue.address, 32 * queue.entries).slice();
  driver.expect(CommandOpcode.NOP, { byEvent: true });
  t.same(driver.bytes(queue.address, 32 * queue.entries), before);
  t.equal(driver.device.hca.events.lost, 1);
  const { output } = driver.expect(CommandOpcode.HW2SW_EQ, { modifier: queue.number, out: 0x40 });
  t.equal(output.getUint8(0) >>> 4, 9, 'the context says overflow');
  t.end();
});

t.test('ports come up when both ends are enabled, with an event', (t) => {
  const driver = new MthcaDriver(makeMthcaMachine());
  const queue = driver.start();
  const states = () => driver.device.ports.map(({ state }) => state);
  t.same(states(), [PortState.DOWN, PortState.DOWN]);
  driver.expect(CommandOpcode.INIT_IB, { modifier: 1, input: portSetup() });
  t.same(states(), [PortState.DOWN, PortState.DOWN]);
  driver.expect(CommandOpcode.INIT_IB, { modifier: 2, input: portSetup() });
  t.same(states(), [PortState.ACTIVE, PortState.ACTIVE]);
  const up = queue.take();
  t.same(
    up.map((event) => [event.getUint8(1), event.getUint8(3)]),
    [
      [EventKind.PORT_CHANGE, PortEvent.ACTIVE],
      [EventKind.PORT_CHANGE, PortEvent.ACTIVE],
    ],
  );
  t.same(up.map((event) => event.getUint32(12) >>> 28).sort(), [1, 2]);
  driver.expect(CommandOpcode.CLOSE_IB, { modifier: 1 });
  t.same(states(), [PortState.DOWN, PortState.DOWN]);
  t.same(
    queue.take().map((event) => [event.getUint8(3), event.getUint32(12) >>> 28]),
    [[PortEvent.DOWN, 2]],
    'the other end of the link has lost it; the port that software has closed is no news',
  );
  driver.expect(CommandOpcode.INIT_IB, { modifier: 1, input: portSetup() });
  t.equal(queue.take().length, 2, 'both are ACTIVE again');
  t.end();
});

t.test('MAD_IFC hands datagrams to the agents', (t) => {
  const driver = new MthcaDriver(makeMthcaMachine());
  driver.start();
  const ask = (mad: Uint8Array, modifier = 1, opcodeModifier = 3) =>
    driver.command(CommandOpcode.MAD_IFC, { input: mad, modifier, opcodeModifier, out: 0x100 });
  const node = ask(datagram(1, 1, 0x11));
  t.equal(node.status, CommandStatus.OK);
  t.equal(node.output.getUint8(3), 0x81, 'GetResp');
  t.equal(node.output.getUint8(64 + 3), 2, 'NodeInfo has two ports');
  t.equal(node.output.getUint8(64 + 36), 1, 'the port that answers');
  const port = ask(datagram(0x81, 1, 0x15, 2), 2);
  t.equal(port.output.getUint16(64 + 16), 2, 'PortInfo has the LID of port 2');
  t.equal(port.output.getUint8(64 + 41) & 15, 4, 'and an MTU of 2048');
  t.equal(ask(datagram(1, 1, 0x11), 3).status, CommandStatus.BAD_INDEX);
  t.equal(ask(datagram(1, 1, 0x11), 1, 8).status, CommandStatus.BAD_OP);
  t.equal(ask(datagram(0x30, 1, 1)).status, CommandStatus.BAD_PACKET, 'no agent has the class');
  t.end();
});

t.test('MAD_IFC without the M_Key, and with the word of the driver', (t) => {
  const driver = new MthcaDriver(makeMthcaMachine());
  driver.start();
  const { subnet } = driver.device.ports[0];
  subnet.mKey[7] = 5;
  subnet.mKeyProtect = 2;
  const ask = (opcodeModifier: number) =>
    driver.command(CommandOpcode.MAD_IFC, { input: datagram(1, 1, 0x15, 1), modifier: 1, opcodeModifier, out: 0x100 });
  t.equal(ask(0).status, CommandStatus.BAD_PACKET);
  const vouched = ask(1);
  t.equal(vouched.status, CommandStatus.OK);
  t.equal(vouched.output.getUint32(28), 0, 'the response has the key of the request');
  t.end();
});

t.test('a reset by register returns to power-on and silences the device', (t) => {
  const driver = new MthcaDriver(makeMthcaMachine());
  driver.start();
  driver.expect(CommandOpcode.INIT_IB, { modifier: 1, input: portSetup() });
  driver.expect(CommandOpcode.INIT_IB, { modifier: 2, input: portSetup() });
  driver.reset();
  driver.machine.hostAt(0).quietBecause = 'the device was reset';
  driver.machine.runUntilIdle();
  t.equal(driver.readRegister(HCR_OFFSET + 0x18), 0);
  t.equal(driver.command(CommandOpcode.QUERY_DEV_LIM).status, CommandStatus.BAD_SYS_STATE);
  driver.machine.hostAt(0).quietBecause = '';
  const queue = driver.start();
  driver.expect(CommandOpcode.NOP, { byEvent: true });
  t.equal(queue.take().length, 1, 'and it starts again');
  t.end();
});

t.test('the driver stops the device in the order of its removal, and starts it again', (t) => {
  const driver = new MthcaDriver(makeMthcaMachine());
  for (let round = 0; round < 2; round++) {
    const queue = driver.start();
    driver.expect(CommandOpcode.MAP_EQ, { input: 2 ** EventKind.COMMAND, modifier: 0x8000_0000 + queue.number });
    driver.expect(CommandOpcode.HW2SW_EQ, { modifier: queue.number, out: 0x40 });
    driver.expect(CommandOpcode.CLOSE_HCA);
    driver.expect(CommandOpcode.UNMAP_ICM, { input: 0, modifier: 64 });
    t.equal(driver.device.hca.icm.mappedPages, 0);
    driver.expect(CommandOpcode.UNMAP_ICM_AUX);
    driver.expect(CommandOpcode.UNMAP_FA);
  }
  t.end();
});

t.test('a page of context memory that is mapped again has the new guest page', (t) => {
  const driver = new MthcaDriver(makeMthcaMachine());
  driver.start();
  const { icm } = driver.device.hca;
  const pages = icm.mappedPages;
  const was = icm.resolve(0x1000);
  const next = icm.resolve(0x2000);
  driver.expect(CommandOpcode.MAP_ICM, driver.mapContextMemory(0x1000, 1));
  t.not(icm.resolve(0x1000), was);
  t.equal(icm.resolve(0x2000), next, 'its neighbour stays');
  t.equal(icm.mappedPages, pages, 'and no page more is mapped');
  t.end();
});

t.test('a fatal error shows in the error buffer until a reset', (t) => {
  const driver = new MthcaDriver(makeMthcaMachine());
  const queue = driver.start();
  t.equal(driver.readRegister(0x84000), 0);
  driver.device.hca.fail(FatalKind.PARITY, Firmware.REFUSES);
  t.equal(driver.readRegister(0x84000) >>> 24, FatalKind.PARITY);
  t.equal(driver.command(CommandOpcode.NOP).status, CommandStatus.INTERNAL_ERROR);
  queue.take();
  driver.command(CommandOpcode.NOP, { byEvent: true });
  t.equal(queue.take()[0]?.getUint8(15), CommandStatus.INTERNAL_ERROR, 'events tell so, too');
  driver.reset();
  t.equal(driver.readRegister(0x84000), 0);
  driver.start();
  t.end();
});

t.test('a change of what a port offers is told to subnet managers', (t) => {
  const driver = new MthcaDriver(makeMthcaMachine());
  driver.start();
  const told = t.capture(driver.device.mads.traps, 'raiseLocalChange');
  const { subnet } = driver.device.ports[1];
  const change = (capabilityMask: number): void => {
    const input = new Uint8Array(PORT_CHANGE_SIZE);
    new DataView(input.buffer).setUint32(PORT_CHANGE_CAPABILITY_MASK_OFFSET, capabilityMask);
    driver.expect(CommandOpcode.SET_IB, { modifier: 2, input });
  };
  const mask = subnet.capabilityMask;
  change(mask);
  t.same(told(), [], 'nothing has changed');
  change(mask ^ PortCapability.DEVICE_MANAGEMENT);
  t.equal(subnet.capabilityMask, mask ^ PortCapability.DEVICE_MANAGEMENT);
  t.match(told(), [{ args: [2] }]);
  t.end();
});
