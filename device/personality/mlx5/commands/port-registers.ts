// SPDX-License-Identifier: Apache-2.0
/**
 * Registers of a port that ACCESS_REGISTER reads and writes: MTU, type and speed, lanes, state,
 * capabilities. Each is a view of the port. What a subnet manager decides, the MTU and the lanes in
 * use, software can read only.
 */

import { LinkWidth } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { mtuBytes } from '../../../../protocol/infiniband/mtu.ts';
import {
  getPaosRegAdminStatus,
  getPaosRegAse,
  getPaosRegEe,
  getPaosRegSwid,
  PAOS_REG_SIZE,
  setPaosRegAdminStatus,
  setPaosRegLocalPort,
  setPaosRegOperStatus,
} from '../../../../protocol/mlx5/gen/paos-reg.gen.ts';
import {
  PCAP_REG_PORT_CAPABILITY_MASK_OFFSET,
  PCAP_REG_SIZE,
  setPcapRegLocalPort,
} from '../../../../protocol/mlx5/gen/pcap-reg.gen.ts';
import { encodePmtuReg, PMTU_REG_SIZE } from '../../../../protocol/mlx5/gen/pmtu-reg.gen.ts';
import {
  encodePtysReg,
  getPtysRegIbLinkWidthAdmin,
  getPtysRegIbProtoAdmin,
  getPtysRegProtoMask,
  PTYS_REG_SIZE,
} from '../../../../protocol/mlx5/gen/ptys-reg.gen.ts';
import { encodePvlcReg, PVLC_REG_SIZE } from '../../../../protocol/mlx5/gen/pvlc-reg.gen.ts';
import { CommandStatus, LinkWidthBit, PortStatus } from '../../../../protocol/mlx5/gen/values.gen.ts';
import { SOFTWARE_CAPABILITIES } from '../../../fabric/port/end-port.ts';
import type { PersonalityPort } from '../../shared/personality-port.ts';

/** A register of a port. `at` is where its structure begins in the input or in the output. */
export interface PortRegister {
  readonly sizeBytes: number;
  /** True when the fields that choose what is read have values that they can have. */
  readonly isReadable?: (view: DataView, at: number) => boolean;
  /** Writes the structure over zeros. */
  readonly read: (port: PersonalityPort, view: DataView, at: number) => void;
  /** Absent: software can only read it. */
  readonly write?: (port: PersonalityPort, view: DataView, at: number) => CommandStatus;
}

/** A bit of PTYS that stands for InfiniBand. */
const INFINIBAND = 1;

/** Widths: bits of PortInfo, and those of PTYS. */
const widths: readonly (readonly [LinkWidth, LinkWidthBit])[] = [
  [LinkWidth.WIDTH_1X, LinkWidthBit.WIDTH_1X],
  [LinkWidth.WIDTH_2X, LinkWidthBit.WIDTH_2X],
  [LinkWidth.WIDTH_4X, LinkWidthBit.WIDTH_4X],
  [LinkWidth.WIDTH_8X, LinkWidthBit.WIDTH_8X],
  [LinkWidth.WIDTH_12X, LinkWidthBit.WIDTH_12X],
];

function widthToRegister(mask: number): number {
  return widths.reduce((sum, [ours, theirs]) => sum | ((mask & ours) === 0 ? 0 : theirs), 0);
}

function widthFromRegister(mask: number): number {
  return widths.reduce((sum, [ours, theirs]) => sum | ((mask & theirs) === 0 ? 0 : ours), 0);
}

export const mtuRegister: PortRegister = {
  sizeBytes: PMTU_REG_SIZE,
  read: ({ number, maxMtuCode, mtuBytes: inUse }, view, at) =>
    encodePmtuReg(view, at, { localPort: number, maxMtu: mtuBytes(maxMtuCode), adminMtu: inUse, operMtu: inUse }),
};

