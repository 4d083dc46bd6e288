// SPDX-License-Identifier: Apache-2.0
/**
 * The device under test, in its own process (device-program.ts). Its registers count the callbacks,
 * do DMA, raise vectors, and misbehave on purpose; `PROBE` has their offsets.
 * Usage: probe-device.ts --socket PATH [--socket PATH ...] [--quiesce] [--mappable]
 *   [--attach-timeout MS]
 */
import { parseArgs } from 'node:util';
import pino from 'pino';
import { SharedMemory } from '../client/unix-socket.ts';
import {
  advancedErrorReporting,
  deviceSerialNumber,
  loadLibrary,
  msix,
  Pump,
  pciExpress,
  powerManagement,
  type RegionHandler,
  VfioUserContext,
  VfioUserError,
} from '../index.ts';
import { libraryPath } from './library.ts';
import { COUNTER, DMA_OP, PROBE } from './probe-layout.ts';

const RAM_BYTES = 2 ** 20;

class Probe implements RegionHandler {
  readonly counts = new Uint32Array(Object.keys(COUNTER).length);
  context: VfioUserContext | undefined;
  readonly #ram = new DataView(new ArrayBuffer(PROBE.ramBytes));
  readonly #dma = new DataView(new ArrayBuffer(0x20));
  #triggered = 0;

  count(counter: keyof typeof COUNTER): void {
    this.counts[COUNTER[counter]]++;
  }

  read(offset: number, sizeBytes: number, data: DataView): void {
    if (offset === PROBE.throws) throw new Error('read of the throwing register');
    if (offset >= PROBE.ram && offset < PROBE.ram + PROBE.ramBytes) {
      for (let i = 0; i < sizeBytes; i++) data.setUint8(i, this.#ram.getUint8(offset - PROBE.ram + i));
    } else if (sizeBytes === 4) data.setUint32(0, this.#get(offset), true);
  }

  write(offset: number, sizeBytes: number, data: DataView): void {
    if (offset === PROBE.throws) throw new Error('write of the throwing register');
    if (offset >= PROBE.ram && offset < PROBE.ram + PROBE.ramBytes) {
      for (let i = 0; i < sizeBytes; i++) this.#ram.setUint8(offset - PROBE.ram + i, data.getUint8(i));
    } else if (offset >= PROBE.dma && offset < PROBE.dma + 0x20) {
      this.#dma.setUint32(offset - PROBE.dma, data.getUint32(0, true), true);
      if (offset === PROBE.dmaOp) this.#doDma(data.getUint32(0, true));
    } else if (offset === PROBE.trigger) {
      this.#triggered = this.context?.interrupts.trigger(data.getUint32(0, true)) ? 1 : 0;
    } else if (offset === PROBE.dropClient) {
      setImmediate(() => this.context?.dropClient('it requested this'));
    }
  }

  #get(offset: number): number {
    if (offset === PROBE.identity) return PROBE.identityValue;
    if (offset === PROBE.trigger) return this.#triggered;
    if (offset >= PROBE.dma && offset < PROBE.dma + 0x20) return this.#dma.getUint32(offset - PROBE.dma, true);
    if (offset >= PROBE.pendingBits && offset < PROBE.pendingBits + 8) return 0xa5a5a5a5;
    if (offset === PROBE.counters + 4 * COUNTER.exceptions) return this.context?.counters.exceptions ?? 0;
    if (offset === PROBE.counters + 4 * COUNTER.regions) return this.context?.memory.regions.length ?? 0;
    if (offset === PROBE.counters + 4 * COUNTER.requests) return this.context?.counters.requests ?? 0;
    return this.counts[(offset - PROBE.counters) / 4] ?? 0;
  }

  #doDma(op: number): void {
    const memory = this.context?.memory;
    if (memory === undefined) return;
    const dma = this.#dma;
    const address = dma.getUint32(0, true) + dma.getUint32(4, true) * 2 ** 32;
    const length = dma.getUint32(8, true);
    const value = dma.getUint32(PROBE.dmaValue - PROBE.dma, true);
    const buffer = new Uint8Array(Math.min(length, 2 ** 26));
    let ok = false;
    let result = 0;
    if (op === DMA_OP.sum) {
      ok = memory.at(address).read(buffer, 0, length);
      for (const byte of buffer) result = (result + byte) >>> 0;
    } else if (op === DMA_OP.fill) ok = memory.at(address).write(buffer.fill(value), 0, length);
    else if (op === DMA_OP.read32) {
      result = memory.at(address).readU32();
      ok = result >= 0;
    } else if (op === DMA_OP.write32) ok = memory.at(address).writeU32(value);
    else if (op === DMA_OP.write64) ok = memory.at(address).writeU64(value, ~value >>> 0);
    dma.setUint32(PROBE.dmaOk - PROBE.dma, ok ? 1 : 0, true);
    dma.setUint32(PROBE.dmaResult - PROBE.dma, result, true);
  }
}

