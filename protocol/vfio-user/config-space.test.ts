// SPDX-License-Identifier: Apache-2.0
/** Configuration space: by itself, and as a client reads and writes it over the socket. */
import t from 'tap';
import {
  advancedErrorReporting,
  deviceSerialNumber,
  extendedVendorSpecific,
  msix,
  pciExpress,
  powerManagement,
  vendorSpecific,
} from './capabilities.ts';
import { CONFIG_REGION } from './client/client.ts';
import { ConfigSpace } from './config-space.ts';
import { DeviceProgram, readCounter } from './test-support/device-program.ts';
import { PROBE } from './test-support/probe-layout.ts';

const IDS = { vendor: 0x1234, device: 0x5678, subsystemVendor: 0x9abc, subsystem: 0xdef0, classCode: 0x020700 };
const COMMAND = 4;
const POWER_CONTROL_OFFSET = 4;

function bytes(...values: number[]): Uint8Array {
  return Uint8Array.from(values);
}

t.test('header and capability lists', async (t) => {
  const config = new ConfigSpace({ ...IDS, revision: 3 });
  t.equal(config.get32(0), 0x56781234);
  t.equal(config.get32(8), 0x02070003);
  t.equal(config.get16(6) & 0x10, 0, 'no capability list yet');
  const offsets = [powerManagement(), pciExpress({ functionLevelReset: true }), vendorSpecific(bytes(1, 2, 3))].map(
    (capability) => config.add(capability),
  );
  t.same(offsets, [0x40, 0x48, 0x84]);
  t.equal(config.get16(6) & 0x10, 0x10);
  t.same([config.get8(0x34), config.get8(0x41), config.get8(0x49), config.get8(0x85)], [0x40, 0x48, 0x84, 0]);
  const extended = [advancedErrorReporting(), deviceSerialNumber(1, 2), extendedVendorSpecific(1, 1, bytes(9))];
  t.same(
    extended.map((capability) => config.add(capability)),
    [0x100, 0x12c, 0x138],
  );
  t.equal(config.get32(0x100), (0x12c << 20) | (2 << 16) | 1);
  t.equal(config.get32(0x12c), (0x138 << 20) | (1 << 16) | 3);
  t.throws(() => config.add(vendorSpecific(new Uint8Array(200))), /no config space is left/);
  t.throws(() => msix({ vectors: 0, tableBar: 0, tableOffset: 0, pbaBar: 0, pbaOffset: 0 }), RangeError);
});

t.test('BARs respond to sizing as in hardware', async (t) => {
  const config = new ConfigSpace(IDS);
  config.defineBar(0, 65536, { wide: true, prefetchable: false });
  config.defineBar(2, 2 ** 27, { wide: true, prefetchable: true });
  config.defineBar(4, 4096, { wide: false, prefetchable: false });
  for (let at = 0x10; at < 0x28; at += 4) config.write(at, bytes(0xff, 0xff, 0xff, 0xff), 4);
  const values = [0x10, 0x14, 0x18, 0x1c, 0x20, 0x24].map((at) => config.get32(at));
  t.same(values, [0xffff0004, 0xffffffff, 0xf800000c, 0xffffffff, 0xfffff000, 0]);
  const large = new ConfigSpace(IDS);
  large.defineBar(0, 2 ** 34, { wide: true, prefetchable: true });
  for (const at of [0x10, 0x14]) large.write(at, bytes(0xff, 0xff, 0xff, 0xff), 4);
  t.same([large.get32(0x10), large.get32(0x14)], [0x0000000c, 0xfffffffc]);
});

t.test('only writable bits change; writing 1 clears status bits', async (t) => {
  const config = new ConfigSpace(IDS);
  const express = config.add(pciExpress({ functionLevelReset: false }));
  const seen: string[] = [];
  config.observer = { busMaster: (on) => seen.push(`master ${on}`), functionLevelReset: () => seen.push('flr') };
  config.write(0, new Uint8Array(256).fill(0xff), 256);
  t.equal(config.get32(0), 0x56781234);
  t.equal(config.get16(COMMAND), 0x0546);
  t.same(seen, ['master true'], 'no reset without the capability');
  config.write(COMMAND, bytes(0xff, 0xff, 0xff, 0xff), 4);
  config.write(COMMAND, bytes(0), 1);
  t.equal(config.get16(COMMAND), 0x0500);
  t.same(seen, ['master true', 'master false']);
  config.define16(express + 0x0a, 0x000f, 0, 0x000f);
  config.write(express + 0x0a, bytes(0x05, 0), 2);
  t.equal(config.get16(express + 0x0a), 0x000a);
  config.reset();
  t.equal(config.get16(COMMAND), 0);
});

