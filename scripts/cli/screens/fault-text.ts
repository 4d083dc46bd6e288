// SPDX-License-Identifier: Apache-2.0
/**
 * The first fault of a function in words: its object by kind and number, its address by the meaning
 * for this kind of fault, and the access that caused it. Called by the status screen and `vuhca
 * explain`.
 */
import type { FunctionReport } from '../../../device/process/reports/status-report.ts';
import { DWORD_RANGE } from '../../../protocol/layout/dwords.ts';
import { csrRegisters } from '../../../protocol/layout/gen/registers.gen.ts';
import { hex, seconds } from './screen-text.ts';

type FirstFault = NonNullable<FunctionReport['faults']['first']>;

/** Objects without a number. */
const SINGLE = ['PAGE_LIST', 'OVERFLOW_BUFFER'];
/** Kinds whose address is a guest address, and an offset in a BAR. */
const AT_ADDRESS = /^(DMA_|BUS_MASTER|KEY_|RECEIVE_ENTRY|DOORBELL_BEYOND|DESCRIPTOR|OVERFLOW_|MANAGEMENT_)/;
const AT_OFFSET = /^(COLLECT_|PIO_)/;
/** Kinds whose address is the offset of a register. */
const AT_REGISTER = /^(REGISTER_|NOT_PERMITTED)/;
const BYTE_BITS = 8;

/** `QKEY_VIOLATION: QP 3, LID 1, Q_Key 0x4d, at 0.000001 s`, in parts. */
export function describeFirstFault(fault: FirstFault): string[] {
  const { kind, timeNs } = fault;
  return [
    [kind, nameObject(fault)].filter((part) => part !== '').join(': '),
    ...describeWhere(fault),
    ...describeAccess(fault),
    `at ${seconds(timeNs)} s`,
  ];
}

/** `QP 3`, `send context 2`, `page list`; empty when the fault names no object. */
function nameObject({ objectKind, object }: FirstFault): string {
  if (objectKind === 'NONE') return '';
  const name = objectKind.length <= 3 ? objectKind : objectKind.toLowerCase().replaceAll('_', ' ');
  return SINGLE.includes(objectKind) ? name : `${name} ${object}`;
}

function describeWhere({ kind, address }: FirstFault): string[] {
  if (kind === 'QKEY_VIOLATION' || kind === 'PKEY_VIOLATION') {
    const key = kind === 'QKEY_VIOLATION' ? 'Q_Key' : 'P_Key';
    return [`from LID ${Math.floor(address / DWORD_RANGE)}`, `${key} ${hex(address % DWORD_RANGE)}`];
  }
  if (AT_REGISTER.test(kind)) return [nameRegister(address)];
  if (AT_ADDRESS.test(kind)) return [`address ${hex(address)}`];
  return AT_OFFSET.test(kind) ? [`offset ${hex(address)}`] : [`detail ${address}`];
}

/** `write of 0x1, 4 bytes`, `read of 2 bytes`; nothing for a fault that no access has caused. */
function describeAccess({ access }: FirstFault): string[] {
  if (access === undefined) return [];
  const size = `${access.sizeBytes} ${access.sizeBytes === 1 ? 'byte' : 'bytes'}`;
  return access.written === undefined ? [`read of ${size}`] : [`write of ${access.written}`, size];
}

/** `register DEVICE_STATUS (0x84)`; the offset alone where no register is. */
function nameRegister(offset: number): string {
  const found = csrRegisters.find(
    (register) => offset >= register.offset && offset < register.offset + (register.count * register.bits) / BYTE_BITS,
  );
  if (found === undefined) return `offset ${hex(offset)}`;
  const index = Math.floor((offset - found.offset) / (found.bits / BYTE_BITS));
  return `register ${found.name}${found.count > 1 ? `[${index}]` : ''} (${hex(offset)})`;
}
