// SPDX-License-Identifier: Apache-2.0
/**
 * The results of the commands of the control socket: their types, and their shapes, by which
 * `ControlClient` recognises an adapter of another version, and what is no adapter.
 */
import type { Contents } from '../../hca/adapter/contents/contents.ts';
import type { TimelineStep } from '../../hca/function/timeline.ts';
import { booleans, Each, numbers, Optional, type Shape, type ShapeOf, strings } from '../reports/answer-shape.ts';
import type { FabricReport } from '../reports/fabric-report.ts';
import type { FailedQueuePair } from '../reports/failed-queue-pairs.ts';
import type { QueuePairList, QueuePairReport } from '../reports/queue-pair-report.ts';
import type { ResourceReport } from '../reports/resource-report.ts';
import type { RouteReport } from '../reports/route-report.ts';
import type { StatusReport } from '../reports/status-report.ts';
import { statusShape, stepReport } from '../reports/status-shape.ts';
import type { SnapshotHead, SnapshotPart } from '../trace/trace-snapshot.ts';
import type { CaptureProgress } from './capture-file.ts';
import type { StepAnswer } from './step-commands.ts';
import type { TracePart, TraceStatus } from './trace-control.ts';

/** The result of each command. */
export interface ControlAnswers {
  readonly status: StatusReport;
  readonly fabric: FabricReport;
  readonly route: RouteReport;
  readonly 'queue-pairs': QueuePairList;
  readonly 'failed-queue-pairs': readonly FailedQueuePair[];
  readonly show: Contents;
  readonly objects: Readonly<Record<string, number>>;
  readonly resources: ResourceReport;
  readonly 'set-resources': ResourceReport;
  readonly 'capture-start': CaptureProgress;
  readonly 'capture-progress': CaptureProgress;
  readonly 'capture-stop': CaptureProgress;
  readonly 'trace-status': TraceStatus;
  readonly 'trace-on': TraceStatus;
  readonly 'trace-off': TraceStatus;
  readonly 'trace-pause': TraceStatus;
  readonly 'trace-resume': TraceStatus;
  readonly 'trace-read': TracePart;
  readonly 'trace-snapshot': SnapshotHead;
  readonly 'trace-part': SnapshotPart;
  readonly 'timeline-on': TraceStatus;
  readonly 'timeline-off': TraceStatus;
  readonly 'timeline-read': readonly TimelineStep[];
  readonly inject: { readonly text: string };
  readonly link: { readonly text: string };
  readonly step: StepAnswer;
  readonly fail: { readonly cause: string };
}

export type ControlName = keyof ControlAnswers;

const NUMBER = 'number';
const counts: Each<typeof NUMBER> = new Each(NUMBER);

const fabric: ShapeOf<FabricReport> = {
  timeNs: new Optional(NUMBER),
  nodes: [
    {
      ...strings('name', 'type', 'guid', 'description'),
      ports: [
        {
          number: NUMBER,
          guid: 'string',
          lid: new Optional(NUMBER),
          managerLid: new Optional(NUMBER),
          isManager: new Optional('boolean'),
          link: new Optional({
            ...strings('state', 'physicalState', 'width', 'speed'),
            peer: new Optional('string'),
            ...numbers('sent', 'received', 'sentBytes', 'receivedBytes'),
            errors: counts,
            drops: new Optional(counts),
          }),
        },
      ],
    },
  ],
  managers: new Optional([
    {
      ...strings('guid', 'state'),
      ...numbers('priority', 'heavySweeps', 'lightSweeps', 'datagrams'),
      isSettled: 'boolean',
      problems: counts,
      duplicates: ['string'],
    },
  ]),
};

const failure: ShapeOf<FailedQueuePair['failure']> = {
  ...strings('cause', 'state', 'status', 'fault'),
  wqe: new Optional(NUMBER),
  psn: new Optional(NUMBER),
  syndrome: new Optional('string'),
  timeNs: NUMBER,
};

const queuePair: ShapeOf<QueuePairReport> = {
  ...numbers('number', 'function', 'port', 'qosLevel', 'pd', 'sendCq', 'receiveCq'),
  ...strings('service', 'state'),
  process: new Optional(NUMBER),
  srq: new Optional(NUMBER),
  traced: 'boolean',
  peer: new Optional(numbers('qpn', 'lid')),
  patience: new Optional({ ackTimeoutNs: new Optional(NUMBER), ...numbers('retryCount', 'rnrRetry') }),
  send: {
    ...numbers('nextWqe', 'inFlight', 'inKickLists', 'nextPsn'),
    ...booleans('doorbellWaiting', 'stopped'),
    unackedPsn: new Optional(NUMBER),
    turnEndedAt: new Optional('string'),
    waitsFor: new Optional('string'),
    retriesLeft: new Optional(NUMBER),
    rnrRetriesLeft: new Optional(NUMBER),
  },
  receive: {
    ...numbers('nextWqe', 'postedWqes'),
    expectedPsn: new Optional(NUMBER),
    msn: new Optional(NUMBER),
    requestEndedAt: new Optional('string'),
  },
  failure: new Optional(failure),
};