t.test('power states', async (t) => {
  for (const softReset of [false, true]) {
    const config = new ConfigSpace(IDS);
    const control = config.add(powerManagement({ softReset })) + POWER_CONTROL_OFFSET;
    config.add(pciExpress({ functionLevelReset: true }));
    const seen: string[] = [];
    config.observer = {
      power: (inD0) => seen.push(inD0 ? 'D0' : 'D3hot'),
      busMaster: (on) => seen.push(`master ${on}`),
      functionLevelReset: () => {
        seen.push('reset');
        config.reset();
      },
    };
    config.write(COMMAND, bytes(0x06), 1);
    for (const lacking of [1, 2]) config.write(control, bytes(lacking, 0), 2);
    t.same(seen.splice(0), ['master true'], 'D1 and D2 are dropped');
    t.ok(config.inD0);

    config.write(control, bytes(3), 1);
    t.same(seen.splice(0), ['D3hot', 'master false']);
    t.same([config.inD0, config.busMasterEnabled, config.get8(COMMAND)], [false, false, 0x06], 'the bit stays set');
    for (const value of [1, 2, 3]) config.write(control - POWER_CONTROL_OFFSET, bytes(0, 0, 0, 0, value, 0, 0, 0), 8);
    config.write(COMMAND, bytes(0), 1);
    config.write(COMMAND, bytes(0x06), 1);
    t.same([seen.splice(0), config.inD0], [[], false], 'it stays in D3hot, and sends nothing');

    config.write(control, bytes(0), 1);
    t.same(seen.splice(0), softReset ? ['reset', 'D0'] : ['D0', 'master true'], `soft reset: ${softReset}`);
    t.same([config.inD0, config.get8(COMMAND)], [true, softReset ? 0 : 0x06]);
    config.write(control, bytes(0), 1);
    t.same(seen, [], 'D0 to D0 is no wake-up');

    config.write(control, bytes(3), 1);
    config.reset();
    t.same([config.inD0, config.get8(control) & 3], [true, 0], 'a reset ends in D0');
    t.ok(seen.includes('D0'));
  }
});

t.test('over the socket', async (t) => {
  await using device = await DeviceProgram.start();
  const client = device.connect();
  t.teardown(() => client.close());
  const all = client.readRegion(CONFIG_REGION, 0, 4096);
  t.equal(all.length, 4096, 'QEMU reads it in one message');
  t.equal(Buffer.from(all).readUInt32LE(0), 0xcafe1bad);
  t.equal(Buffer.from(all).readUInt32LE(0x2c), 0xcaff1bae);
  t.same([all[0x10] & 0xf, all[0x18] & 0xf, all[0x20] & 0xf], [0x4, 0xc, 0xc], 'BAR types that QEMU reads');
  t.equal(all[0x3d], 0, 'no interrupt pin');

  for (const size of [1, 2, 3, 4, 8, 64, 4096]) {
    for (const offset of [0, 1, 0x28, 0x3f, 0x4a, 0x50, 0x90, 0xff, 0xfff]) {
      if (offset + size > 4096) continue;
      client.writeRegion(CONFIG_REGION, offset, new Uint8Array(size));
    }
  }
  t.equal(client.read16(CONFIG_REGION, 0), 0x1bad, 'writes of any size at any offset are answered and harmless');

  client.write16(CONFIG_REGION, COMMAND, 0x0006);
  client.write16(CONFIG_REGION, COMMAND, 0x0006);
  t.equal(readCounter(client, 'busMasterOn'), 1, 'only changes are reported');
  const msixAt = client.findCapability(0x11);
  client.write16(CONFIG_REGION, msixAt + 2, 0x8000);
  t.equal(readCounter(client, 'msixOn'), 1);
  t.equal(client.read16(CONFIG_REGION, msixAt + 2), 0x800f);

  const power = client.findCapability(0x01) + POWER_CONTROL_OFFSET;
  client.write32(0, PROBE.ram, 0x1234);
  client.write16(CONFIG_REGION, power, 3);
  t.equal(readCounter(client, 'busMasterOff'), 0xffffffff, 'D3hot: BARs answer with ones');
  client.write32(0, PROBE.ram, 0x5678);
  client.write16(CONFIG_REGION, power, 0);
  t.equal(client.read32(0, PROBE.ram), 0x1234, 'D0: the state is kept, stores meanwhile were dropped');
  t.same([readCounter(client, 'busMasterOff'), readCounter(client, 'busMasterOn')], [1, 2]);
  client.write16(CONFIG_REGION, power, 3);
  client.resetFunction();
  t.equal(client.read16(CONFIG_REGION, COMMAND), 0);
  t.equal(client.read16(CONFIG_REGION, msixAt + 2), 0x000f);
  t.same(
    ['function-level', 'busMasterOff', 'msixOff', 'exceptions'].map((name) => readCounter(client, name as 'device')),
    [1, 2, 1, 0],
  );
});
