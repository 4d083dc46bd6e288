// SPDX-License-Identifier: Apache-2.0
/**
 * The PCIe endpoint of an mthca device: the register BAR with command register, reset, error buffer
 * and the registers of event queues, and the user access regions. Values are big-endian in the BAR:
 * drivers swap them, and so does this file. Hosts call it through `FunctionPort`.
 */
import { swapBytes } from '../../../protocol/layout/dwords.ts';
import { FaultKind } from '../../../protocol/layout/gen/values.gen.ts';
import { COMMAND_REGISTER_SIZE } from '../../../protocol/mthca/gen/command-register.gen.ts';
import {
  CLEAR_INTERRUPT_OFFSET,
  EQ_ARM_OFFSET,
  EQ_CONSUMER_OFFSET,
  ERROR_BUFFER_OFFSET,
  HCR_OFFSET,
  MSIX_PBA_OFFSET,
  RESET_OFFSET,
} from '../../../protocol/mthca/gen/constants.gen.ts';
import { NO_OBJECT } from '../../hca/function/fault-log.ts';
import type { UnderlyingFunction } from '../../hca/function/underlying-function.ts';
import type { FunctionPort } from '../../host.ts';
import { UndividedFunction } from '../shared/undivided-function.ts';
import type { CommandProcessor } from './commands/command-processor.ts';
import type { Hca } from './hca/hca.ts';
import type { UserAccess } from './user-access.ts';

const DWORD_BYTES = 4;
const EQ_CONSUMER_BYTES = 8;
const CLEAR_INTERRUPT_BYTES = 8;
/** EQs whose bits are in one dword of the arm register. */
const EQS_PER_DWORD = 32;
const RESET_VALUE = 1;

export class MthcaFunction extends UndividedFunction implements FunctionPort {
  readonly userAccess: UserAccess;
  readonly #hca: Hca;
  readonly #processor: CommandProcessor;
  readonly #errorBuffer: DataView;

  constructor(underlying: UnderlyingFunction, hca: Hca, processor: CommandProcessor, userAccess: UserAccess) {
    super(underlying, hca);
    this.#hca = hca;
    this.#processor = processor;
    this.userAccess = userAccess;
    this.#errorBuffer = new DataView(hca.errorBuffer.buffer);
  }

  readRegister(offset: number, sizeBytes: number): number {
    this.underlying.dma.loans.end();
    this.readHigh = sizeBytes > DWORD_BYTES ? this.#readDword(offset + DWORD_BYTES, sizeBytes) : 0;
    return this.#readDword(offset, sizeBytes);
  }

  writeRegister(offset: number, sizeBytes: number, low: number, high: number): void {
    const faults = this.underlying.faults.duringWrite(sizeBytes, low, high);
    if (sizeBytes < DWORD_BYTES || offset % DWORD_BYTES !== 0) {
      faults.report(FaultKind.REGISTER_WIDTH, NO_OBJECT, offset);
      return;
    }
    this.underlying.dma.loans.end();
    this.#writeDword(offset, low >>> 0);
    if (sizeBytes > DWORD_BYTES) this.#writeDword(offset + DWORD_BYTES, high >>> 0);
    faults.endAccess();
  }

  /** The second BAR has the user access regions. */
  writeCollect(offset: number, sizeBytes: number, low: number, high: number): void {
    const faults = this.underlying.faults.duringWrite(sizeBytes, low, high);
    this.userAccess.write(offset, sizeBytes, low, high);
    faults.endAccess();
  }

  protected override resetDevice(): void {
    this.#processor.reset();
    this.#hca.reset();
  }

  #readDword(offset: number, sizeBytes: number): number {
    if (offset % DWORD_BYTES !== 0) return 0;
    const inHcr = offset - HCR_OFFSET;
    if (inHcr >= 0 && inHcr < COMMAND_REGISTER_SIZE) return this.#processor.read(inHcr);
    const inErrors = offset - ERROR_BUFFER_OFFSET;
    if (inErrors >= 0 && inErrors < this.#errorBuffer.byteLength) return this.#errorBuffer.getUint32(inErrors, true);
    const { pending } = this.underlying.msix;
    const word = (offset - MSIX_PBA_OFFSET) / DWORD_BYTES;
    if (word >= 0 && word < pending.length) return pending[word];
    this.underlying.faults.duringRead(sizeBytes).report(FaultKind.REGISTER_RESERVED, NO_OBJECT, offset);
    return 0;
  }

  #writeDword(offset: number, value: number): void {
    const inHcr = offset - HCR_OFFSET;
    if (inHcr >= 0 && inHcr < COMMAND_REGISTER_SIZE) this.#processor.write(inHcr, value);
    else if (offset === EQ_ARM_OFFSET) this.#arm(EQS_PER_DWORD, swapBytes(value));
    else if (offset === EQ_ARM_OFFSET + DWORD_BYTES) this.#arm(0, swapBytes(value));
    else if (this.#isConsumerIndex(offset)) this.#setConsumerIndex(offset, swapBytes(value));
    else if (offset === RESET_OFFSET && swapBytes(value) === RESET_VALUE) this.reset('software');
    else if (offset < CLEAR_INTERRUPT_OFFSET || offset >= CLEAR_INTERRUPT_OFFSET + CLEAR_INTERRUPT_BYTES)
      this.underlying.faults.report(FaultKind.REGISTER_RESERVED, NO_OBJECT, offset);
  }

  /** `first`: number of the EQ of bit 0. */
  #arm(first: number, mask: number): void {
    const { eventQueues } = this.#hca;
    for (let bit = 0; bit < EQS_PER_DWORD; bit++)
      if ((mask >>> bit) & 1 && eventQueues.hasIndex(first + bit)) eventQueues.get(first + bit)?.arm();
  }

  #isConsumerIndex(offset: number): boolean {
    const inIndices = offset - EQ_CONSUMER_OFFSET;
    return inIndices >= 0 && inIndices < EQ_CONSUMER_BYTES * 2 ** this.#hca.limits.logEqs;
  }

  /** The second dword of an index is reserved. */
  #setConsumerIndex(offset: number, index: number): void {
    const inIndices = offset - EQ_CONSUMER_OFFSET;
    if (inIndices % EQ_CONSUMER_BYTES !== 0) return;
    this.#hca.eventQueues.get(inIndices / EQ_CONSUMER_BYTES)?.setConsumerIndex(index);
  }
}
