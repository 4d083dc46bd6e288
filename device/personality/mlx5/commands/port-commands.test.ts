// SPDX-License-Identifier: Apache-2.0
/**
 * Registers of ports and of the node: they show the port, software changes what it may and nothing
 * else, and every wrong field is refused.
 */
import t from 'tap';
import { LinkSpeed, LinkWidth, PortCapability } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { decodePmtuReg, newPmtuReg } from '../../../../protocol/mlx5/gen/pmtu-reg.gen.ts';
import { decodePtysReg, newPtysReg } from '../../../../protocol/mlx5/gen/ptys-reg.gen.ts';
import { decodePvlcReg, newPvlcReg } from '../../../../protocol/mlx5/gen/pvlc-reg.gen.ts';
import { CommandOpcode, CommandStatus, RegisterId } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { type Mlx5Command, Mlx5Driver } from '../../../rig/mlx5/driver/mlx5-driver.ts';
import { expectStatus, type FieldRule, only, walkFields, walkLengths } from '../../../rig/mlx5/fields/field-walk.ts';
import { digestPorts } from '../../../rig/mlx5/fields/port-digest.ts';

const { OK, BAD_PARAMETER, BAD_SYSTEM_STATE } = CommandStatus;
const opcode = CommandOpcode.ACCESS_REG;
const BODY = 0x10;
const WRITE = 0;
const READ = 1;
const PORT_ONE = 0x10000;
/** PAOS: state that is wanted, and that it changes. */
const UP = 0x100;
const DOWN = 0x200;
const CHANGES = 0x80000000;

function start(): Mlx5Driver {
  const driver = new Mlx5Driver();
  driver.start();
  return driver;
}

/** A read or write of a register whose first dwords are `words`. */
function access(id: number, bytes: number, modifier: number, words: readonly number[] = []): Mlx5Command {
  return {
    modifier,
    inputBytes: BODY + bytes,
    outputBytes: BODY + bytes,
    fill: (view) => {
      view.setUint16(0xa, id);
      for (const [index, word] of words.entries()) view.setUint32(BODY + 4 * index, word);
    },
  };
}

t.test('MTU: 4096 bytes, and what a subnet manager has set', async (t) => {
  const driver = start();
  const read = () =>
    decodePmtuReg(driver.expect(opcode, access(RegisterId.PMTU, 16, READ, [PORT_ONE])), BODY, newPmtuReg());
  t.same(read(), { localPort: 1, maxMtu: 4096, adminMtu: 4096, operMtu: 4096 });
  driver.device.ports[0].activeMtuCode = 3;
  t.same(read(), { localPort: 1, maxMtu: 4096, adminMtu: 1024, operMtu: 1024 });
});

t.test('type and speed: bits of widths are not those of PortInfo', async (t) => {
  const driver = start();
  const { settings } = driver.device.ports[0];
  const read = () =>
    decodePtysReg(driver.expect(opcode, access(RegisterId.PTYS, 64, READ, [PORT_ONE | 1])), BODY, newPtysReg());
  t.same(read(), {
    localPort: 1,
    protoMask: 1,
    ibLinkWidthCapability: 1 | 4,
    ibProtoCapability: 7,
    ibLinkWidthAdmin: 1 | 4,
    ibProtoAdmin: 7,
    ibLinkWidthOper: 4,
    ibProtoOper: 4,
  });
  const seen = [
    LinkWidth.WIDTH_1X,
    LinkWidth.WIDTH_2X,
    LinkWidth.WIDTH_4X,
    LinkWidth.WIDTH_8X,
    LinkWidth.WIDTH_12X,
  ].map((width) => {
    settings.linkWidthActive = width;
    return read().ibLinkWidthOper;
  });
  t.same(seen, [1, 2, 4, 8, 16], '1X, 2X, 4X, 8X, 12X');
  settings.linkSpeedActive = LinkSpeed.DDR;
  t.equal(read().ibProtoOper, 2);
});

t.test('type and speed: software chooses them, and the link takes them when it next trains', async (t) => {
  const driver = start();
  const { settings } = driver.device.ports[0];
  const write = (width: number, speed: number): number => {
    const words = [PORT_ONE | 1, 0, 0, 0, 0, 0, 0, (width << 16) | speed];
    return driver.command(opcode, access(RegisterId.PTYS, 64, WRITE, words)).status;
  };
  t.equal(write(4, 3), OK);
  t.same([settings.linkWidthEnabled, settings.linkSpeedEnabled], [LinkWidth.WIDTH_4X, LinkSpeed.SDR | LinkSpeed.DDR]);
  t.same([settings.linkWidthActive, settings.linkSpeedActive], [LinkWidth.WIDTH_4X, LinkSpeed.QDR]);
  for (const [width, speed] of [
    [0, 1],
    [1, 0],
    [8, 1],
    [1, 8],
    [5, 0xff],
  ])
    t.equal(write(width, speed), BAD_PARAMETER, `width ${width}, speed ${speed}`);
  t.same([settings.linkWidthEnabled, settings.linkSpeedEnabled], [LinkWidth.WIDTH_4X, 3], 'refusals change nothing');
});

