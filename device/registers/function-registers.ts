// SPDX-License-Identifier: Apache-2.0
/** Connects the registers of a function to its units: one line per register, in the order of the table. */
import {
  IDENTITY_MAGIC,
  LAYOUT_HASH_HIGH,
  LAYOUT_HASH_LOW,
  VECTOR_COUNT,
} from '../../protocol/layout/gen/constants.gen.ts';
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
} from '../../protocol/layout/gen/registers.gen.ts';
import { FaultKind } from '../../protocol/layout/gen/values.gen.ts';
import type { AdapterFunction } from '../adapter/pcie-function.ts';
import { DEDICATED_COLLECT_BUFFERS } from '../collect/geometry.ts';
import { attachCollectRegisters } from './collect-registers.ts';
import { attachDoorbellRegisters, resetDoorbellRegisters } from './doorbell-registers.ts';
import { attachLaneRegisters } from './lane-registers.ts';
import { attachSendContextRegisters } from './send-context-registers.ts';

const INTERFACE_VERSION = 0x00010000;
const NS_PER_SECOND = 1_000_000_000;
const DWORD = 0x100000000;
const PHYSICAL_FUNCTION = 0;

export function attachFunctionRegisters(owner: AdapterFunction): void {
  attachIdentity(owner);
  attachControl(owner);
  attachDoorbells(owner);
  attachCollectRegisters(owner);
  attachDoorbellRegisters(owner);
  attachCounters(owner);
  attachLaneRegisters(owner);
  attachPorts(owner);
  attachSendContextRegisters(owner);
  attachFaults(owner);
  resetDoorbellRegisters(owner);
}

function attachIdentity(owner: AdapterFunction): void {
  fixed(owner, CSR.IDENTITY, IDENTITY_MAGIC);
  fixed(owner, CSR.INTERFACE_VERSION, INTERFACE_VERSION);
  owner.registers.attach(CSR.LAYOUT_HASH, {
    read: () => {
      owner.registers.high = LAYOUT_HASH_HIGH;
      return LAYOUT_HASH_LOW;
    },
  });
  fixed(owner, CSR.FUNCTION_NUMBER, owner.number);
  fixed(owner, CSR.PORT_COUNT, owner.adapter.ports.length);
  fixed(owner, CSR.DEDICATED_COUNT, DEDICATED_COLLECT_BUFFERS);
  fixed(owner, CSR.DEDICATED_OFFSET, owner.collect.dedicatedOffset);
  fixed(owner, CSR.VECTOR_COUNT, VECTOR_COUNT);
  fixed(owner, CSR.CLOCK_FREQUENCY_HZ, NS_PER_SECOND);
}

function attachControl(owner: AdapterFunction): void {
  const { registers, localTime } = owner;
  registers.attach(CSR.DEVICE_CONTROL, {
    read: () => (owner.enabled ? 1 : 0),
    write: (_index, low) => {
      if (getCsrDeviceControlReset(low)) owner.reset('software');
      else owner.enabled = getCsrDeviceControlEnable(low) === 1;
    },
  });
  registers.attach(CSR.DEVICE_STATUS, {
    read: () => {
      let status = setCsrDeviceStatusReady(0, 1);
      status = setCsrDeviceStatusEnabled(status, owner.enabled ? 1 : 0);
      status = setCsrDeviceStatusBusMaster(status, owner.dma.busMaster ? 1 : 0);
      status = setCsrDeviceStatusAdapterDisabled(status, owner.adapter.disabled ? 1 : 0);
      return setCsrDeviceStatusResetCount(status, owner.resetCount & 0xffff);
    },
  });
  registers.attach(CSR.LOCAL_TIME, {
    read: () => {
      localTime.sample();
      registers.high = localTime.high;
      return localTime.low;
    },
    write: (_index, low, high) => localTime.set(low, high),
  });
  registers.attach(CSR.ADAPTER_CONTROL, {
    read: () => owner.adapter.control,
    write: (_index, low) => {
      if (owner.number === PHYSICAL_FUNCTION) owner.adapter.control = low;
      else owner.faults.report(FaultKind.NOT_PERMITTED, owner.number, CSR.ADAPTER_CONTROL);
    },
  });
  registers.attach(CSR.INTERRUPT_TRIGGER, {
    write: (_index, low) => {
      const vector = getCsrInterruptTriggerVector(low);
      if (vector < VECTOR_COUNT) owner.msix.request(vector);
      else owner.faults.report(FaultKind.REGISTER_RESERVED, vector, CSR.INTERRUPT_TRIGGER);
    },
  });
  registers.attach(CSR.DEDICATED_LOCK, {
    read: () => {
      if (owner.dedicatedLocked) return 0;
      owner.dedicatedLocked = true;
      return 1;
    },
    write: () => {
      owner.dedicatedLocked = false;
    },
  });
}

function attachDoorbells(owner: AdapterFunction): void {
  const { registers } = owner;
  registers.attach(CSR.CQ_NOTIFY, { write: (_index, low, high) => owner.eventDoorbells.notify(low, high) });
  registers.attach(CSR.EQ_CONSUMER, { write: (_index, low, high) => owner.eventDoorbells.consumeEvents(low, high) });
  registers.attach(CSR.SEND_DOORBELL, { write: (_index, low, high) => owner.ringExplicit(low, high) });
}

function attachCounters(owner: AdapterFunction): void {
  const { counters } = owner;
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
  for (const [offset, read] of sources) owner.registers.attach(offset, { read });
}

function attachPorts(owner: AdapterFunction): void {
  const { registers } = owner;
  const { ports } = owner.adapter;
  const count = (value: number): number => {
    registers.high = Math.floor(value / DWORD);
    return value % DWORD;
  };
  registers.attach(CSR.PORT_STATE, { read: (index) => ports[index].state });
  registers.attach(CSR.PORT_LID, { read: (index) => ports[index].lid });
  registers.attach(CSR.PORT_TRANSMIT_PACKETS, { read: (index) => count(ports[index].transmitPackets) });
  registers.attach(CSR.PORT_RECEIVE_PACKETS, { read: (index) => count(ports[index].receivePackets) });
  registers.attach(CSR.PORT_RECEIVE_DROPS, { read: (index) => count(ports[index].receiveDrops) });
}

function attachFaults(owner: AdapterFunction): void {
  const { registers, faults } = owner;
  registers.attach(CSR.FIRST_FAULT_KIND, {
    read: () => faults.firstKind,
    write: (_index, low) => {
      if (low === DWORD - 1) faults.clearFirst();
    },
  });
  registers.attach(CSR.FIRST_FAULT_OBJECT, { read: () => faults.firstObject });
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

function fixed(owner: AdapterFunction, offset: number, value: number): void {
  owner.registers.attach(offset, { read: () => value });
}
