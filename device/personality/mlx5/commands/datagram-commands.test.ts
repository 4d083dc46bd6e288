// SPDX-License-Identifier: Apache-2.0
/**
 * MAD_IFC: the agents of the node answer what software hands them, with and without the M_Key, and
 * every wrong field is refused. mthca's start.test.ts asks the same agents.
 */
import t from 'tap';
import { DIRECTED_ROUTE_SMP_M_KEY_OFFSET } from '../../../../protocol/infiniband/mad/gen/directed-route-smp.gen.ts';
import { MadClass, MadMethod, SubnetAttribute } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { beginMad } from '../../../../protocol/infiniband/mad/mad-head.ts';
import { ATTRIBUTE_OFFSET, MAD_BYTES } from '../../../../protocol/infiniband/mad/mad-headers.ts';
import { PortState } from '../../../../protocol/layout/gen/values.gen.ts';
import { CommandOpcode, CommandStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { type Mlx5Command, Mlx5Driver } from '../../../rig/mlx5/driver/mlx5-driver.ts';
import { only, walkFields, walkLengths } from '../../../rig/mlx5/fields/field-walk.ts';
import { digestPorts } from '../../../rig/mlx5/fields/port-digest.ts';

const { OK, BAD_PACKET, BAD_PARAMETER, BAD_SYSTEM_STATE } = CommandStatus;
const opcode = CommandOpcode.MAD_IFC;
const BODY = 0x10;
const CLASS_OFFSET = BODY + 1;
const METHOD_OFFSET = BODY + 3;
const ATTRIBUTE = BODY + ATTRIBUTE_OFFSET;
const IGNORE_KEYS = 3;

function start(): Mlx5Driver {
  const driver = new Mlx5Driver();
  driver.start();
  return driver;
}

/** A datagram for port 1, as software of the node hands it over. */
function datagram(head: Parameters<typeof beginMad>[1], modifier = IGNORE_KEYS): Mlx5Command {
  return {
    modifier,
    inputBytes: BODY + MAD_BYTES,
    outputBytes: BODY + MAD_BYTES,
    fill: (view) => {
      view.setUint8(0xb, 1);
      beginMad(new Uint8Array(view.buffer, BODY, MAD_BYTES), head);
    },
  };
}

const get = (attributeId: number, modifier = 0, managementClass: number = MadClass.SUBNET) => ({
  managementClass,
  method: MadMethod.GET,
  attributeId,
  modifier,
});

t.test('all that the form without vports asks: node, port, GUIDs, P_Keys, description', async (t) => {
  const driver = start();
  const [port] = driver.device.ports;
  port.setLinkUp(true);
  port.lid = 0x77;
  port.pkeys[1] = 0x8123;
  for (const managementClass of [MadClass.SUBNET, MadClass.SUBNET_DIRECTED_ROUTE]) {
    const ask = (attribute: number, modifier = 0): DataView =>
      driver.expect(opcode, datagram(get(attribute, modifier, managementClass)));
    const node = ask(SubnetAttribute.NODE_INFO);
    t.equal(node.getUint8(METHOD_OFFSET), MadMethod.GET_RESPONSE);
    t.equal(node.getUint8(ATTRIBUTE + 3), 1, 'ports');
    t.equal(node.getBigUint64(ATTRIBUTE + 12), 0x0056554843416000n, 'node GUID');
    t.equal(node.getUint16(ATTRIBUTE + 28), port.pkeys.length);
    const info = ask(SubnetAttribute.PORT_INFO, 1);
    t.equal(info.getUint16(ATTRIBUTE + 16), 0x77, 'LID');
    t.equal(info.getUint8(ATTRIBUTE + 32) & 15, PortState.ACTIVE);
    t.equal(info.getUint8(ATTRIBUTE + 41) & 15, 5, 'an MTU of 4096');
    t.equal(info.getUint8(ATTRIBUTE + 50), port.gids.length / 16, 'GIDs');
    t.equal(ask(SubnetAttribute.GUID_INFO).getBigUint64(ATTRIBUTE), 0x0056554843416001n);
    t.equal(ask(SubnetAttribute.P_KEY_TABLE).getUint16(ATTRIBUTE + 2), 0x8123);
    const text = Buffer.from(ask(SubnetAttribute.NODE_DESCRIPTION).buffer, ATTRIBUTE, 10).toString();
    t.equal(text, 'vuhca mlx5');
  }
  const counters = driver.expect(opcode, datagram(get(1, 0, MadClass.PERFORMANCE)));
  t.equal(counters.getUint8(METHOD_OFFSET), MadMethod.GET_RESPONSE, 'performance management answers too');
});

t.test('a datagram has 256 bytes, whatever the command before was', async (t) => {
  const driver = start();
  driver.expect(CommandOpcode.NOP, { inputBytes: 40_000 });
  const ask = datagram(get(SubnetAttribute.NODE_INFO));
  const output = driver.expect(opcode, { ...ask, outputBytes: BODY + MAD_BYTES + 16 });
  t.equal(output.getUint8(METHOD_OFFSET), MadMethod.GET_RESPONSE);
  t.same([...new Uint8Array(output.buffer, BODY + MAD_BYTES)], new Array(16).fill(0), 'and its answer as well');
});

t.test('a manager of the node sets a port', async (t) => {
  const driver = start();
  const [port] = driver.device.ports;
  const table = datagram({ ...get(SubnetAttribute.P_KEY_TABLE), method: MadMethod.SET });
  driver.expect(opcode, {
    ...table,
    fill: (view) => {
      table.fill?.(view);
      view.setUint16(ATTRIBUTE, 0xffff);
      view.setUint16(ATTRIBUTE + 2, 0x9234);
    },
  });
  t.same([...port.pkeys.subarray(0, 3)], [0xffff, 0x9234, 0]);
});

t.test('without the M_Key, and with the word of the driver', async (t) => {
  const driver = start();
  const { subnet } = driver.device.ports[0];
  subnet.mKey[7] = 5;
  subnet.mKeyProtect = 2;
  const ask = (modifier: number) => driver.command(opcode, datagram(get(SubnetAttribute.PORT_INFO, 1), modifier));
  t.same([ask(0).status, ask(2).status], [BAD_PACKET, BAD_PACKET]);
  for (const modifier of [1, IGNORE_KEYS]) {
    const { status, output } = ask(modifier);
    t.equal(status, OK);
    t.equal(output.getBigUint64(BODY + DIRECTED_ROUTE_SMP_M_KEY_OFFSET), 0n, 'the answer has the key of the request');
  }
  t.equal(subnet.mKey[7], 5);
});

t.test('what no agent answers is a bad packet, but for a repressed trap', async (t) => {
  const driver = start();
  const ask = (head: Parameters<typeof beginMad>[1]): number => driver.command(opcode, datagram(head)).status;
  t.equal(ask(get(1, 0, 0x30)), BAD_PACKET, 'no agent has the class');
  t.equal(ask({ ...get(SubnetAttribute.NODE_INFO), method: MadMethod.GET_RESPONSE }), BAD_PACKET);
  t.equal(ask({ ...get(SubnetAttribute.NOTICE), method: MadMethod.TRAP_REPRESS }), OK);
});

t.test('every field and length', async (t) => {
  const driver = start();
  const walk = {
    driver,
    opcode,
    layouts: { 0: 'mad-ifc-in' },
    prepare: () => datagram(get(SubnetAttribute.NODE_INFO)),
    rules: { port: only([1]), opMod: only([0, 1, 2, 3]) },
    digest: (): unknown => digestPorts(driver),
  };
  walkFields(t, walk);
  walkLengths(t, walk, BODY + MAD_BYTES, BODY + MAD_BYTES);
  t.equal(driver.command(opcode, datagram(get(SubnetAttribute.NODE_INFO), 4)).status, BAD_PARAMETER);
  const other = datagram(get(SubnetAttribute.NODE_INFO));
  const fill = (view: DataView): void => {
    other.fill?.(view);
    view.setUint8(CLASS_OFFSET, 0);
  };
  t.equal(driver.command(opcode, { ...other, fill }).status, BAD_PACKET);
});

t.test('only of a running function', async (t) => {
  const driver = new Mlx5Driver();
  driver.connect();
  driver.expect(CommandOpcode.ENABLE_HCA, { outputBytes: 0xc });
  t.equal(driver.command(opcode, datagram(get(SubnetAttribute.NODE_INFO))).status, BAD_SYSTEM_STATE);
});
