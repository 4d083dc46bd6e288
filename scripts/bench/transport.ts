// SPDX-License-Identifier: Apache-2.0
/**
 * Messages and bytes per second of the transport, in process: by service, operation, message size and number of QPs. Every packet is built with all its headers, PSN and
 * ICRC, and parsed at the other port; acknowledgements are real. The driver does as little as a driver can: it moves sequence numbers and tails, and rings doorbells.
 *
 *   npx tsx scripts/bench/transport.ts [--messages N] [--json]
 */
import { parseArgs } from 'node:util';
import { Driver } from '../../device/hosts/in-process/driver/driver.ts';
import type { DriverQueuePair } from '../../device/hosts/in-process/driver/queue-pair.ts';
import {
  setQueuePairRecordReceiveTail,
  setQueuePairRecordSendTail,
} from '../../protocol/layout/gen/queue-pair-record.gen.ts';
import {
  encodeReceiveEntry,
  RECEIVE_ENTRY_SIZE,
  setReceiveEntrySequence,
} from '../../protocol/layout/gen/receive-entry.gen.ts';
import { CSR } from '../../protocol/layout/gen/registers.gen.ts';
import { setSendCommandSequence } from '../../protocol/layout/gen/send-command.gen.ts';
import { encodeSge } from '../../protocol/layout/gen/sge.gen.ts';
import { AccessFlag, SendOpcode, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import { FlatMachine } from './flat-machine.ts';

const MEMORY_BYTES = 1 << 30;
const QPN_SHIFT = 8;
const SEQUENCE_MASK = 0xffff;
const GRH = 40;
const RIGHTS = AccessFlag.LOCAL_WRITE | AccessFlag.REMOTE_WRITE | AccessFlag.REMOTE_READ;

interface Scenario {
  readonly name: string;
  readonly serviceType: ServiceType;
  readonly opcode: SendOpcode;
  readonly size: number;
  readonly queuePairs: number;
  readonly messages: number;
  /** Messages posted to a QP at a time. */
  readonly batch: number;
}

interface Result extends Scenario {
  readonly nsPerMessage: number;
  readonly gigabytesPerSecond: number;
  readonly heapBytesPerMessage: number;
}

/** A QP driven by hand: slots filled once, then only sequence numbers move. */
interface Engine {
  readonly qp: DriverQueuePair;
  readonly record: DataView;
  readonly sendSlots: DataView[];
  readonly peerRecord: DataView;
  readonly receiveSlots: DataView[];
  readonly consumed: DataView[];
  sent: number;
}

function build(machine: FlatMachine, driver: Driver, scenario: Scenario): Engine[] {
  const { serviceType, opcode, size, queuePairs } = scenario;
  const pd = driver.createProtectionDomain();
  const region = driver.createDmaRegion(pd, RIGHTS);
  const { batch } = scenario;
  const entriesLog2 = Math.log2(batch);
  const receives = opcode === SendOpcode.SEND;
  const engines: Engine[] = [];
  const source = driver.allocator.allocate(size);
  const target = driver.allocator.allocate(size + GRH);
  const handle = driver.addressHandles.add({ port: 1, dlid: 2, pd });
  for (let index = 0; index < queuePairs; index++) {
    const creation = { serviceType, checksumOff: 1 };
    const make = (): DriverQueuePair =>
      driver.createQueuePair({
        pd,
        sendCq: driver.createCompletionQueue({ entriesLog2: entriesLog2 + 1 }),
        receiveCq: driver.createCompletionQueue({ entriesLog2: entriesLog2 + 1 }),
        sendEntriesLog2: entriesLog2,
        receiveEntriesLog2: entriesLog2,
        creation,
      });
    const a = make();
    const b = make();
    if (serviceType === ServiceType.UD) {
      a.start({ port: 1, qkey: 1 });
      b.start({ port: 2, qkey: 1 });
    } else {
      const common = { reliable: serviceType === ServiceType.RC, pathMtu: 5 };
      a.connect({ port: 1, dlid: 2, remoteQpn: b.qpn, ...common });
      b.connect({ port: 2, dlid: 1, remoteQpn: a.qpn, ...common });
    }
    for (let slot = 0; slot < batch; slot++) {
      a.fill({
        opcode,
        sges: size === 0 ? [] : [{ address: source, length: size, lkey: region.lkey }],
        signaled: slot === batch - 1,
        ...(serviceType === ServiceType.UD
          ? { remoteQpn: b.qpn, qkey: 1, addressHandle: handle }
          : { remote: { address: target, rkey: region.rkey } }),
      });
      a.sendTail = (a.sendTail + 1) & SEQUENCE_MASK;
      if (!receives) continue;
      const view = b.parts.receiveBuffer.slot(slot);
      encodeReceiveEntry(view, 0, { sgeCount: 1, sequence: slot });
      encodeSge(view, RECEIVE_ENTRY_SIZE, { address: target, length: size + GRH, lkey: region.lkey });
    }
    engines.push({
      qp: a,
      record: machine.view(a.parts.recordAddress, 16),
      sendSlots: Array.from({ length: batch }, (_, slot) => a.parts.sendBuffer.slot(slot)),
      peerRecord: machine.view(b.parts.recordAddress, 16),
      receiveSlots: receives ? Array.from({ length: batch }, (_, slot) => b.parts.receiveBuffer.slot(slot)) : [],
      consumed: [a.parts.sendCq, b.parts.receiveCq].map((queue) => machine.view(queue.recordAddress, 8)),
      sent: 0,
    });
  }
  return engines;
}

/** Posts a full queue of one QP by doorbell. */
function post(machine: FlatMachine, engine: Engine): void {
  const batch = engine.sendSlots.length;
  const first = engine.sent & SEQUENCE_MASK;
  for (let slot = 0; slot < batch; slot++)
    setSendCommandSequence(engine.sendSlots[slot], 0, (first + slot) & SEQUENCE_MASK);
  for (let slot = 0; slot < engine.receiveSlots.length; slot++)
    setReceiveEntrySequence(engine.receiveSlots[slot], 0, (first + slot) & SEQUENCE_MASK);
  engine.sent += batch;
  if (engine.receiveSlots.length > 0) {
    setQueuePairRecordReceiveTail(engine.peerRecord, 0, engine.sent & SEQUENCE_MASK);
    // All receive completions of the batches before have been seen.
    engine.consumed[1].setUint32(0, (engine.sent - batch) >>> 0, true);
  }
  setQueuePairRecordSendTail(engine.record, 0, engine.sent & SEQUENCE_MASK);
  engine.consumed[0].setUint32(0, (engine.sent / batch - 1) >>> 0, true);
  machine.writeRegister(CSR.SEND_DOORBELL, 8, (engine.qp.qpn << QPN_SHIFT) >>> 0, first);
}

function measure(scenario: Scenario): Result {
  const machine = new FlatMachine(MEMORY_BYTES);
  const driver = new Driver(machine).bringUp();
  const engines = build(machine, driver, scenario);
  const batch = engines[0].sendSlots.length;
  const rounds = Math.ceil(scenario.messages / (batch * engines.length));
  const round = (): void => {
    for (const engine of engines) post(machine, engine);
    machine.settle();
  };
  const launched = (): number => machine.readRegister(CSR.LANE_LAUNCHES, 4);
  for (let warm = 0; warm < Math.max(2, Math.min(50, rounds)); warm++) round();
  globalThis.gc?.();
  const heapBefore = process.memoryUsage().heapUsed;
  const launchedBefore = launched();
  const start = process.hrtime.bigint();
  for (let done = 0; done < rounds; done++) round();
  const elapsedNs = Number(process.hrtime.bigint() - start);
  globalThis.gc?.();
  const heapAfter = process.memoryUsage().heapUsed;
  const messages = rounds * batch * engines.length;
  const executed = (launched() - launchedBefore) >>> 0;
  // Commands that had to wait are launched again, so there may be more launches than messages, but never fewer.
  if (executed < messages || machine.readRegister(CSR.COMPLETION_CREDITS_USED, 4) !== 0)
    throw new Error(`${scenario.name}: ${executed} launches for ${messages} messages, or some did not complete`);
  return {
    ...scenario,
    messages,
    nsPerMessage: elapsedNs / messages,
    gigabytesPerSecond: (messages * scenario.size) / elapsedNs,
    heapBytesPerMessage: (heapAfter - heapBefore) / messages,
  };
}

function scenarios(messages: number): Scenario[] {
  const list: Scenario[] = [];
  const services: [string, ServiceType, SendOpcode][] = [
    ['RC WRITE', ServiceType.RC, SendOpcode.RDMA_WRITE],
    ['RC SEND', ServiceType.RC, SendOpcode.SEND],
    ['RC READ', ServiceType.RC, SendOpcode.RDMA_READ],
    ['UC WRITE', ServiceType.UC, SendOpcode.RDMA_WRITE],
    ['UD SEND', ServiceType.UD, SendOpcode.SEND],
  ];
  for (const [name, serviceType, opcode] of services) {
    for (const size of [64, 4096, 65536, 1 << 20]) {
      if (serviceType === ServiceType.UD && size > 4096) continue;
      const count = Math.max(128, Math.ceil(messages / Math.max(1, size / 1024)));
      list.push({ name, serviceType, opcode, size, queuePairs: 1, messages: count, batch: 64 });
    }
  }
  for (const queuePairs of [1, 100, 1000, 10_000])
    list.push({
      name: 'RC WRITE',
      serviceType: ServiceType.RC,
      opcode: SendOpcode.RDMA_WRITE,
      size: 64,
      queuePairs,
      messages: Math.max(messages, queuePairs * 64),
      batch: 16,
    });
  return list;
}

function print(result: Result): void {
  const { name, size, queuePairs, nsPerMessage, gigabytesPerSecond, heapBytesPerMessage } = result;
  const cells = [
    name.padEnd(10),
    `${size}`.padStart(8),
    `${queuePairs}`.padStart(6),
    (1e3 / nsPerMessage).toFixed(3).padStart(9),
    gigabytesPerSecond.toFixed(2).padStart(7),
    heapBytesPerMessage.toFixed(2).padStart(9),
  ];
  process.stdout.write(`${cells.join(' ')}\n`);
}

const { values } = parseArgs({
  options: { messages: { type: 'string', default: '1000000' }, json: { type: 'boolean', default: false } },
});
if (!values.json) process.stdout.write('operation      bytes    QPs   M msg/s    GB/s  heap B/msg\n');
for (const scenario of scenarios(Number(values.messages))) {
  const result = measure(scenario);
  if (values.json) process.stdout.write(`${JSON.stringify(result)}\n`);
  else print(result);
}
