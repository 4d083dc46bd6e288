// SPDX-License-Identifier: Apache-2.0
/**
 * The registers of a function and the units behind them, in the order of the table; registers of
 * collect buffers, doorbells, lanes and send contexts have files of their own beside this one.
 * Called by adapter/pcie-function.ts.
 */
import { highDword, joinDwords, lowDword } from '../../../protocol/layout/dwords.ts';
import {
  IDENTITY_MAGIC,
  LAYOUT_HASH_HIGH,
  LAYOUT_HASH_LOW,
  VECTOR_COUNT,
} from '../../../protocol/layout/gen/constants.gen.ts';
import {
  CSR,
  getCsrDeviceControlEnable,
  getCsrDeviceControlReset,
  getCsrInterruptTriggerVector,
  setCsrDeviceStatusAdapterDisabled,
  setCsrDeviceStatusBusMaster,
  setCsrDeviceStatusEnabled,
  setCsrDeviceStatusReady,
  setCsrDeviceStatusResetCount,
} from '../../../protocol/layout/gen/registers.gen.ts';
import { FaultKind, FaultObject } from '../../../protocol/layout/gen/values.gen.ts';
import type { Port } from '../../fabric/port/port.ts';
import { PHYSICAL_FUNCTION } from '../function/underlying-function.ts';
import { attachCollectRegisters } from './collect-registers.ts';
import { attachDoorbellRegisters, resetDoorbellRegisters } from './doorbell-registers.ts';
import { attachLaneRegisters } from './lane-registers.ts';
import { attachReadRegisters } from './read-registers.ts';
import type { RegisterParts } from './register-parts.ts';
import { attachSendContextRegisters } from './send-context-registers.ts';

const INTERFACE_VERSION = 0x00010000;
/** Writing it to FIRST_FAULT_KIND clears the first fault. */
const ALL_ONES = 0xffffffff;
const NS_PER_SECOND = 1_000_000_000;

export function attachFunctionRegisters(parts: RegisterParts): void {
  attachIdentity(parts);
  attachControl(parts);
  attachDoorbells(parts);
  attachAddressHandles(parts);
  attachCollectRegisters(parts);
  attachDoorbellRegisters(parts);
  attachCounters(parts);
  attachLaneRegisters(parts);
  attachReadRegisters(parts);
  attachPorts(parts);
  attachSendContextRegisters(parts);
  attachFaults(parts);
  resetDoorbellRegisters(parts);
}

function attachIdentity(parts: RegisterParts): void {
  fixed(parts, CSR.IDENTITY, IDENTITY_MAGIC);
  fixed(parts, CSR.INTERFACE_VERSION, INTERFACE_VERSION);
  parts.registers.attach(CSR.LAYOUT_HASH, {
    read: () => {
      parts.registers.high = LAYOUT_HASH_HIGH;
      return LAYOUT_HASH_LOW;
    },
  });
  fixed(parts, CSR.FUNCTION_NUMBER, parts.underlying.number);
  fixed(parts, CSR.PORT_COUNT, parts.ports.length);
  fixed(parts, CSR.DEDICATED_COUNT, parts.collect.dedicated.length);
  fixed(parts, CSR.DEDICATED_OFFSET, parts.collect.dedicatedOffset);
  fixed(parts, CSR.VECTOR_COUNT, VECTOR_COUNT);
  fixed(parts, CSR.CLOCK_FREQUENCY_HZ, NS_PER_SECOND);
}

function attachControl(parts: RegisterParts): void {
  const { registers } = parts;
  const { localTime } = parts.underlying;
  registers.attach(CSR.DEVICE_CONTROL, {
    read: () => (parts.underlying.enabled ? 1 : 0),
    write: (_index, low) => {
      if (getCsrDeviceControlReset(low)) parts.reset('software');
      else parts.underlying.enabled = getCsrDeviceControlEnable(low) === 1;
    },
  });
  registers.attach(CSR.DEVICE_STATUS, {
    read: () => {
      let status = setCsrDeviceStatusReady(0, 1);
      status = setCsrDeviceStatusEnabled(status, parts.underlying.enabled ? 1 : 0);
      status = setCsrDeviceStatusBusMaster(status, parts.underlying.dma.busMaster ? 1 : 0);
      status = setCsrDeviceStatusAdapterDisabled(status, parts.shared.disabled ? 1 : 0);
      return setCsrDeviceStatusResetCount(status, parts.underlying.resetCount);
    },
  });
  const readTime = (): number => {
    localTime.sample();
    registers.high = localTime.high;
    return localTime.low;
  };
  registers.attach(CSR.LOCAL_TIME, {
    read: readTime,
    write: (_index, low, high) => localTime.set(low, high),
  });
  registers.attach(CSR.USER_TIME, { read: readTime });
  registers.attach(CSR.ADAPTER_CONTROL, {
    read: () => parts.shared.control,
    write: (_index, low) => {
      if (parts.underlying.number === PHYSICAL_FUNCTION) parts.shared.control = low;
      else
        parts.underlying.faults.reportNumber(
          FaultKind.NOT_PERMITTED,
          FaultObject.FUNCTION,
          parts.underlying.number,
          CSR.ADAPTER_CONTROL,
        );
    },
  });
  registers.attach(CSR.INTERRUPT_TRIGGER, {
    write: (_index, low) => {
      const vector = getCsrInterruptTriggerVector(low);
      if (vector < VECTOR_COUNT) parts.underlying.msix.request(vector);
      else
        parts.underlying.faults.reportNumber(
          FaultKind.REGISTER_RESERVED,
          FaultObject.VECTOR,
          vector,
          CSR.INTERRUPT_TRIGGER,
        );
    },
  });
}