t.test('virtual lanes are counted', async (t) => {
  const driver = start();
  const read = () =>
    decodePvlcReg(driver.expect(opcode, access(RegisterId.PVLC, 16, READ, [PORT_ONE])), BODY, newPvlcReg());
  t.same(read(), { localPort: 1, vlHwCap: 1, vlAdmin: 1, vlOperational: 1 });
});

t.test('state: software switches the port off and on', async (t) => {
  const driver = start();
  const [port] = driver.device.ports;
  const paos = (modifier: number, words: readonly number[] = [PORT_ONE]): number =>
    driver.expect(opcode, access(RegisterId.PAOS, 16, modifier, words)).getUint32(BODY);
  t.equal(paos(READ), PORT_ONE | UP | 2, 'wanted up, and not up');
  port.setLinkUp(true);
  t.equal(paos(READ), PORT_ONE | UP | 1);
  t.equal(paos(WRITE, [PORT_ONE | DOWN]), PORT_ONE | UP | 1, 'the change is not asked for');
  t.equal(paos(WRITE, [PORT_ONE | UP, CHANGES]), PORT_ONE | UP | 1, 'it is on, and its link stays');
  t.equal(paos(WRITE, [PORT_ONE | DOWN, CHANGES]), PORT_ONE | DOWN | 2);
  port.setLinkUp(true);
  t.notOk(port.active, 'a port that is off does not come up');
  t.equal(paos(WRITE, [PORT_ONE | UP, CHANGES]), PORT_ONE | UP | 2);
  port.setLinkUp(true);
  t.ok(port.active);
});

t.test('a port is on while the function runs', async (t) => {
  const driver = new Mlx5Driver();
  const [port] = driver.device.ports;
  const up = (): boolean => {
    port.setLinkUp(true);
    return port.active;
  };
  t.notOk(up(), 'before');
  driver.start();
  t.ok(up());
  driver.expect(CommandOpcode.TEARDOWN_HCA);
  t.notOk(port.active || up(), 'after');
  driver.port.reset('software');
  driver.start();
  t.ok(up());
  driver.port.reset('function');
  t.notOk(port.active || up(), 'after a reset');
});

t.test('capabilities of a port', async (t) => {
  const driver = start();
  const { subnet } = driver.device.ports[0];
  const { capabilityMask } = subnet;
  const pcap = (modifier: number, words: readonly number[]): Mlx5Command =>
    access(RegisterId.PCAP, 20, modifier, words);
  t.equal(driver.expect(opcode, pcap(READ, [PORT_ONE])).getUint32(BODY + 4), capabilityMask);
  const wanted = (capabilityMask | PortCapability.COMMUNICATION) >>> 0;
  t.equal(driver.expect(opcode, pcap(WRITE, [PORT_ONE, wanted])).getUint32(BODY + 4), wanted);
  t.equal(subnet.capabilityMask, wanted);
  for (const words of [
    [PORT_ONE, 0],
    [PORT_ONE, (wanted ^ PortCapability.TRAP) >>> 0],
    [PORT_ONE, wanted, 1],
    [PORT_ONE, wanted, 0, 0, 1],
  ])
    t.equal(driver.command(opcode, pcap(WRITE, words)).status, BAD_PARAMETER, `${words}`);
  t.equal(subnet.capabilityMask, wanted);
});

t.test('the description of the node: read, written, announced, and forgotten', async (t) => {
  const driver = start();
  const { hca } = driver.device;
  let announced = 0;
  hca.onDescription = () => announced++;
  const text = (view: DataView): string => Buffer.from(view.buffer, BODY, 64).toString().replaceAll('\0', '');
  const read = (): string => text(driver.expect(opcode, access(RegisterId.NODE_DESC, 64, READ)));
  const write = (what: string): string => {
    const { fill, ...command } = access(RegisterId.NODE_DESC, 64, WRITE);
    return text(
      driver.expect(opcode, {
        ...command,
        fill: (view) => {
          fill?.(view);
          new TextEncoder().encodeInto(what, new Uint8Array(view.buffer, BODY, 64));
        },
      }),
    );
  };
  t.equal(read(), 'vuhca mlx5');
  t.equal(write('host mlx5_0'), 'host mlx5_0');
  t.equal(write('host mlx5_0'), 'host mlx5_0');
  t.same([read(), announced], ['host mlx5_0', 1], 'what does not change is not announced');
  write('x'.repeat(64));
  t.equal(read(), 'x'.repeat(64));
  driver.port.reset('software');
  driver.start();
  t.same([read(), announced], ['vuhca mlx5', 3], 'a reset forgets it');
});