const failedQueuePair: ShapeOf<FailedQueuePair> = {
  ...queuePair,
  failure,
  agoNs: NUMBER,
  stateToday: new Optional('string'),
};

const queuePairs: ShapeOf<QueuePairList> = {
  queuePairs: [queuePair],
  next: new Optional(NUMBER),
};

const amounts = {
  ...numbers('vcbs', 'pcbs', 'schedulerBuffers', 'sendContexts', 'sendBlocks'),
  ...numbers('executionCredits', 'completionCredits'),
};

const resources: ShapeOf<ResourceReport> = {
  unallocated: { ...amounts, lanes: [NUMBER] },
  total: { ...amounts, lanes: NUMBER },
  ...booleans('disabled', 'returnShares', 'lendIdle', 'freezeSends'),
  dedicatedLanes: [NUMBER],
  laneTable: new Optional({ ...numbers('address', 'reads', 'refused'), invalid: [NUMBER] }),
  functions: [
    {
      ...numbers('number', 'vcbBase', 'vcbs', 'vcbsInUse', 'pcbs', 'pcbsInUse', 'schedulerBuffers'),
      ...numbers('schedulerBuffersInUse', 'sendContexts', 'sendContextsInUse', 'sendBlocks', 'sendBlocksInUse'),
      ...numbers('executionCreditsUsed', 'completionCreditsUsed'),
      doorbells: {
        ...strings('policy', 'linkCheck'),
        ...booleans('adaptive', 'hostQueue', 'spillBuffered', 'spillCommands'),
        ...numbers('low', 'high', 'entries'),
      },
      lanes: [NUMBER],
      lent: 'boolean',
      levels: [{ ...numbers('vcbs', 'pcbs', 'pcbsInUse'), lanes: [NUMBER] }],
    },
  ],
  vcbAddresses: [numbers('from', 'end', 'function', 'level')],
  lanes: [
    {
      ...numbers('number', 'weight', 'executionCredits', 'executionCreditsUsed', 'completionCredits'),
      ...numbers('completionCreditsUsed', 'listLength', 'listSize', 'launches'),
      owner: new Optional(NUMBER),
      ...booleans('dedicated', 'sharedExecution', 'sharedCompletion'),
    },
  ],
};

const capture: ShapeOf<CaptureProgress> = {
  path: 'string',
  ...booleans('active', 'closed', 'failed'),
  ...numbers('packets', 'lost', 'bytes'),
  early: new Optional('string'),
};

const traceStatus: ShapeOf<TraceStatus> = {
  traces: [
    {
      ...numbers('id', 'qp', 'functionNumber', 'blocks', 'snapLength', 'head', 'tail', 'lost'),
      ...booleans('byGuest', 'stopped', 'ended'),
    },
  ],
  rules: [
    {
      service: new Optional('string'),
      functionNumber: new Optional(NUMBER),
      peerLid: new Optional(NUMBER),
      peerQp: new Optional(NUMBER),
      process: new Optional(NUMBER),
    },
  ],
  paused: 'boolean',
  wallTimeNs: NUMBER,
  timeline: new Optional(numbers('head', 'tail')),
};

const step = numbers('index', 'timeNs', 'step', 'functionNumber', 'object', 'a', 'b', 'c', 'd', 'e');

const traceHead: ShapeOf<SnapshotHead> = {
  ...numbers('parts', 'nowNs'),
  adapters: [
    {
      name: 'string',
      ownName: new Optional('string'),
      control: new Optional('string'),
      ports: [numbers('number', 'lid', 'lmc')],
      wallTimeNs: NUMBER,
      queuePairs: [{ ...numbers('qp', 'functionNumber', 'overwritten'), traced: 'boolean' }],
      stepsSinceNs: new Optional(NUMBER),
    },
  ],
};

/** The shape of each result. */
export const answerShapes: { readonly [Name in ControlName]: ShapeOf<ControlAnswers[Name]> & Shape } = {
  status: statusShape,
  fabric,
  route: {
    lid: new Optional(NUMBER),
    hops: [{ node: 'string', in: new Optional(NUMBER), out: new Optional(NUMBER) }],
    fault: new Optional('string'),
  },
  'queue-pairs': queuePairs,
  'failed-queue-pairs': [failedQueuePair],
  show: { rows: [new Each('cell')], next: new Optional(NUMBER) },
  objects: counts,
  resources,
  'set-resources': resources,
  'capture-start': capture,
  'capture-progress': capture,
  'capture-stop': capture,
  'trace-status': traceStatus,
  'trace-on': traceStatus,
  'trace-off': traceStatus,
  'trace-pause': traceStatus,
  'trace-resume': traceStatus,
  'trace-read': { ...numbers('count', 'next'), blocks: 'string' },
  'trace-snapshot': traceHead,
  'trace-part': { ...numbers('adapter', 'count'), blocks: new Optional('string'), steps: new Optional([step]) },
  'timeline-on': traceStatus,
  'timeline-off': traceStatus,
  'timeline-read': [step],
  inject: { text: 'string' },
  link: { text: 'string' },
  step: { text: 'string', ...stepReport },
  fail: { cause: 'string' },
};