function attachDoorbells(parts: RegisterParts): void {
  const { registers } = parts;
  registers.attach(CSR.CQ_NOTIFY, { write: (_index, low, high) => parts.eventDoorbells.notify(low, high) });
  registers.attach(CSR.EQ_CONSUMER, { write: (_index, low, high) => parts.eventDoorbells.consumeEvents(low, high) });
  registers.attach(CSR.SEND_DOORBELL, { write: (_index, low, high) => parts.ringExplicit(low, high) });
}

/**
 * Copies the table of address handles to the function: the transport needs it for each datagram.
 */
function attachAddressHandles({ registers, underlying }: RegisterParts): void {
  registers.attach(CSR.ADDRESS_HANDLE_TABLE, {
    write: (_index, low, high) => {
      underlying.addressHandleTable = joinDwords(low, high);
    },
  });
  registers.attach(CSR.ADDRESS_HANDLE_COUNT, {
    write: (_index, low) => {
      underlying.addressHandleCount = low;
    },
  });
}

function attachCounters(parts: RegisterParts): void {
  const { counters } = parts.underlying;
  const sources: [number, () => number][] = [
    [CSR.MANAGEMENT_COMMANDS, () => counters.managementCommands],
    [CSR.MANAGEMENT_REFUSED, () => counters.managementRefused],
    [CSR.DOORBELLS_EXPLICIT, () => counters.doorbellsExplicit],
    [CSR.DOORBELLS_IMPLICIT, () => counters.doorbellsImplicit],
    [CSR.DOORBELLS_IDLE, () => counters.doorbellsIdle],
    [CSR.COMMANDS_FETCHED, () => counters.commandsFetched],
    [CSR.COMMANDS_COLLECTED, () => counters.commandsCollected],
    [CSR.COMMANDS_STALE, () => counters.commandsStale],
  ];
  for (const [offset, read] of sources) parts.registers.attach(offset, { read });
}

/** Registers of two ports: index of the first, state, LID, packets sent, received, dropped. */
const PORT_BLOCKS = [
  [0, CSR.PORT_STATE, CSR.PORT_LID, CSR.PORT_TRANSMIT_PACKETS, CSR.PORT_RECEIVE_PACKETS, CSR.PORT_RECEIVE_DROPS],
  [
    2,
    CSR.UPPER_PORT_STATE,
    CSR.UPPER_PORT_LID,
    CSR.UPPER_PORT_TRANSMIT_PACKETS,
    CSR.UPPER_PORT_RECEIVE_PACKETS,
    CSR.UPPER_PORT_RECEIVE_DROPS,
  ],
] as const;

function attachPorts(parts: RegisterParts): void {
  const { registers, ports } = parts;
  const count = (value = 0): number => {
    registers.high = highDword(value);
    return lowDword(value);
  };
  for (const [first, state, lid, sent, received, drops] of PORT_BLOCKS) {
    const at = (index: number): Port | undefined => ports[first + index];
    registers.attach(state, { read: (index) => at(index)?.state ?? 0 });
    registers.attach(lid, { read: (index) => at(index)?.lid ?? 0 });
    registers.attach(sent, { read: (index) => count(at(index)?.transmitPackets) });
    registers.attach(received, { read: (index) => count(at(index)?.receivePackets) });
    registers.attach(drops, { read: (index) => count(at(index)?.receiveDrops) });
  }
}

function attachFaults(parts: RegisterParts): void {
  const { registers } = parts;
  const { faults } = parts.underlying;
  registers.attach(CSR.FIRST_FAULT_KIND, {
    read: () => faults.firstKind,
    write: (_index, low) => {
      if (low === ALL_ONES) faults.clearFirst();
    },
  });
  registers.attach(CSR.FIRST_FAULT_OBJECT, { read: () => faults.firstObject });
  registers.attach(CSR.FIRST_FAULT_OBJECT_KIND, { read: () => faults.firstObjectKind });
  registers.attach(CSR.FIRST_FAULT_ADDRESS, {
    read: () => {
      registers.high = faults.firstAddressHigh;
      return faults.firstAddressLow;
    },
  });
  registers.attach(CSR.FIRST_FAULT_TIME, {
    read: () => {
      registers.high = faults.firstTimeHigh;
      return faults.firstTimeLow;
    },
  });
  registers.attach(CSR.FAULT_COUNT, { read: (kind) => faults.counts[kind] });
}

function fixed(parts: RegisterParts, offset: number, value: number): void {
  parts.registers.attach(offset, { read: () => value });
}