t.test('every field, length and register', async (t) => {
  const driver = start();
  const head = { registerId: () => BAD_PARAMETER, argument: only([0]), localPort: only([1]) };
  const digest = (): unknown => digestPorts(driver);
  const unwritable: FieldRule = () => BAD_PARAMETER;
  const registers: readonly {
    readonly id: number;
    readonly bytes: number;
    readonly layout?: string;
    readonly words?: readonly number[];
    readonly rules?: Readonly<Record<string, FieldRule>>;
    /** Rules of writes; absent: the register cannot be written. */
    readonly writes?: Readonly<Record<string, FieldRule>>;
  }[] = [
    { id: RegisterId.PMTU, bytes: 16, layout: 'pmtu-reg', words: [PORT_ONE] },
    {
      id: RegisterId.PTYS,
      bytes: 64,
      layout: 'ptys-reg',
      words: [PORT_ONE | 1, 0, 0, 0, 0, 0, 0, 0x50007],
      rules: { protoMask: only([1]) },
      writes: { ibLinkWidthAdmin: only([1, 4, 5]), ibProtoAdmin: only([1, 2, 3, 4, 5, 6, 7]) },
    },
    { id: RegisterId.PVLC, bytes: 16, layout: 'pvlc-reg', words: [PORT_ONE] },
    {
      id: RegisterId.PAOS,
      bytes: 16,
      layout: 'paos-reg',
      words: [PORT_ONE | UP, CHANGES],
      rules: { swid: only([0]) },
      writes: { adminStatus: only([1, 2]), ee: only([0]) },
    },
    {
      id: RegisterId.PCAP,
      bytes: 20,
      layout: 'pcap-reg',
      words: [PORT_ONE, driver.device.ports[0].subnet.capabilityMask],
      writes: {},
    },
    { id: RegisterId.NODE_DESC, bytes: 64, writes: {} },
    { id: RegisterId.HOST_ENDIANNESS, bytes: 16, writes: {} },
    {
      id: RegisterId.MCAM,
      bytes: 0x48,
      layout: 'mcam-reg',
      rules: { accessRegGroup: only([0, 1, 2, 3]), featureGroup: only([0]) },
    },
    { id: RegisterId.MCQS, bytes: 16, layout: 'mcqs-reg', rules: { componentIndex: only([0]), fwDevice: only([0]) } },
    {
      id: RegisterId.MCQI,
      bytes: 24,
      layout: 'mcqi-reg',
      rules: {
        componentIndex: only([0]),
        readPendingComponent: only([0]),
        infoType: only([0, 1]),
        offset: only([0, 4, 8, 16]),
        // The output has no room for data.
        dataSize: only([0], CommandStatus.BAD_OUTPUT_LENGTH),
      },
    },
  ];
  const ids = new Set<number>(registers.map(({ id }) => id));
  t.same([...ids].sort(), Object.values(RegisterId).sort(), 'all registers');
  for (const { id, bytes, layout, words, rules, writes } of registers) {
    const command = { driver, digest, opcode };
    const layouts = { 0: 'access-register-in', ...(layout === undefined ? {} : { [BODY]: layout }) };
    const read = { ...command, layouts, prepare: () => access(id, bytes, READ, words) };
    // The other variant, and another register in the same bytes, are walked over elsewhere.
    const opMod: FieldRule = (value) =>
      value === READ || (value === WRITE && writes !== undefined) ? OK : BAD_PARAMETER;
    walkFields(t, { ...read, layouts: { 0: layouts[0] }, rules: { ...head, opMod } });
    if (layout !== undefined) walkFields(t, { ...read, layouts: { [BODY]: layout }, rules: { ...head, ...rules } });
    walkLengths(t, { ...read, rules: {} }, BODY + bytes, BODY + bytes);
    const write = { ...command, prepare: () => access(id, bytes, WRITE, words) };
    if (writes === undefined) expectStatus(t, write, write.prepare(), BAD_PARAMETER, `register ${id} is only read`);
    else if (layout !== undefined)
      walkFields(t, { ...write, layouts: { [BODY]: layout }, rules: { ...head, ...rules, ...writes } });
  }
  expectStatus(t, { driver, digest, opcode }, access(0x5008, 64, READ, [PORT_ONE]), unwritable(0), 'no such register');
  const big = access(RegisterId.HOST_ENDIANNESS, 16, WRITE, [0x80000000]);
  expectStatus(t, { driver, digest, opcode }, big, BAD_PARAMETER, 'a big-endian host');
  t.equal(driver.expect(opcode, { ...big, modifier: READ }).getUint32(BODY), 0, 'the host is little-endian');
});

t.test('before the function runs registers can be read, and the byte order told', async (t) => {
  const driver = new Mlx5Driver();
  driver.connect();
  driver.expect(CommandOpcode.ENABLE_HCA, { outputBytes: 0xc });
  driver.expect(opcode, access(RegisterId.HOST_ENDIANNESS, 16, WRITE));
  driver.expect(opcode, access(RegisterId.PMTU, 16, READ, [PORT_ONE]));
  for (const command of [
    access(RegisterId.PAOS, 16, WRITE, [PORT_ONE | UP, CHANGES]),
    access(RegisterId.NODE_DESC, 64, WRITE, [0x41414141]),
  ])
    t.equal(driver.command(opcode, command).status, BAD_SYSTEM_STATE);
  t.notOk(driver.device.ports[0].isEnabled);
});