class Ram implements RegionHandler {
  readonly #bytes = new Uint8Array(RAM_BYTES);

  read(offset: number, sizeBytes: number, data: DataView): void {
    for (let i = 0; i < sizeBytes; i++) data.setUint8(i, this.#bytes[offset + i]);
  }

  write(offset: number, sizeBytes: number, data: DataView): void {
    for (let i = 0; i < sizeBytes; i++) this.#bytes[offset + i] = data.getUint8(i);
  }
}

function serve(socketPath: string, pump: Pump, log: pino.Logger, options: { quiesce?: boolean; mappable?: boolean }) {
  const probe = new Probe();
  const file = options.mappable ? new SharedMemory(32 * 2 ** 20) : undefined;
  const areas = [
    { offset: 0x1000, sizeBytes: 0x1000 },
    { offset: 0x10000, sizeBytes: 0x2000 },
  ];
  const context: VfioUserContext = new VfioUserContext(loadLibrary(libraryPath()), {
    socketPath,
    ids: {
      vendor: 0x1bad,
      device: 0xcafe,
      subsystemVendor: 0x1bae,
      subsystem: 0xcaff,
      revision: 7,
      classCode: 0x020700,
    },
    bars: [
      { index: 0, sizeBytes: 65536, wide: true, handler: probe },
      { index: 2, sizeBytes: RAM_BYTES, wide: true, prefetchable: true, handler: new Ram() },
      {
        index: 4,
        sizeBytes: 32 * 2 ** 20,
        wide: true,
        prefetchable: true,
        handler: { read: () => undefined, write: () => undefined },
        ...(file === undefined ? {} : { mappable: { fd: file.fd, areas } }),
      },
    ],
    capabilities: [
      powerManagement(),
      pciExpress({ functionLevelReset: true }),
      msix({
        vectors: PROBE.vectors,
        tableBar: 0,
        tableOffset: PROBE.vectorTable,
        pbaBar: 0,
        pbaOffset: PROBE.pendingBits,
      }),
      advancedErrorReporting(),
      deviceSerialNumber(0x12345678, 0x9abcdef0),
    ],
    callbacks: {
      reset: (kind) => probe.count(kind),
      busMaster: (enabled) => probe.count(enabled ? 'busMasterOn' : 'busMasterOff'),
      msix: (enabled) => probe.count(enabled ? 'msixOn' : 'msixOff'),
      vectors: (_first, _count, deliverable) => probe.count(deliverable ? 'vectorsOn' : 'vectorsOff'),
      dmaRegister: () => probe.count('dmaRegister'),
      dmaUnregister: ({ address }) => {
        probe.count('dmaUnregister');
        if (probe.context?.memory.at(address).covers(1, false)) probe.count('readBeforeUnmap');
      },
      attached: () => probe.count('attached'),
      detached: () => probe.count('detached'),
      ...(options.quiesce ? { quiesce: () => quiesceLater(probe) } : {}),
    },
    log,
  });
  probe.context = context;
  pump.add(context);
}

function quiesceLater(probe: Probe): boolean {
  probe.count('quiesce');
  setTimeout(() => probe.context?.quiesced(), 5);
  return false;
}

function main(): void {
  const { values } = parseArgs({
    options: {
      socket: { type: 'string', multiple: true },
      quiesce: { type: 'boolean' },
      mappable: { type: 'boolean' },
      'attach-timeout': { type: 'string' },
    },
  });
  const log = pino({ level: process.env.LOG_LEVEL ?? 'info' }, pino.destination({ dest: 2, sync: true }));
  const pump = new Pump({ attachTimeoutMs: Number(values['attach-timeout'] ?? 3000) });
  for (const path of values.socket ?? []) serve(path, pump, log, values as object);
  pump.start();
  process.once('SIGTERM', () => pump.destroy());
  log.info('serving');
}

try {
  main();
} catch (error) {
  if (!(error instanceof VfioUserError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
