// SPDX-License-Identifier: Apache-2.0
/**
 * A small device with the interface of QEMU's `edu` (docs/specs/edu.rst): identification, liveness,
 * factorial, interrupts to raise and acknowledge, DMA in both directions through a buffer of 4 KiB.
 * It uses every part of the binding that a device needs. README.md says how to run it, in a clone
 * and from an installed package; LIBVFIO_USER names the library.
 */
import { parseArgs } from 'node:util';
import pino from 'pino';
import {
  loadLibrary,
  msix,
  type PassHook,
  Pump,
  pciExpress,
  powerManagement,
  type RegionHandler,
  VfioUserContext,
  VfioUserError,
} from '../index.ts';

const REGISTER = {
  identity: 0x00,
  liveness: 0x04,
  factorial: 0x08,
  status: 0x20,
  interruptStatus: 0x24,
  interruptRaise: 0x60,
  interruptAcknowledge: 0x64,
  dmaSource: 0x80,
  dmaTarget: 0x88,
  dmaCount: 0x90,
  dmaCommand: 0x98,
} as const;
const STATUS = { computing: 0x01, raiseWhenDone: 0x80 } as const;
const DMA = { start: 0x01, toMemory: 0x02, raiseWhenDone: 0x04 } as const;
const INTERRUPT = { factorial: 0x001, dma: 0x100 } as const;
const BUFFER_START = 0x40000;
const BUFFER_BYTES = 4096;
const MSIX_TABLE = 0x80000;
const MSIX_PENDING = 0x81000;
const BAR_BYTES = 2 ** 20;

/** The device: register writes only mark work; `pass` does it after the sockets are drained. */
class Edu implements RegionHandler, PassHook {
  context: VfioUserContext | undefined;
  readonly #buffer = new Uint8Array(BUFFER_BYTES);
  readonly #registers = new DataView(new ArrayBuffer(0xa0));

  constructor() {
    this.reset();
  }

  reset(): void {
    for (let at = 0; at < this.#registers.byteLength; at += 4) this.#registers.setUint32(at, 0, true);
    this.#registers.setUint32(REGISTER.identity, 0x010000ed, true);
    this.#buffer.fill(0);
  }

  read(offset: number, sizeBytes: number, data: DataView): void {
    if (offset + sizeBytes > this.#registers.byteLength) return;
    if (sizeBytes === 8) data.setUint32(4, this.#registers.getUint32(offset + 4, true), true);
    if (sizeBytes >= 4) data.setUint32(0, this.#registers.getUint32(offset, true), true);
  }

  write(offset: number, sizeBytes: number, data: DataView): void {
    const value = data.getUint32(0, true);
    switch (offset) {
      case REGISTER.liveness:
        return this.#registers.setUint32(offset, ~value, true);
      case REGISTER.factorial:
        this.#registers.setUint32(offset, value, true);
        return this.#registers.setUint32(REGISTER.status, this.#get(REGISTER.status) | STATUS.computing, true);
      case REGISTER.status:
        return this.#registers.setUint32(
          offset,
          (this.#get(offset) & STATUS.computing) | (value & STATUS.raiseWhenDone),
          true,
        );
      case REGISTER.interruptRaise:
        return this.#raise(value);
      case REGISTER.interruptAcknowledge:
        return this.#registers.setUint32(REGISTER.interruptStatus, this.#get(REGISTER.interruptStatus) & ~value, true);
      case REGISTER.dmaSource:
      case REGISTER.dmaTarget:
      case REGISTER.dmaCount:
      case REGISTER.dmaCommand:
        this.#registers.setUint32(offset, value, true);
        if (sizeBytes === 8) this.#registers.setUint32(offset + 4, data.getUint32(4, true), true);
    }
  }

  pass(): boolean {
    if ((this.#get(REGISTER.status) & STATUS.computing) !== 0) this.#computeFactorial();
    if ((this.#get(REGISTER.dmaCommand) & DMA.start) !== 0) this.#transfer();
    return false;
  }

  nextAlarmNs(): number {
    return Number.POSITIVE_INFINITY;
  }

  #get(offset: number): number {
    return this.#registers.getUint32(offset, true);
  }

  #raise(bits: number): void {
    const status = this.#get(REGISTER.interruptStatus) | bits;
    this.#registers.setUint32(REGISTER.interruptStatus, status, true);
    if (status !== 0) this.context?.interrupts.trigger(0);
  }

  #computeFactorial(): void {
    let result = 1;
    for (let factor = this.#get(REGISTER.factorial); factor > 1 && result !== 0; factor--) {
      result = Math.imul(result, factor);
    }
    this.#registers.setUint32(REGISTER.factorial, result, true);
    const status = this.#get(REGISTER.status) & ~STATUS.computing;
    this.#registers.setUint32(REGISTER.status, status, true);
    if ((status & STATUS.raiseWhenDone) !== 0) this.#raise(INTERRUPT.factorial);
  }

  #transfer(): void {
    const command = this.#get(REGISTER.dmaCommand);
    const toMemory = (command & DMA.toMemory) !== 0;
    const count = this.#get64(REGISTER.dmaCount);
    const guest = this.#get64(toMemory ? REGISTER.dmaTarget : REGISTER.dmaSource);
    const inBuffer = this.#get64(toMemory ? REGISTER.dmaSource : REGISTER.dmaTarget) - BUFFER_START;
    const memory = this.context?.memory;
    if (inBuffer >= 0 && inBuffer + count <= BUFFER_BYTES && this.context?.config.busMasterEnabled) {
      if (toMemory) memory?.at(guest).write(this.#buffer, inBuffer, count);
      else memory?.at(guest).read(this.#buffer, inBuffer, count);
    }
    this.#registers.setUint32(REGISTER.dmaCommand, command & ~DMA.start, true);
    if ((command & DMA.raiseWhenDone) !== 0) this.#raise(INTERRUPT.dma);
  }

  #get64(offset: number): number {
    return this.#get(offset) + this.#get(offset + 4) * 2 ** 32;
  }
}

function main(): void {
  const { values } = parseArgs({ options: { socket: { type: 'string' }, library: { type: 'string' } } });
  const library = values.library ?? process.env.LIBVFIO_USER;
  if (values.socket === undefined || library === undefined) {
    throw new VfioUserError('usage: edu --socket PATH, with LIBVFIO_USER (or --library) naming the library');
  }
  const log = pino({ level: process.env.LOG_LEVEL ?? 'info' }, pino.destination({ dest: 2, sync: true }));
  const edu = new Edu();
  const context = new VfioUserContext(loadLibrary(library), {
    socketPath: values.socket,
    ids: { vendor: 0x1234, device: 0x11e8, subsystemVendor: 0x1234, subsystem: 0x11e8, classCode: 0x00ff00 },
    bars: [{ index: 0, sizeBytes: BAR_BYTES, handler: edu }],
    capabilities: [
      powerManagement(),
      pciExpress({ functionLevelReset: true }),
      msix({ vectors: 1, tableBar: 0, tableOffset: MSIX_TABLE, pbaBar: 0, pbaOffset: MSIX_PENDING }),
    ],
    callbacks: { reset: () => edu.reset() },
    log,
  });
  edu.context = context;
  const pump = new Pump();
  pump.add(context);
  pump.onPass(edu);
  pump.start();
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => pump.destroy());
  log.info({ socket: values.socket }, 'serving');
}

try {
  main();
} catch (error) {
  if (!(error instanceof VfioUserError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
