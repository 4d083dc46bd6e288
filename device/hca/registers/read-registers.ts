// SPDX-License-Identifier: Apache-2.0
/**
 * The registers of reads of guest memory (US 8,484,392 par. 39, 42; US 9,069,485 par. 74): their
 * time and number for the whole adapter, which the physical function sets, and the commands and
 * writes of the function that wait. Called by function-registers.ts.
 */
import { CSR } from '../../../protocol/layout/gen/registers.gen.ts';
import { FaultKind, FaultObject } from '../../../protocol/layout/gen/values.gen.ts';
import { PHYSICAL_FUNCTION } from '../function/underlying-function.ts';
import type { RegisterParts } from './register-parts.ts';

export function attachReadRegisters(parts: RegisterParts): void {
  const { registers, underlying, doorbells, shared } = parts;
  const { dmaTiming, engine } = shared;
  attach(parts, CSR.DMA_LATENCY, {
    read: () => dmaTiming.latencyNs,
    write: (value) => {
      dmaTiming.latencyNs = value;
    },
  });
  attach(parts, CSR.PIPELINE_TIME, {
    read: () => dmaTiming.pipelineNs,
    write: (value) => {
      dmaTiming.pipelineNs = value;
    },
  });
  attach(parts, CSR.DMA_CONTEXTS, {
    read: () => dmaTiming.contexts,
    write: (value) => {
      dmaTiming.contexts = Math.max(1, value);
    },
  });
  const isPhysical = underlying.number === PHYSICAL_FUNCTION;
  registers.attach(CSR.DMA_CONTEXTS_USED, { read: () => (isPhysical ? dmaTiming.pool.used : 0) });
  registers.attach(CSR.PIPELINE_COMMANDS, { read: () => engine.pipeline.stage.functionCounts[underlying.number] });
  registers.attach(CSR.COLLECT_HELD, { read: () => doorbells.held.count });
  registers.attach(CSR.LEVEL_MISMATCHES, { read: () => underlying.counters.levelMismatches });
}

interface Setting {
  read(): number;
  write(value: number): void;
}

/** A setting of the whole adapter: a write of a virtual function is a fault. */
function attach({ registers, underlying }: RegisterParts, offset: number, setting: Setting): void {
  const { number, faults } = underlying;
  registers.attach(offset, {
    read: () => setting.read(),
    write: (_index, low) => {
      if (number === PHYSICAL_FUNCTION) setting.write(low);
      else faults.reportNumber(FaultKind.NOT_PERMITTED, FaultObject.FUNCTION, number, offset);
    },
  });
}
