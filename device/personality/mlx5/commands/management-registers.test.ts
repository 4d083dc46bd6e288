// SPDX-License-Identifier: Apache-2.0
/**
 * Registers of management: they name each other and nothing else, and tell the version of the
 * firmware that the initialising segment tells. port-commands.test.ts walks over their fields.
 */
import t from 'tap';
import { swapBytes } from '../../../../protocol/layout/dwords.ts';
import { decodeMcamAccessReg, newMcamAccessReg } from '../../../../protocol/mlx5/gen/mcam-access-reg.gen.ts';
import {
  MCAM_REG_MNG_ACCESS_REG_CAP_MASK_OFFSET,
  MCAM_REG_SIZE,
  setMcamRegAccessRegGroup,
} from '../../../../protocol/mlx5/gen/mcam-reg.gen.ts';
import { decodeMcqiCap, MCQI_CAP_SIZE, newMcqiCap } from '../../../../protocol/mlx5/gen/mcqi-cap.gen.ts';
import {
  decodeMcqiReg,
  MCQI_REG_SIZE,
  newMcqiReg,
  setMcqiRegComponentIndex,
  setMcqiRegDataSize,
  setMcqiRegInfoType,
  setMcqiRegOffset,
  setMcqiRegReadPendingComponent,
} from '../../../../protocol/mlx5/gen/mcqi-reg.gen.ts';
import {
  getMcqiVersionVersion,
  getMcqiVersionVersionStringLength,
  MCQI_VERSION_SIZE,
  MCQI_VERSION_VERSION_STRING_OFFSET,
} from '../../../../protocol/mlx5/gen/mcqi-version.gen.ts';
import { decodeMcqsReg, MCQS_REG_SIZE, newMcqsReg } from '../../../../protocol/mlx5/gen/mcqs-reg.gen.ts';
import {
  CommandOpcode,
  CommandStatus,
  ComponentIdentifier,
  ComponentInformation,
  ComponentStatus,
  ComponentUpdateState,
  RegisterId,
} from '../../../../protocol/mlx5/gen/values.gen.ts';
import { type Mlx5Command, Mlx5Driver } from '../../../rig/mlx5/driver/mlx5-driver.ts';

const { OK, BAD_PARAMETER, BAD_OUTPUT_LENGTH } = CommandStatus;
const opcode = CommandOpcode.ACCESS_REG;
/** Where the register begins in input and output, and the data of MCQI in the output. */
const BODY = 0x10;
const DATA = BODY + MCQI_REG_SIZE;
const READ = 1;
const FIRST_REGISTER = 0x9000;
const GROUP_REGISTERS = 128;
const MASK_BYTES = GROUP_REGISTERS / 8;

function start(): Mlx5Driver {
  const driver = new Mlx5Driver();
  driver.start();
  return driver;
}

function readOf(id: number, bytes: number, fill?: (view: DataView) => void, dataBytes = 0): Mlx5Command {
  return {
    modifier: READ,
    inputBytes: BODY + bytes,
    outputBytes: BODY + bytes + dataBytes,
    fill: (view) => {
      view.setUint16(0xa, id);
      fill?.(view);
    },
  };
}

/** Asks for a part of what is told of the firmware, with room for `room` bytes of it. */
function inform(type: number, offset: number, dataSize: number, room = dataSize): Mlx5Command {
  const fill = (view: DataView): void => {
    setMcqiRegInfoType(view, BODY, type);
    setMcqiRegOffset(view, BODY, offset);
    setMcqiRegDataSize(view, BODY, dataSize);
  };
  return readOf(RegisterId.MCQI, MCQI_REG_SIZE, fill, room);
}

/** The numbers in the initialising segment, as one. */
function versionOfSegment(driver: Mlx5Driver): number {
  const [first, second] = [0, 4].map((offset) => swapBytes(driver.port.readRegister(offset, 4)));
  return (first % 2 ** 16) * 2 ** 24 + Math.floor(first / 2 ** 16) * 2 ** 16 + (second % 2 ** 16);
}

/** The version as drivers print it. */
function print(version: number): string {
  const subminor = String(version % 2 ** 16).padStart(4, '0');
  return `${version >>> 24}.${(version >>> 16) & 0xff}.${subminor}`;
}

