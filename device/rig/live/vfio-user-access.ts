// SPDX-License-Identifier: Apache-2.0
/**
 * The driver library's access to a function in another process: a vfio-user client does what QEMU
 * would. Memory is shared with the device; calls block, and the device runs by itself while a
 * condition is awaited. Used by the tests of two processes.
 */
import { BAR_COLLECT, BAR_PIO, BAR_REGISTERS, PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { CONFIG_REGION, VfioUserClient } from '../../../protocol/vfio-user/client/client.ts';
import { SharedMemory } from '../../../protocol/vfio-user/client/unix-socket.ts';
import { pack } from '../../../protocol/vfio-user/client/wire.ts';
import type { HardwareAccess } from '../driver/hardware-access.ts';

const MEMORY_PAGES = 4096;
const PCI_COMMAND = 4;
const MEMORY_AND_BUS_MASTER = 6;
/** Ends only a wait that would never end: one takes less than a second on an idle machine. */
const PATIENCE_MS = 600_000;
const POLL_MS = 1;
/** Number of consecutive polls without a packet after which a device counts as idle. */
const QUIET_POLLS = 20;
const PACKET_COUNTERS = [CSR.PORT_TRANSMIT_PACKETS, CSR.PORT_RECEIVE_PACKETS].flatMap((at) => [at, at + 8]);
const pause = new Int32Array(new SharedArrayBuffer(4));

export class VfioUserAccess implements HardwareAccess {
  readonly memoryAddress = 0x12_3456_0000;
  readonly memoryBytes = MEMORY_PAGES * PAGE_BYTES;
  readHigh = 0;
  readonly #client: VfioUserClient;
  readonly #memory: ArrayBuffer;

  /** Attaches to the device at `socketPath` and gives it memory. */
  constructor(socketPath: string) {
    this.#client = VfioUserClient.connect(socketPath, PATIENCE_MS);
    const memory = new SharedMemory(this.memoryBytes);
    this.#memory = memory.map();
    this.#client.mapDma({ address: this.memoryAddress, sizeBytes: this.memoryBytes, fd: memory.fd });
    memory.close();
    this.#client.write16(CONFIG_REGION, PCI_COMMAND, MEMORY_AND_BUS_MASTER);
  }

  readRegister(offset: number, sizeBytes: number): number {
    const bytes = this.#client.readRegion(BAR_REGISTERS, offset, sizeBytes);
    const view = new DataView(bytes.buffer, bytes.byteOffset);
    if (sizeBytes < 4) return sizeBytes === 2 ? view.getUint16(0, true) : view.getUint8(0);
    if (sizeBytes === 8) this.readHigh = view.getUint32(4, true);
    return view.getUint32(0, true);
  }

  writeRegister(offset: number, sizeBytes: number, low: number, high: number): void {
    this.#client.postWrite(BAR_REGISTERS, offset, pack('ww', low, high).subarray(0, sizeBytes));
  }

  writeCollect(offset: number, sizeBytes: number, low: number, high: number): void {
    this.#client.postWrite(BAR_COLLECT, offset, pack('ww', low, high).subarray(0, sizeBytes));
  }

  writePio(offset: number, sizeBytes: number, low: number, high: number): void {
    this.#client.postWrite(BAR_PIO, offset, pack('ww', low, high).subarray(0, sizeBytes));
  }

  view(address: number, lengthBytes: number): DataView {
    return new DataView(this.#memory, address - this.memoryAddress, lengthBytes);
  }

  waitFor(condition: () => boolean, what: string): void {
    for (const start = performance.now(); !condition(); Atomics.wait(pause, 0, 0, POLL_MS)) {
      if (performance.now() - start > PATIENCE_MS) throw new Error(`no sign of ${what} in ${PATIENCE_MS} ms`);
    }
  }

  /** Waits until no packet was sent or received for some polls. */
  settle(): void {
    let before = '';
    let quiet = 0;
    this.waitFor(() => {
      const now = PACKET_COUNTERS.map((at) => this.readRegister(at, 8)).join();
      quiet = now === before ? quiet + 1 : 0;
      before = now;
      return quiet >= QUIET_POLLS;
    }, 'rest');
  }

  close(): void {
    this.#client.close();
  }
}