export const speedRegister: PortRegister = {
  sizeBytes: PTYS_REG_SIZE,
  isReadable: (view, at) => getPtysRegProtoMask(view, at) === INFINIBAND,
  read: ({ number, settings }, view, at) =>
    encodePtysReg(view, at, {
      localPort: number,
      protoMask: INFINIBAND,
      ibLinkWidthCapability: widthToRegister(settings.linkWidthSupported),
      ibProtoCapability: settings.linkSpeedSupported,
      ibLinkWidthAdmin: widthToRegister(settings.linkWidthEnabled),
      ibProtoAdmin: settings.linkSpeedEnabled,
      ibLinkWidthOper: widthToRegister(settings.linkWidthActive),
      ibProtoOper: settings.linkSpeedActive,
    }),
  /** Widths and speeds hold from the next training of the link on. */
  write: ({ settings }, view, at) => {
    const width = getPtysRegIbLinkWidthAdmin(view, at);
    const speed = getPtysRegIbProtoAdmin(view, at);
    if (!isPart(width, widthToRegister(settings.linkWidthSupported))) return CommandStatus.BAD_PARAMETER;
    if (!isPart(speed, settings.linkSpeedSupported)) return CommandStatus.BAD_PARAMETER;
    settings.linkWidthEnabled = widthFromRegister(width);
    settings.linkSpeedEnabled = speed;
    return CommandStatus.OK;
  },
};

export const laneRegister: PortRegister = {
  sizeBytes: PVLC_REG_SIZE,
  read: ({ number, transmitQueues: { rings, operationalVls } }, view, at) =>
    encodePvlcReg(view, at, {
      localPort: number,
      vlHwCap: rings.length,
      vlAdmin: operationalVls,
      vlOperational: operationalVls,
    }),
};

export const stateRegister: PortRegister = {
  sizeBytes: PAOS_REG_SIZE,
  isReadable: (view, at) => getPaosRegSwid(view, at) === 0,
  read: ({ number, isEnabled, active }, view, at) => {
    setPaosRegLocalPort(view, at, number);
    setPaosRegAdminStatus(view, at, isEnabled ? PortStatus.UP : PortStatus.DOWN);
    setPaosRegOperStatus(view, at, active ? PortStatus.UP : PortStatus.DOWN);
  },
  /** Its events cannot be chosen: those of ports go to the EQs that ask for them. */
  write: (port, view, at) => {
    const status = getPaosRegAdminStatus(view, at);
    if (getPaosRegEe(view, at) !== 0) return CommandStatus.BAD_PARAMETER;
    if (getPaosRegAse(view, at) === 0) return CommandStatus.OK;
    if (status !== PortStatus.UP && status !== PortStatus.DOWN) return CommandStatus.BAD_PARAMETER;
    if (status === PortStatus.DOWN) port.disable();
    else if (!port.isEnabled) port.enable();
    return CommandStatus.OK;
  },
};

export const capabilityRegister: PortRegister = {
  sizeBytes: PCAP_REG_SIZE,
  read: ({ number, subnet }, view, at) => {
    setPcapRegLocalPort(view, at, number);
    view.setUint32(at + PCAP_REG_PORT_CAPABILITY_MASK_OFFSET, subnet.capabilityMask);
  },
  /** The whole mask; only its bits that stand for software may differ. */
  write: (port, view, at) => {
    const mask = view.getUint32(at + PCAP_REG_PORT_CAPABILITY_MASK_OFFSET);
    if (((mask ^ port.subnet.capabilityMask) & ~SOFTWARE_CAPABILITIES) !== 0) return CommandStatus.BAD_PARAMETER;
    for (let more = at + PCAP_REG_PORT_CAPABILITY_MASK_OFFSET + 4; more < at + PCAP_REG_SIZE; more += 4)
      if (view.getUint32(more) !== 0) return CommandStatus.BAD_PARAMETER;
    port.setCapabilities(mask);
    return CommandStatus.OK;
  },
};

/** True when `mask` has at least one bit, and only bits of `supported`. */
function isPart(mask: number, supported: number): boolean {
  return mask !== 0 && (mask & ~supported) === 0;
}
