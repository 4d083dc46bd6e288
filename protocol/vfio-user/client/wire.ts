// SPDX-License-Identifier: Apache-2.0
/**
 * The vfio-user messages that a client sends and reads: header, version, and the bodies of the
 * commands. Written from the specification (docs/interop/vfio-user.rst of QEMU), independently of
 * the server under test.
 */

export const COMMAND = {
  version: 1,
  dmaMap: 2,
  dmaUnmap: 3,
  getInfo: 4,
  getRegionInfo: 5,
  getRegionIoFds: 6,
  getIrqInfo: 7,
  setIrqs: 8,
  regionRead: 9,
  regionWrite: 10,
  dmaRead: 11,
  dmaWrite: 12,
  reset: 13,
  dirtyPages: 14,
} as const;

export const HEADER_BYTES = 16;
export const FLAG = { reply: 1, noReply: 0x10, error: 0x20 } as const;

export interface Header {
  id: number;
  command: number;
  sizeBytes: number;
  flags: number;
  errno: number;
}

export function encodeMessageHeader(header: Header): Uint8Array {
  const view = new DataView(new ArrayBuffer(HEADER_BYTES));
  view.setUint16(0, header.id, true);
  view.setUint16(2, header.command, true);
  view.setUint32(4, header.sizeBytes, true);
  view.setUint32(8, header.flags, true);
  view.setUint32(12, header.errno, true);
  return new Uint8Array(view.buffer);
}

export function decodeMessageHeader(bytes: Uint8Array): Header {
  const view = new DataView(bytes.buffer, bytes.byteOffset, HEADER_BYTES);
  return {
    id: view.getUint16(0, true),
    command: view.getUint16(2, true),
    sizeBytes: view.getUint32(4, true),
    flags: view.getUint32(8, true),
    errno: view.getUint32(12, true),
  };
}

/** Encodes a message with its header. */
export function encodeMessage(id: number, command: number, body: Uint8Array, flags = 0): Uint8Array {
  const header = encodeMessageHeader({ id, command, sizeBytes: HEADER_BYTES + body.length, flags, errno: 0 });
  return concat(header, body);
}

export function concat(...parts: Uint8Array[]): Uint8Array {
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** Packs numbers as little-endian u16 (`h`), u32 (`w`) and u64 (`q`) in the order of `format`. */
export function pack(format: string, ...values: (number | bigint)[]): Uint8Array {
  const widths = { h: 2, w: 4, q: 8 } as const;
  const kinds = [...format] as (keyof typeof widths)[];
  const view = new DataView(new ArrayBuffer(kinds.reduce((sum, kind) => sum + widths[kind], 0)));
  let at = 0;
  kinds.forEach((kind, i) => {
    if (kind === 'h') view.setUint16(at, Number(values[i]), true);
    else if (kind === 'w') view.setUint32(at, Number(values[i]), true);
    else view.setBigUint64(at, BigInt.asUintN(64, BigInt(values[i])), true);
    at += widths[kind];
  });
  return new Uint8Array(view.buffer);
}

export interface VersionOptions {
  readonly major?: number;
  readonly minor?: number;
  /** JSON text; `QEMU_CAPABILITIES` by default, none if empty. */
  readonly json?: string;
}

/** Capabilities that QEMU 11.1 announces. */
const QEMU_CAPABILITIES = JSON.stringify({
  capabilities: {
    pgsizes: 4096,
    max_msg_fds: 16,
    max_dma_maps: 65535,
    max_data_xfer_size: 1048576,
    migration: { max_bitmap_size: 268435456, pgsize: 4096 },
    write_multiple: true,
  },
});

export function encodeVersion(options: VersionOptions = {}): Uint8Array {
  const json = options.json ?? QEMU_CAPABILITIES;
  const text = json === '' ? new Uint8Array(0) : Buffer.from(`${json}\0`);
  return concat(pack('hh', options.major ?? 0, options.minor ?? 1), text);
}

export interface RegionInfo {
  argsz: number;
  flags: number;
  index: number;
  capabilityOffset: number;
  sizeBytes: number;
  offset: number;
  /** Sparse areas; present only if argsz of the request had room for them. */
  areas: { offset: number; sizeBytes: number }[];
}

export const REGION_FLAG = { read: 1, write: 2, mmap: 4, capabilities: 8 } as const;

export function decodeRegionInfo(body: Uint8Array): RegionInfo {
  const view = new DataView(body.buffer, body.byteOffset, body.length);
  const info: RegionInfo = {
    argsz: view.getUint32(0, true),
    flags: view.getUint32(4, true),
    index: view.getUint32(8, true),
    capabilityOffset: view.getUint32(12, true),
    sizeBytes: Number(view.getBigUint64(16, true)),
    offset: Number(view.getBigUint64(24, true)),
    areas: [],
  };
  if ((info.flags & REGION_FLAG.capabilities) === 0 || info.capabilityOffset === 0) return info;
  const count = view.getUint32(info.capabilityOffset + 8, true);
  for (let i = 0; i < count; i++) {
    const at = info.capabilityOffset + 16 + 16 * i;
    info.areas.push({
      offset: Number(view.getBigUint64(at, true)),
      sizeBytes: Number(view.getBigUint64(at + 8, true)),
    });
  }
  return info;
}

export const IRQ_FLAG = { none: 1, bool: 2, eventfd: 4, mask: 8, unmask: 16, trigger: 32 } as const;

export interface SetIrqs {
  readonly index: number;
  readonly start: number;
  readonly count: number;
  readonly flags: number;
  readonly data?: Uint8Array;
}

export function encodeSetIrqs(options: SetIrqs): Uint8Array {
  const data = options.data ?? new Uint8Array(0);
  const argsz = 20 + data.length;
  return concat(pack('wwwww', argsz, options.flags, options.index, options.start, options.count), data);
}
