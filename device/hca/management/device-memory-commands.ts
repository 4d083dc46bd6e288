// SPDX-License-Identifier: Apache-2.0
/**
 * Management commands that allocate, query and free ranges of device memory (docs/FEATURES.md,
 * Device memory).
 */
import {
  DEVICE_MEMORY_ATTRIBUTES_ALIGNMENT_LOG2_OFFSET,
  DEVICE_MEMORY_ATTRIBUTES_LENGTH_OFFSET,
  type DeviceMemoryAttributes,
  decodeDeviceMemoryAttributes,
  encodeDeviceMemoryAttributes,
  newDeviceMemoryAttributes,
} from '../../../protocol/layout/gen/device-memory-attributes.gen.ts';
import { ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { DeviceMemoryRange } from '../protection/device-memory-range.ts';
import type { CommandContext } from './command-context.ts';

/** Larger alignments than the room for device memory make no sense. */
const ALIGNMENT_LOG2_MAX = 19;

const request: DeviceMemoryAttributes = newDeviceMemoryAttributes();

/** CREATE_DEVICE_MEMORY: allocates a range, zeroed. */
export function createDeviceMemory(context: CommandContext): ManagementStatus {
  const { issuer } = context;
  const { deviceMemory } = issuer;
  decodeDeviceMemoryAttributes(context.command, context.payload, request);
  const { length, alignmentLog2 } = request;
  if (length === 0 || length > deviceMemory.sizeBytes)
    return context.badField(DEVICE_MEMORY_ATTRIBUTES_LENGTH_OFFSET, deviceMemory.sizeBytes);
  if (alignmentLog2 > ALIGNMENT_LOG2_MAX)
    return context.badField(DEVICE_MEMORY_ATTRIBUTES_ALIGNMENT_LOG2_OFFSET, ALIGNMENT_LOG2_MAX);
  const offset = deviceMemory.allocate(length, 2 ** alignmentLog2);
  if (offset === undefined) return ManagementStatus.NO_RESOURCES;
  const range = context.adapter.tables.deviceMemory.add(
    issuer,
    (number) => new DeviceMemoryRange(number, issuer, offset, length, alignmentLog2),
  );
  if (range === undefined) {
    deviceMemory.free(offset, length);
    return ManagementStatus.NO_RESOURCES;
  }
  context.objectNumber = range.number;
  describe(context, range);
  return ManagementStatus.OK;
}

/** QUERY_DEVICE_MEMORY: place, length and users of a range. */
export function queryDeviceMemory(context: CommandContext): ManagementStatus {
  const range = find(context);
  if (range === undefined) return context.badObject();
  describe(context, range);
  return ManagementStatus.OK;
}

/** DESTROY_DEVICE_MEMORY: frees a range without memory regions. */
export function destroyDeviceMemory(context: CommandContext): ManagementStatus {
  const range = find(context);
  if (range === undefined) return context.badObject();
  if (range.regions > 0) return ManagementStatus.IN_USE;
  range.owner.deviceMemory.free(range.offset, range.lengthBytes);
  context.adapter.tables.deviceMemory.remove(range);
  return ManagementStatus.OK;
}

function find(context: CommandContext): DeviceMemoryRange | undefined {
  return context.own(context.adapter.tables.deviceMemory.get(context.header.objectNumber));
}

function describe(context: CommandContext, range: DeviceMemoryRange): void {
  request.length = range.lengthBytes;
  request.alignmentLog2 = range.alignmentLog2;
  request.offset = range.offset;
  request.regions = range.regions;
  encodeDeviceMemoryAttributes(context.responseView, 0, request);
}
