// SPDX-License-Identifier: Apache-2.0
/**
 * Commands about virtual ports: they show the port as a subnet manager has left it, change what
 * stands for software and nothing else, and refuse every wrong field.
 */
import t from 'tap';
import { GID_SIZE } from '../../../../protocol/infiniband/addresses.ts';
import { PortCapability, PortPhysicalState } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { PortState } from '../../../../protocol/layout/gen/values.gen.ts';
import { decodeHcaVportContext, newHcaVportContext } from '../../../../protocol/mlx5/gen/hca-vport-context.gen.ts';
import { CommandOpcode, CommandStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { setGuid } from '../../../fabric/port/end-port.ts';
import { Random } from '../../../random.ts';
import { type Mlx5Command, Mlx5Driver } from '../../../rig/mlx5/driver/mlx5-driver.ts';
import { type FieldWalk, only, walkFields, walkLengths } from '../../../rig/mlx5/fields/field-walk.ts';
import { digestPorts } from '../../../rig/mlx5/fields/port-digest.ts';
import { PORT_GIDS } from '../hca/capabilities.ts';

const { OK, BAD_INDEX, BAD_OUTPUT_LENGTH, BAD_PARAMETER, BAD_SYSTEM_STATE } = CommandStatus;
const { QUERY_HCA_VPORT_CONTEXT, MODIFY_HCA_VPORT_CONTEXT, QUERY_HCA_VPORT_GID, QUERY_HCA_VPORT_PKEY } = CommandOpcode;
const BODY = 0x10;
const CONTEXT_BYTES = 0x210;
const WHOLE_TABLE = 0xffff;
const PKEY_ENTRIES = 128;
const SOFTWARE =
  PortCapability.IS_SM |
  PortCapability.COMMUNICATION |
  PortCapability.SNMP_TUNNELING |
  PortCapability.DEVICE_MANAGEMENT |
  PortCapability.VENDOR_CLASS;

function start(): Mlx5Driver {
  const driver = new Mlx5Driver();
  driver.start();
  return driver;
}

function query(driver: Mlx5Driver) {
  const output = driver.expect(QUERY_HCA_VPORT_CONTEXT, { outputBytes: CONTEXT_BYTES });
  const guidAt = (at: number): string => Buffer.from(output.buffer, BODY + at, 8).toString('hex');
  return {
    ...decodeHcaVportContext(output, BODY, newHcaVportContext()),
    guids: { system: guidAt(0x28), port: guidAt(0x30), node: guidAt(0x38) },
  };
}

/** A change of bits of CapabilityMask; the Linux driver asks for it without a selected field. */
function capabilities(mask: number, bits: number, fieldSelect = 0): Mlx5Command {
  return {
    inputBytes: CONTEXT_BYTES,
    fill: (view) => {
      view.setUint32(BODY, fieldSelect);
      view.setUint32(BODY + 0x40, mask);
      view.setUint32(BODY + 0x44, bits);
    },
  };
}

function indexed(index: number, outputBytes: number): Mlx5Command {
  return { outputBytes, fill: (view) => view.setUint16(0xe, index) };
}

t.test('the context is that of the port', async (t) => {
  const driver = start();
  const [port] = driver.device.ports;
  t.match(query(driver), {
    fieldSelect: 0,
    hasSmi: 1,
    hasRaw: 0,
    grhRequired: 0,
    portState: PortState.DOWN,
    vportState: PortState.DOWN,
    portPhysicalState: PortPhysicalState.POLLING,
    vportStatePolicy: 2,
    capMask1: port.subnet.capabilityMask,
    capMask1FieldSelect: SOFTWARE,
    capMask2FieldSelect: 0,
    lid: 1,
    guids: { system: '0056554843416000', port: '0056554843416001', node: '0056554843416000' },
  });
  port.selfActivating = false;
  port.setLinkUp(true);
  Object.assign(port, { lid: 0x1234, lmc: 3, smLid: 0x2345, badPkeys: 7, badQkeys: 70_000 });
  Object.assign(port.subnet, { masterSmSl: 5, subnetTimeout: 17, initTypeReply: 9 });
  t.match(query(driver), {
    portState: PortState.INITIALIZE,
    vportState: PortState.INITIALIZE,
    portPhysicalState: PortPhysicalState.LINK_UP,
    lid: 0x1234,
    lmc: 3,
    smLid: 0x2345,
    smSl: 5,
    subnetTimeout: 17,
    initTypeReply: 9,
    pkeyViolationCounter: 7,
    qkeyViolationCounter: 0xffff,
  });
});

t.test('GIDs, one and all', async (t) => {
  const driver = start();
  const [port] = driver.device.ports;
  setGuid(port, 5, Uint8Array.from([1, 2, 3, 4, 5, 6, 7, 8]), 0);
  const all = driver.expect(QUERY_HCA_VPORT_GID, indexed(WHOLE_TABLE, BODY + PORT_GIDS * GID_SIZE));
  t.equal(all.getUint16(0xc), PORT_GIDS);
  t.same(new Uint8Array(all.buffer, BODY), port.gids);
  for (const index of [0, 5, PORT_GIDS - 1]) {
    const one = driver.expect(QUERY_HCA_VPORT_GID, indexed(index, BODY + GID_SIZE));
    t.equal(one.getUint16(0xc), 1);
    t.same(new Uint8Array(one.buffer, BODY), port.gids.subarray(index * GID_SIZE, (index + 1) * GID_SIZE));
  }
  const short = BODY + PORT_GIDS * GID_SIZE - 1;
  t.equal(driver.command(QUERY_HCA_VPORT_GID, indexed(WHOLE_TABLE, short)).status, BAD_OUTPUT_LENGTH);
  t.equal(driver.command(QUERY_HCA_VPORT_GID, indexed(0, BODY + GID_SIZE - 1)).status, BAD_OUTPUT_LENGTH);
});

t.test('P_Keys, one and all', async (t) => {
  const driver = start();
  const [port] = driver.device.ports;
  port.pkeys[7] = 0x8001;
  const all = driver.expect(QUERY_HCA_VPORT_PKEY, indexed(WHOLE_TABLE, BODY + PKEY_ENTRIES * 4));
  t.same(
    Array.from({ length: PKEY_ENTRIES }, (_, entry) => all.getUint32(BODY + entry * 4)),
    [...port.pkeys],
  );
  for (const index of [0, 7, PKEY_ENTRIES - 1])
    t.equal(driver.expect(QUERY_HCA_VPORT_PKEY, indexed(index, BODY + 4)).getUint32(BODY), port.pkeys[index]);
  t.equal(driver.expect(QUERY_HCA_VPORT_PKEY, indexed(6, BODY + 8)).getUint32(BODY + 4), 0, 'one alone');
  const short = BODY + PKEY_ENTRIES * 4 - 1;
  t.equal(driver.command(QUERY_HCA_VPORT_PKEY, indexed(WHOLE_TABLE, short)).status, BAD_OUTPUT_LENGTH);
  t.equal(driver.command(QUERY_HCA_VPORT_PKEY, indexed(0, BODY + 3)).status, BAD_OUTPUT_LENGTH);
});

t.test('the tables are as long as the capabilities tell', async (t) => {
  const driver = start();
  const page = driver.expect(CommandOpcode.QUERY_HCA_CAP, { modifier: 1, outputBytes: 0x1010 });
  const [gids, pkeys] = [8 << page.getUint16(BODY + 0x2e), 128 << page.getUint16(BODY + 0x32)];
  t.equal(driver.command(QUERY_HCA_VPORT_GID, indexed(gids - 1, BODY + GID_SIZE)).status, OK);
  t.equal(driver.command(QUERY_HCA_VPORT_GID, indexed(gids, BODY + GID_SIZE)).status, BAD_INDEX);
  t.equal(driver.command(QUERY_HCA_VPORT_PKEY, indexed(pkeys - 1, BODY + 4)).status, OK);
  t.equal(driver.command(QUERY_HCA_VPORT_PKEY, indexed(pkeys, BODY + 4)).status, BAD_INDEX);
  t.same([page.getUint8(BODY + 0x37), page.getUint8(BODY + 0x46) & 3], [1, 3], 'one port, two counters');
});

for (let seed = 1; seed <= 4; seed++) {
  t.test(`bits that stand for software change, others stay, seed ${seed}`, async (t) => {
    const driver = start();
    const random = new Random(seed);
    const { subnet } = driver.device.ports[0];
    for (let round = 0; round < 20; round++) {
      const before = subnet.capabilityMask;
      const bits = (random.next() & SOFTWARE) >>> 0;
      const mask = random.next();
      driver.expect(MODIFY_HCA_VPORT_CONTEXT, capabilities(mask, bits, random.below(2) * 8));
      const expected = ((before & ~bits) | (mask & bits)) >>> 0;
      if (subnet.capabilityMask !== expected) t.fail(`seed ${seed}, round ${round}`);
      if (query(driver).capMask1 !== expected) t.fail(`seed ${seed}, round ${round}: query`);
    }
    t.pass();
  });
}

t.test('a change raises one trap, and software that goes takes its bits with it', async (t) => {
  const driver = start();
  const [port] = driver.device.ports;
  const { capabilityMask } = port.subnet;
  let changes = 0;
  port.onCapabilities = () => changes++;
  for (const _ of [1, 2]) driver.expect(MODIFY_HCA_VPORT_CONTEXT, capabilities(SOFTWARE, SOFTWARE));
  t.same([changes, port.subnet.capabilityMask], [1, (capabilityMask | SOFTWARE) >>> 0]);
  driver.expect(CommandOpcode.TEARDOWN_HCA);
  t.same([changes, port.subnet.capabilityMask], [2, capabilityMask]);
});

t.test('every field and length', async (t) => {
  const driver = start();
  const head = { otherVport: only([0]), portNum: only([0, 1]), vportNumber: only([0]) };
  const digest = (): unknown => digestPorts(driver);
  const within =
    (entries: number) =>
    (value: number): CommandStatus =>
      value < entries || value === WHOLE_TABLE ? OK : BAD_INDEX;
  const walks: readonly (readonly [FieldWalk, number, number])[] = [
    [
      {
        driver,
        digest,
        opcode: QUERY_HCA_VPORT_CONTEXT,
        layouts: { 0: 'query-hca-vport-context-in' },
        prepare: () => ({ outputBytes: CONTEXT_BYTES }),
        rules: head,
      },
      0x10,
      CONTEXT_BYTES,
    ],
    [
      {
        driver,
        digest,
        opcode: MODIFY_HCA_VPORT_CONTEXT,
        layouts: { 0: 'modify-hca-vport-context-in', [BODY]: 'hca-vport-context' },
        // The policy stays as it is, so that its selection can be tried.
        prepare: () => ({
          ...capabilities(0, 0),
          fill: (view) => view.setUint32(BODY + 0x20, 0x200),
        }),
        rules: {
          ...head,
          fieldSelect: only([0, 4, 8]),
          capMask1FieldSelect: (value) => ((value & ~SOFTWARE) === 0 ? OK : BAD_PARAMETER),
          capMask2FieldSelect: only([0]),
        },
      },
      CONTEXT_BYTES,
      0x10,
    ],
    [
      {
        driver,
        digest,
        opcode: QUERY_HCA_VPORT_GID,
        layouts: { 0: 'query-hca-vport-gid-in' },
        prepare: () => ({ outputBytes: BODY + PORT_GIDS * GID_SIZE }),
        rules: { ...head, gidIndex: within(PORT_GIDS) },
      },
      0x10,
      BODY + GID_SIZE,
    ],
    [
      {
        driver,
        digest,
        opcode: QUERY_HCA_VPORT_PKEY,
        layouts: { 0: 'query-hca-vport-pkey-in' },
        prepare: () => ({ outputBytes: BODY + PKEY_ENTRIES * 4 }),
        rules: { ...head, pkeyIndex: within(PKEY_ENTRIES) },
      },
      0x10,
      BODY + 4,
    ],
  ];
  for (const [walk, inputBytes, outputBytes] of walks) {
    walkFields(t, walk);
    walkLengths(t, walk, inputBytes, outputBytes);
  }
  const policy = (value: number): Mlx5Command => ({
    inputBytes: CONTEXT_BYTES,
    fill: (view) => {
      view.setUint32(BODY, 4);
      view.setUint32(BODY + 0x20, value << 8);
    },
  });
  for (const [value, status] of [
    [0, BAD_PARAMETER],
    [1, BAD_PARAMETER],
    [2, OK],
    [3, BAD_PARAMETER],
  ] as const)
    t.equal(driver.command(MODIFY_HCA_VPORT_CONTEXT, policy(value)).status, status, `policy ${value}`);
});

t.test('only of a running function', async (t) => {
  const driver = new Mlx5Driver();
  driver.connect();
  driver.expect(CommandOpcode.ENABLE_HCA, { outputBytes: 0xc });
  const commands = [
    [QUERY_HCA_VPORT_CONTEXT, { outputBytes: CONTEXT_BYTES }],
    [MODIFY_HCA_VPORT_CONTEXT, capabilities(SOFTWARE, SOFTWARE)],
    [QUERY_HCA_VPORT_GID, indexed(0, BODY + GID_SIZE)],
    [QUERY_HCA_VPORT_PKEY, indexed(0, BODY + 4)],
  ] as const;
  for (const [opcode, command] of commands) t.equal(driver.command(opcode, command).status, BAD_SYSTEM_STATE);
});
