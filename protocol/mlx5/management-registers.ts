// SPDX-License-Identifier: Apache-2.0
/**
 * Registers that manage the device, which ACCESS_REGISTER reads: the list of these registers, and
 * the components of the firmware. MCAM-REG has a bit for each register of a group of 128, and
 * MCAM-ACCESS-REG is its mask for the first group, in which bit n is for register 0x9000 + n.
 */
import type { StructTable } from '../layout/table.ts';
import { bits, block, layout, wide } from './place-rows.ts';

export const managementRegisters: readonly StructTable[] = [
  layout('mcam-reg', 'Management registers and features that exist.', 0x48, [
    bits('featureGroup', 0x0, 23, 16, 'Requested group of features; only group 0 exists.'),
    bits('accessRegGroup', 0x0, 7, 0, 'Requested group of 128 registers, from 0x9000 on.'),
    block('mngAccessRegCapMask', 0x8, 0x10, 'A bit for each register of the group, the last one first.'),
    block('mngFeatureCapMask', 0x28, 0x10, 'A bit for each feature of the group, the last one first.'),
  ]),
  layout('mcam-access-reg', 'Registers of the first group that drivers look for.', 0x10, [
    bits('mcda', 0x0, 3, 3, 'Data of a component are written.'),
    bits('mcc', 0x0, 2, 2, 'Components are replaced.'),
    bits('mcqi', 0x0, 1, 1, 'Information about components is available.'),
    bits('mcqs', 0x0, 0, 0, 'Components have a status.'),
    bits('mpegc', 0x4, 22, 22, 'Settings of PCIe.'),
    bits('mtutc', 0x4, 21, 21, 'The clock can be set.'),
    bits('tracerRegisters', 0x4, 3, 0, 'Registers of the tracer of the firmware.'),
    bits('mrtc', 0x8, 13, 13, 'The device has a clock that runs without power.'),
    bits('mfrl', 0x8, 8, 8, 'Levels of reset can be chosen.'),
    bits('mtmp', 0xc, 10, 10, 'Temperatures can be read.'),
  ]),
  layout('mcqs-reg', 'Status of a component of the firmware.', 0x10, [
    bits('lastIndexFlag', 0x0, 31, 31, 'The component has the highest index.'),
    bits('fwDevice', 0x0, 23, 16, 'Owner of the component; 0: the device itself.'),
    bits('componentIndex', 0x0, 15, 0, 'Requested component.'),
    bits('identifier', 0x4, 15, 0, 'Kind of component.', 'component-identifier'),
    bits('componentStatus', 0x8, 8, 4, 'Presence of the component.', 'component-status'),
    bits('componentUpdateState', 0x8, 3, 0, 'Progress of its replacement.', 'component-update-state'),
    bits('lastUpdateStateChangerType', 0xc, 31, 28, 'Type of the last changer of that state; 0: unknown.'),
    bits('lastUpdateStateChangerHostId', 0xc, 27, 24, 'Host of that changer.'),
  ]),
  layout('mcqi-reg', 'Information about a component; a part of a structure follows.', 0x18, [
    bits('readPendingComponent', 0x0, 31, 31, 'Reads the component that waits to replace this one.'),
    bits('componentIndex', 0x0, 15, 0, 'Requested component.'),
    bits('infoType', 0x8, 4, 0, 'Requested structure.', 'component-information'),
    bits('infoSize', 0xc, 31, 0, 'Bytes of the whole structure.'),
    bits('offset', 0x10, 31, 0, 'Offset of the part in the structure, a multiple of 4.'),
    bits('dataSize', 0x14, 15, 0, 'Bytes of the part: requested, and available.'),
  ]),
  layout('mcqi-cap', 'Capabilities of a component: supported queries and operations.', 0x14, [
    bits('supportedInfoBitmask', 0x0, 31, 0, 'A bit for each further structure.'),
    bits('componentSize', 0x4, 31, 0, 'Bytes of the component; 0: unknown.'),
    bits('maxComponentSize', 0x8, 31, 0, 'Most bytes of a replacement.'),
    bits('logMcdaWordSize', 0xc, 31, 28, 'Unit in which it is written, as 2^n bytes.'),
    bits('mcdaMaxWriteSize', 0xc, 15, 0, 'Most bytes that are written at a time.'),
    bits('rdEn', 0x10, 31, 31, 'The component can be read.'),
    bits('matchChipId', 0x10, 29, 29, 'A replacement must be for this chip.'),
    bits('matchPsid', 0x10, 28, 28, 'A replacement must be for this board.'),
    bits('checkUserTimestamp', 0x10, 27, 27, 'A replacement must not be older.'),
    bits('matchBaseGuidMac', 0x10, 26, 26, 'A replacement must name the addresses of the device.'),
  ]),
  layout('mcqi-version', 'Version of a component.', 0x7c, [
    bits('buildTimeValid', 0x0, 29, 29, 'The time of the build is valid.'),
    bits('userDefinedTimeValid', 0x0, 28, 28, 'The time that its user has given it is valid.'),
    bits('versionStringLength', 0x0, 7, 0, 'Bytes of the text.'),
    bits('version', 0x4, 31, 0, 'The numbers: major << 24 | minor << 16 | subminor.'),
    wide('buildTime', 0x8, 'Time of the build.'),
    wide('userDefinedTime', 0x10, 'The time that its user has given it.'),
    bits('buildToolVersion', 0x18, 31, 0, 'Version of the tool that made it.'),
    block('versionString', 0x20, 0x5c, 'The version as text.'),
  ]),
];
