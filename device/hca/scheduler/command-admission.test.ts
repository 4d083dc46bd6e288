// SPDX-License-Identifier: Apache-2.0
/**
 * Admission of commands, the check of a command and the ring of turns alone (US 8,484,392 par.
 * 99-101; docs/DOCUMENTS.md decisions 2 and 6): what becomes of each copy and doorbell.
 */
import t from 'tap';
import { COMMAND_HEADER_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { DOORBELL_QPN_SHIFT } from '../../../protocol/layout/gen/doorbell.gen.ts';
import { encodeSendCommand, newSendCommand, type SendCommand } from '../../../protocol/layout/gen/send-command.gen.ts';
import { FaultKind, QpState } from '../../../protocol/layout/gen/values.gen.ts';
import { PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import { FunctionCounters } from '../function/function-counters.ts';
import type { ObjectTable } from '../function/object-table.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { TransmitVirtualLanes } from '../lane/transmit-virtual-lanes.ts';
import { CollectContext, type ContextOrKernel } from '../queues/collect-context.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { CommandAdmission } from './command-admission.ts';
import type { DoorbellUnit } from './doorbell-unit.ts';
import type { ShadowTails } from './shadow-tails.ts';
import { TurnRing } from './turn-ring.ts';

const QPN = 3;
const NEXT = 0x7000;

class Fixture {
  readonly calls: unknown[][] = [];
  readonly counters = new FunctionCounters();
  readonly owner = {
    number: 0,
    enabled: true,
    counters: this.counters,
    faults: {
      report: (kind: FaultKind) => this.calls.push(['fault', kind]),
      reportNumber: (kind: FaultKind, _object: unknown, qpn: number) => this.calls.push(['fault', kind, qpn]),
    },
  };
  readonly qp = {
    number: QPN,
    owner: this.owner,
    state: QpState.RTS,
    sendsAreTaken: true,
    nextSequence: NEXT,
    qosLevel: 0,
    checksumOff: true,
    creation: { checksumKey: 0 },
    collectContext: undefined as ContextOrKernel,
  };
  readonly admission: CommandAdmission;
  readonly unit: DoorbellUnit;
  hasRoom = true;
  isPruned = false;
  takesRefused = false;
  isQueued = true;

  constructor() {
    const table = { get: (number: number) => (number === QPN ? this.qp : undefined) };
    const lanes = {
      hasRoomForCollected: () => this.hasRoom,
      admit: () => this.calls.push(['admit']),
    };
    this.admission = new CommandAdmission(
      table as unknown as ObjectTable<QueuePair>,
      lanes as unknown as TransmitVirtualLanes,
      { drop: () => this.calls.push(['unwatch']) } as unknown as ShadowTails,
    );
    const unit = {
      owner: this.owner,
      prune: () => this.isPruned,
      ring: (_qp: QueuePair, sequence: number) => this.calls.push(['ring', sequence]),
      stop: () => this.calls.push(['stop']),
      wake: () => this.calls.push(['wake']),
      lose: () => this.calls.push(['lose']),
      spilled: {
        takesRefused: () => this.takesRefused,
        queue: (_qp: QueuePair, sequence: number) => {
          this.calls.push(['queue', sequence]);
          return this.isQueued;
        },
      },
    };
    this.unit = unit as unknown as DoorbellUnit;
  }

  /** A copy arrives. */
  kick(fields: Partial<SendCommand> = {}, context?: ContextOrKernel): void {
    const buffer = new PhysicalCollectBuffer(0, { release: () => this.calls.push(['release']) });
    const command = { ...newSendCommand(), qpn: QPN, sequence: NEXT, collectLength: COMMAND_HEADER_BYTES };
    encodeSendCommand(buffer.view, 0, { ...command, ...fields });
    this.admission.kick(this.unit, buffer, context);
  }

  take(): unknown[][] {
    return this.calls.splice(0);
  }
}

const RELEASE = ['release'];

t.test('a copy that its queue expects is admitted', async (t) => {
  const fixture = new Fixture();
  fixture.kick();
  t.same(fixture.take(), [['admit']]);
  t.equal(fixture.counters.commandsCollected, 1);
});

t.test('an early copy, or one that cannot be admitted now, becomes a doorbell', async (t) => {
  const cases: [string, (fixture: Fixture) => void, Partial<SendCommand>, unknown[][]][] = [
    ['early', () => {}, { sequence: NEXT + 1 }, []],
    ['early by less than half of all numbers', () => {}, { sequence: NEXT + 0x7fff }, []],
    ['no room in its list', (fixture) => Object.assign(fixture, { hasRoom: false }), {}, []],
    ['not in RTS', (fixture) => Object.assign(fixture.qp, { state: QpState.ERR }), {}, []],
    ['in SQD', (fixture) => Object.assign(fixture.qp, { state: QpState.SQD, sendsAreTaken: false }), {}, []],
    ['another level', () => {}, { qosLevel: 1 }, [['fault', FaultKind.COMMAND_QOS]]],
    [
      'a wrong checksum',
      (fixture) => Object.assign(fixture.qp, { checksumOff: false }),
      {},
      [['fault', FaultKind.COMMAND_CHECKSUM]],
    ],
  ];
  for (const [name, prepare, fields, faults] of cases) {
    const fixture = new Fixture();
    prepare(fixture);
    fixture.kick(fields);
    const sequence = (fields.sequence ?? NEXT) & 0xffff;
    t.same(fixture.take(), [...faults, RELEASE, ['ring', sequence]], name);
    t.match(fixture.counters, { doorbellsImplicit: 1, commandsCollected: 0, commandsStale: 0 }, name);
  }
});

t.test('a copy of a command that was executed is dropped', async (t) => {
  for (const sequence of [NEXT - 1, (NEXT + 0x8000) & 0xffff]) {
    const fixture = new Fixture();
    fixture.kick({ sequence });
    t.same(fixture.take(), [RELEASE]);
    t.match(fixture.counters, { commandsStale: 1, doorbellsImplicit: 0 });
  }
});

t.test('after the detection of a deadlock a copy may be spilled', async (t) => {
  const fixture = new Fixture();
  fixture.isPruned = true;
  fixture.kick();
  t.same(fixture.take(), [RELEASE]);
  t.equal(fixture.counters.doorbellsImplicit, 1);
});

t.test('copies and doorbells for no queue pair of the function are reported', async (t) => {
  const cases: [string, (fixture: Fixture) => void][] = [
    ['a foreign one', (fixture) => Object.assign(fixture.qp, { owner: { number: 1 } })],
    ['a disabled function', (fixture) => Object.assign(fixture.owner, { enabled: false })],
    ['one that cannot send yet', (fixture) => Object.assign(fixture.qp, { state: QpState.RTR, sendsAreTaken: false })],
  ];
  for (const [name, prepare] of cases) {
    const fixture = new Fixture();
    const { admission, unit } = fixture;
    prepare(fixture);
    const fault = ['fault', FaultKind.COMMAND_BAD_QP, QPN];
    fixture.kick();
    t.same(fixture.take(), [fault, RELEASE], name);
    const low = QPN << DOORBELL_QPN_SHIFT;
    admission.ring(unit, low, NEXT);
    admission.ringRefused(unit, low, NEXT);
    admission.stop(unit, low);
    t.same(fixture.take(), [fault, fault, fault], name);
  }
  const fixture = new Fixture();
  fixture.kick({ qpn: QPN + 1 });
  t.same(fixture.take(), [['fault', FaultKind.COMMAND_BAD_QP, QPN + 1], RELEASE]);
});

t.test('a page of a context reaches the queue pairs of its context, that of the kernel all', async (t) => {
  const fixture = new Fixture();
  const { admission, unit } = fixture;
  const low = QPN << DOORBELL_QPN_SHIFT;
  const [one, other] = [1, 2].map((number) => new CollectContext(number, {} as UnderlyingFunction));
  const useAll = (context: ContextOrKernel): unknown[][] => {
    fixture.kick({}, context);
    admission.ring(unit, low, NEXT, context);
    admission.ringRefused(unit, low, NEXT, context);
    admission.stop(unit, low, context);
    return fixture.take();
  };
  const fault = ['fault', FaultKind.COLLECT_CONTEXT, QPN];
  const refused = [fault, RELEASE, fault, fault, fault];
  const taken = [['admit'], ['ring', NEXT], ['ring', NEXT], ['unwatch'], ['stop']];
  t.same(useAll(one), refused, "a queue pair of the kernel's");
  fixture.qp.collectContext = one;
  t.same(useAll(one), taken);
  t.same(useAll(other), refused);
  t.same(useAll(undefined), taken, 'the kernel');
  t.same([one.refused, other.refused], [4, 4], 'each refusal is counted where it came from');
});

t.test('doorbells: explicit ones, those of refused commands, stops', async (t) => {
  const fixture = new Fixture();
  const { admission, unit } = fixture;
  const low = QPN << DOORBELL_QPN_SHIFT;
  admission.ring(unit, low, 0x10000 + NEXT);
  admission.ringRefused(unit, low, NEXT);
  admission.stop(unit, low);
  t.same(fixture.take(), [['ring', NEXT], ['ring', NEXT], ['unwatch'], ['stop']]);
  fixture.takesRefused = true;
  admission.ringRefused(unit, low, NEXT);
  fixture.isQueued = false;
  admission.ringRefused(unit, low, NEXT);
  t.same(fixture.take(), [['queue', NEXT], ['wake'], ['queue', NEXT], ['lose']], 'the FIFO in host memory');
});

t.test('items of a ring take turns; each is in it once, a refused one comes first', async (t) => {
  const ring = new TurnRing<{ name: string; active: boolean }>(3);
  const [a, b, c] = ['a', 'b', 'c'].map((name) => ({ name, active: false }));
  for (let round = 0; round < 4; round++) {
    for (const item of [a, b, a, c, b]) ring.add(item);
    t.equal(ring.length, 3);
    t.same([ring.take().name, ring.take().name], ['a', 'b']);
    ring.restore(b);
    ring.restore(b);
    ring.add(a);
    t.equal(ring.length, 3);
    t.same([ring.take().name, ring.take().name, ring.take().name], ['b', 'c', 'a']);
    t.same([ring.length, a.active, b.active], [0, false, false]);
    // Shifts the first place.
    ring.add(a);
    ring.take();
  }
});