t.test('all registers that there are, and no other', async (t) => {
  const driver = start();
  const masks = [0, 1, 2, 3].map((group) => {
    const fill = (view: DataView): void => setMcamRegAccessRegGroup(view, BODY, group);
    return driver.expect(opcode, readOf(RegisterId.MCAM, MCAM_REG_SIZE, fill));
  });
  const told = masks.flatMap((view, group) => {
    const bits = Array.from({ length: GROUP_REGISTERS }, (_, bit) => bit).filter((bit) => {
      const dword = view.getUint32(
        BODY + MCAM_REG_MNG_ACCESS_REG_CAP_MASK_OFFSET + MASK_BYTES - 4 - 4 * Math.floor(bit / 32),
      );
      return ((dword >>> (bit % 32)) & 1) === 1;
    });
    return bits.map((bit) => FIRST_REGISTER + group * GROUP_REGISTERS + bit);
  });
  t.same(
    told,
    Object.values(RegisterId).filter((id) => id >= FIRST_REGISTER),
  );
  const [first] = masks;
  t.same(
    decodeMcamAccessReg(first, BODY + MCAM_REG_MNG_ACCESS_REG_CAP_MASK_OFFSET, newMcamAccessReg()),
    { ...newMcamAccessReg(), mcqi: 1, mcqs: 1 },
    'as drivers look at it',
  );
  const behind = BODY + MCAM_REG_MNG_ACCESS_REG_CAP_MASK_OFFSET + MASK_BYTES;
  const features = masks.flatMap(({ buffer }) => [...new Uint8Array(buffer, behind, BODY + MCAM_REG_SIZE - behind)]);
  t.ok(
    features.every((byte) => byte === 0),
    'no feature',
  );
  // Each register of the first group is asked for, and those that are not told do not exist.
  for (let id = FIRST_REGISTER; id < FIRST_REGISTER + GROUP_REGISTERS; id++) {
    const { status } = driver.command(opcode, readOf(id, MCAM_REG_SIZE));
    t.equal(status, told.includes(id) ? OK : BAD_PARAMETER, `register 0x${id.toString(16)}`);
  }
});

t.test('the only component is the firmware, which is in use and not replaced', async (t) => {
  const view = start().expect(opcode, readOf(RegisterId.MCQS, MCQS_REG_SIZE));
  t.same(decodeMcqsReg(view, BODY, newMcqsReg()), {
    ...newMcqsReg(),
    lastIndexFlag: 1,
    identifier: ComponentIdentifier.BOOT_IMG,
    componentStatus: ComponentStatus.IN_USE,
    componentUpdateState: ComponentUpdateState.IDLE,
  });
});

t.test('the version is that of the initialising segment', async (t) => {
  const driver = start();
  const view = driver.expect(opcode, inform(ComponentInformation.VERSION, 0, MCQI_VERSION_SIZE));
  const version = versionOfSegment(driver);
  t.equal(getMcqiVersionVersion(view, DATA), version);
  t.equal(print(version), '16.99.0000');
  const length = getMcqiVersionVersionStringLength(view, DATA);
  const text = Buffer.from(view.buffer, view.byteOffset + DATA + MCQI_VERSION_VERSION_STRING_OFFSET, length);
  t.equal(text.toString(), '16.99.0000');
});

t.test('nothing but the version is told of it, and it can be neither read nor written', async (t) => {
  const view = start().expect(opcode, inform(ComponentInformation.CAPABILITIES, 0, MCQI_CAP_SIZE));
  t.same(decodeMcqiCap(view, DATA, newMcqiCap()), {
    ...newMcqiCap(),
    supportedInfoBitmask: 1 << ComponentInformation.VERSION,
  });
});

t.test('parts of a structure, which end with it', async (t) => {
  const driver = start();
  const head = (view: DataView) => decodeMcqiReg(view, BODY, newMcqiReg());
  const structure = { ...newMcqiReg(), infoType: ComponentInformation.VERSION, infoSize: MCQI_VERSION_SIZE };
  const numbers = driver.expect(opcode, inform(ComponentInformation.VERSION, 4, 6));
  t.same(head(numbers), { ...structure, offset: 4, dataSize: 6 });
  t.equal(numbers.getUint32(DATA), versionOfSegment(driver));
  const last = driver.expect(opcode, inform(ComponentInformation.VERSION, MCQI_VERSION_SIZE - 4, 0xffff, 4));
  t.same(head(last), { ...structure, offset: MCQI_VERSION_SIZE - 4, dataSize: 4 });
  t.same(head(driver.expect(opcode, inform(ComponentInformation.VERSION, 0, 0))), structure, 'its size alone');
});

t.test('what does not exist is refused', async (t) => {
  const driver = start();
  const { VERSION, CAPABILITIES, ACTIVATION_METHOD } = ComponentInformation;
  for (const [type, offset, dataSize, room, expected] of [
    [ACTIVATION_METHOD, 0, 4, 4, BAD_PARAMETER],
    [VERSION, 2, 4, 4, BAD_PARAMETER],
    [VERSION, MCQI_VERSION_SIZE, 4, 4, BAD_PARAMETER],
    [VERSION, 0xfffffffc, 4, 4, BAD_PARAMETER],
    [CAPABILITIES, MCQI_CAP_SIZE, 4, 4, BAD_PARAMETER],
    [VERSION, 0, MCQI_VERSION_SIZE, MCQI_VERSION_SIZE - 1, BAD_OUTPUT_LENGTH],
    [VERSION, 0, 0xffff, MCQI_VERSION_SIZE - 1, BAD_OUTPUT_LENGTH],
  ] as const)
    t.equal(driver.command(opcode, inform(type, offset, dataSize, room)).status, expected, `${type}, ${offset}`);
  for (const set of [setMcqiRegComponentIndex, setMcqiRegReadPendingComponent]) {
    const usual = inform(VERSION, 0, 4);
    const fill = (view: DataView): void => {
      usual.fill?.(view);
      set(view, BODY, 1);
    };
    t.equal(driver.command(opcode, usual).status, OK);
    t.equal(driver.command(opcode, { ...usual, fill }).status, BAD_PARAMETER, set.name);
  }
});
