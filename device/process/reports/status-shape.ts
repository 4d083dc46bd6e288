// SPDX-License-Identifier: Apache-2.0
/** The shape of the status report of a process. `control-answers.ts` has the others. */

import type { StepReport } from '../host/stepper.ts';
import { booleans, Each, numbers, Optional, type ShapeOf, strings } from './answer-shape.ts';
import type { StatusReport } from './status-report.ts';

const NUMBER = 'number';
const counts: Each<typeof NUMBER> = new Each(NUMBER);
/** Of a process that makes steps. */
export const stepReport: ShapeOf<StepReport> = {
  ...strings('going'),
  ...numbers('steps'),
  condition: new Optional('string'),
  ...booleans('reached'),
};
const queues = numbers('count', 'posted', 'errors');
const levels = <Inner>(inner: Inner): readonly [Inner] => [inner];

const lanes: ShapeOf<StatusReport['adapters'][number]['lanes']> = {
  ...numbers('count', 'shared', 'waiting', 'launches'),
  execution: numbers('total', 'used', 'shared', 'sharedUsed'),
  completion: numbers('total', 'used', 'shared', 'sharedUsed'),
  lanes: [
    {
      ...numbers('number', 'weight', 'length', 'listSize', 'launches'),
      state: 'string',
      owner: new Optional(NUMBER),
      levels: levels(NUMBER),
      execution: { ...numbers('private', 'used', 'sharedUsed'), mayShare: 'boolean' },
      completion: { ...numbers('private', 'used', 'sharedUsed'), mayShare: 'boolean' },
    },
  ],
};

const sockets: ShapeOf<StatusReport['adapters'][number]['sockets']> = [
  {
    path: 'string',
    ...booleans('attached', 'inD0'),
    ...numbers('requests', 'attaches', 'refusedClients', 'lostConnections', 'exceptions', 'sharedMemoryBytes'),
    ...numbers('registerReads', 'registerWrites', 'collectWrites', 'pioWrites', 'blockedTooLong'),
  },
];

const port: ShapeOf<StatusReport['adapters'][number]['ports'][number]> = {
  ...numbers('number', 'lid', 'mtuBytes', 'transmitPackets', 'receivePackets', 'receiveDrops', 'badPkeys', 'badQkeys'),
  functionNumber: new Optional(NUMBER),
  state: 'string',
  creditStalls: NUMBER,
  virtualLanes: [numbers('number', 'waiting', 'capacity', 'blocks', 'sent')],
};

const drops: ShapeOf<StatusReport['adapters'][number]['drops']> = {
  ...numbers('malformed', 'wrongLid', 'tooLong', 'unknownQueuePair', 'unsupportedTransport', 'unknownGroup'),
  ...numbers('badMulticast', 'unclaimedManagement', 'wrongService', 'noReceiveEntry', 'pageAbsent'),
};

const faults: ShapeOf<StatusReport['personalities'][number]['faults']> = {
  counts,
  first: new Optional({
    ...strings('kind', 'objectKind'),
    ...numbers('object', 'address', 'timeNs'),
    access: new Optional({ sizeBytes: NUMBER, written: new Optional('string') }),
  }),
  late: new Optional({
    count: NUMBER,
    reports: [
      {
        ...strings('kind', 'seen'),
        ...numbers('object', 'index', 'address', 'offset', 'differing', 'timeNs'),
      },
    ],
  }),
};

const traffic = numbers('vectorsSent', 'vectorsPending', 'dmaBytesRead', 'dmaBytesWritten');
const resets = numbers('device', 'function', 'lost', 'software');

const functionReport: ShapeOf<StatusReport['adapters'][number]['functions'][number]> = {
  ...numbers('number', 'managementCommands', 'managementRefused', 'inPipeline', 'protectionDomains', 'memoryRegions'),
  ...booleans('enabled', 'busMaster'),
  resets,
  collect: {
    ...numbers('vcbBase', 'vcbs', 'vcbsInUse', 'pcbs', 'kicks', 'refusals', 'cancels', 'choked'),
    levels: levels(numbers('guaranteed', 'inUse', 'available', 'refusals')),
  },
  doorbells: {
    ...numbers('explicit', 'implicit', 'idle', 'stale', 'sweeps', 'deadlocksDetected', 'queueTurns', 'queuesLinked'),
    ...numbers('linkChecks', 'linkChecksFailed'),
    ...booleans('sweeping', 'stalled'),
    tails: numbers('windowNs', 'watches', 'found'),
    buffer: numbers('entries', 'used', 'low', 'high'),
    bus: numbers('posted', 'reads', 'readsLimit', 'flying', 'held'),
    overflow: {
      ...numbers('entries', 'depth', 'spilled', 'queued', 'drained', 'lost'),
      ...booleans('enabled', 'spilling'),
    },
    listed: levels(NUMBER),
  },
  lanes: {
    ...numbers('waiting', 'launches'),
    execution: numbers('private', 'privateUsed', 'sharedUsed'),
    completion: numbers('private', 'privateUsed', 'sharedUsed'),
    levels: levels(numbers('lanes', 'own', 'waiting')),
  },
  commands: numbers('collected', 'fetched', 'stale', 'levelMismatches'),
  queuePairs: counts,
  completionQueues: queues,
  eventQueues: queues,
  ...traffic,
  onDemandPaging: {
    ...numbers('outstanding', 'waiting', 'faults', 'shared', 'deferred', 'refused'),
    ...numbers('pagesResolved', 'pagesInvalidated'),
  },
  faults,
};

/** The shape of the status of a process. */
export const statusShape: ShapeOf<StatusReport> = {
  ...numbers('pid', 'uptimeNs'),
  pump: {
    ...numbers('spinNs', 'passes', 'waits', 'sleeps'),
    isCrowded: 'boolean',
    fixedSpinUs: new Optional(NUMBER),
    longSpins: numbers('found', 'missed'),
  },
  recording: new Optional({ path: 'string', bytes: NUMBER }),
  stepping: new Optional(stepReport),
  adapters: [
    {
      name: 'string',
      sockets,
      collectBuffers: numbers('total', 'free', 'shared', 'sharedInUse'),
      schedulerBuffers: numbers('total', 'free'),
      lanes,
      pipeline: numbers('latencyNs', 'pipelineNs', 'contexts', 'contextsUsed', 'commands', 'reads', 'packets'),
      ports: [port],
      drops,
      functions: [functionReport],
    },
  ],
  personalities: [
    {
      ...strings('name', 'personality', 'state'),
      functionOf: new Optional('string'),
      sockets,
      busMaster: 'boolean',
      resets,
      commands: numbers('executed', 'refused'),
      ...numbers('eventsLost', 'strayDoorbells', 'sendBuffersBusy'),
      objects: counts,
      queuePairs: counts,
      completionQueues: queues,
      eventQueues: queues,
      raw: new Optional(numbers('malformed', 'noReceive')),
      ...traffic,
      lanes,
      ports: [port],
      drops,
      faults,
    },
  ],
  switches: [{ name: 'string', ...numbers('lid', 'ports', 'plugged', 'active', 'received', 'sent'), drops: counts }],
  links: [
    {
      ...{ ends: ['string'], kind: 'string', up: 'boolean', trouble: new Optional('string') },
      ...numbers('sent', 'received', 'lost'),
    },
  ],
};
