// SPDX-License-Identifier: Apache-2.0
/**
 * The driver's end of device memory (docs/FEATURES.md, Device memory): ranges, which software
 * reads and writes through BAR0, and memory regions of them. Tests create them with a `Driver`.
 */
import { DEVICE_MEMORY_OFFSET } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  DEVICE_MEMORY_ATTRIBUTES_SIZE,
  type DeviceMemoryAttributes,
  decodeDeviceMemoryAttributes,
  encodeDeviceMemoryAttributes,
  newDeviceMemoryAttributes,
} from '../../../protocol/layout/gen/device-memory-attributes.gen.ts';
import { AccessFlag, ManagementOpcode, ManagementStatus, MrKind } from '../../../protocol/layout/gen/values.gen.ts';
import type { Driver } from './driver.ts';
import type { ManagementResult } from './management-channel.ts';
import type { DriverMemoryRegion } from './requests.ts';

const STORE_BYTES = 8;
const ZERO_BASED = AccessFlag.LOCAL_WRITE | AccessFlag.ZERO_BASED;

/** A range of device memory of the driver's function. */
export class DriverDeviceMemory {
  readonly number: number;
  readonly lengthBytes: number;
  /** Offset in the device memory of the function. */
  readonly offset: number;
  readonly #driver: Driver;

  constructor(driver: Driver, number: number, { length, offset }: DeviceMemoryAttributes) {
    this.#driver = driver;
    this.number = number;
    this.lengthBytes = length;
    this.offset = offset;
  }

  /** Copies from device memory, by loads of 8 bytes; all offsets in bytes, multiples of 8. */
  load(at = 0, lengthBytes = this.lengthBytes - at): Uint8Array {
    const { access } = this.#driver;
    const words = new Int32Array(Math.ceil(lengthBytes / STORE_BYTES) * 2);
    for (let word = 0; word < words.length; word += 2) {
      words[word] = access.readRegister(DEVICE_MEMORY_OFFSET + this.offset + at + word * 4, STORE_BYTES);
      words[word + 1] = access.readHigh;
    }
    return new Uint8Array(words.buffer, 0, lengthBytes);
  }

  /** Copies into device memory, by stores of 8 bytes; offset and length are multiples of 8. */
  store(bytes: Uint8Array, at = 0): void {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let done = 0; done < bytes.length; done += STORE_BYTES) {
      const place = DEVICE_MEMORY_OFFSET + this.offset + at + done;
      this.#driver.access.writeRegister(place, STORE_BYTES, view.getInt32(done, true), view.getInt32(done + 4, true));
    }
  }

  /** Registers a part of the range; by default all of it, zero-based. */
  register(
    pd: number,
    access: number = ZERO_BASED,
    at = 0,
    length = this.lengthBytes - at,
    startAddress = 0,
  ): DriverMemoryRegion {
    const { number: deviceMemory } = this;
    const place = { deviceMemory, deviceMemoryOffset: at };
    return this.#driver.createMemoryRegion({ pd, kind: MrKind.DEVICE, access, startAddress, length, ...place });
  }

  query(): DeviceMemoryAttributes {
    const request = { opcode: ManagementOpcode.QUERY_DEVICE_MEMORY, objectNumber: this.number };
    return decode(this.#driver.management.perform(request));
  }

  /** Frees the range; returns the status. */
  free(): number {
    const request = { opcode: ManagementOpcode.DESTROY_DEVICE_MEMORY, objectNumber: this.number };
    return this.#driver.management.execute(request).status;
  }
}

/** Allocates a range; undefined when there is no room. */
export function allocateDeviceMemory(
  driver: Driver,
  length: number,
  alignmentLog2 = 0,
): DriverDeviceMemory | undefined {
  const payload = new Uint8Array(DEVICE_MEMORY_ATTRIBUTES_SIZE);
  const request = { ...newDeviceMemoryAttributes(), length, alignmentLog2 };
  encodeDeviceMemoryAttributes(new DataView(payload.buffer), 0, request);
  const result = driver.management.execute({ opcode: ManagementOpcode.CREATE_DEVICE_MEMORY, payload });
  if (result.status === ManagementStatus.NO_RESOURCES) return undefined;
  if (result.status !== ManagementStatus.OK) throw new Error(`CREATE_DEVICE_MEMORY: status ${result.status}`);
  return new DriverDeviceMemory(driver, result.objectNumber, decode(result));
}

/** As `allocateDeviceMemory`; throws when there is no room. */
export function createDeviceMemory(driver: Driver, length: number, alignmentLog2 = 0): DriverDeviceMemory {
  const range = allocateDeviceMemory(driver, length, alignmentLog2);
  if (range === undefined) throw new Error(`no room for ${length} bytes of device memory`);
  return range;
}

function decode({ payload }: ManagementResult): DeviceMemoryAttributes {
  const found = newDeviceMemoryAttributes();
  decodeDeviceMemoryAttributes(payload, 0, found);
  return found;
}
