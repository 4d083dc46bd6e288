// SPDX-License-Identifier: Apache-2.0
/**
 * Attributes that each change of state requires, accepts and refuses, for each service; every
 * attribute of every change is tried. The tables follow those of IBTA 11.2.5.2 (modify QP) as Linux
 * has them in ib_modify_qp_is_ok, with its names, and are independent of the adapter's own table.
 */
import t, { type Test } from 'tap';
import {
  type AddressHandle,
  decodeAddressHandle,
  newAddressHandle,
} from '../../../protocol/layout/gen/address-handle.gen.ts';
import { COMMAND_HEADER_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import {
  QP_ATTRIBUTES_ADDRESS_VECTOR_OFFSET,
  QP_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET,
} from '../../../protocol/layout/gen/qp-attributes.gen.ts';
import { QP_CREATION_SIZE } from '../../../protocol/layout/gen/qp-creation.gen.ts';
import {
  ManagementOpcode,
  ManagementStatus,
  QpMask,
  QpState,
  qpStateName,
  ServiceType,
  serviceTypeName,
} from '../../../protocol/layout/gen/values.gen.ts';
import type { Connection, DriverQueuePair } from '../../rig/driver/queue-pair.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { ledger } from '../../rig/fixtures/ledger.ts';
import { createOfService } from '../../rig/fixtures/xrc-fixture.ts';

type Attribute = Exclude<keyof typeof QpMask, 'STATE'>;
/** Required attributes and optional ones, by service. */
interface Rules {
  readonly required: readonly Attribute[];
  readonly optional: readonly Attribute[];
}
type ByService = Partial<Record<'UD' | 'UC' | 'RC' | 'XRC_INITIATOR' | 'XRC_TARGET', Rules>>;
type Service = keyof ByService | 'SMI' | 'GSI';

const rules = (required: string, optional = ''): Rules => {
  const names = (text: string) => text.split(' ').filter((name) => name !== '') as Attribute[];
  return { required: names(required), optional: names(optional) };
};

const RETRIES = 'TIMEOUT RETRY_COUNT RNR_RETRY';
const NOTIFY = rules('', 'SQD_NOTIFY');
const PATH = 'ADDRESS_VECTOR PATH_MTU REMOTE_QPN RECEIVE_PSN';
const table: Record<string, ByService> = {
  'RESET INIT': {
    UD: rules('PKEY_INDEX PORT QKEY'),
    UC: rules('PKEY_INDEX PORT ACCESS'),
    RC: rules('PKEY_INDEX PORT ACCESS'),
    XRC_INITIATOR: rules('PKEY_INDEX PORT ACCESS'),
    XRC_TARGET: rules('PKEY_INDEX PORT ACCESS'),
  },
  'INIT INIT': {
    UD: rules('', 'PKEY_INDEX PORT QKEY'),
    UC: rules('', 'PKEY_INDEX PORT ACCESS'),
    RC: rules('', 'PKEY_INDEX PORT ACCESS'),
    XRC_INITIATOR: rules('', 'PKEY_INDEX PORT ACCESS'),
    XRC_TARGET: rules('', 'PKEY_INDEX PORT ACCESS'),
  },
  'INIT RTR': {
    UD: rules('', 'PKEY_INDEX QKEY'),
    UC: rules(PATH, 'PKEY_INDEX ACCESS'),
    RC: rules(`${PATH} MAX_READS_SERVED MIN_RNR_TIMER`, 'PKEY_INDEX ACCESS'),
    XRC_INITIATOR: rules(PATH, 'PKEY_INDEX ACCESS'),
    XRC_TARGET: rules(`${PATH} MAX_READS_SERVED MIN_RNR_TIMER`, 'PKEY_INDEX ACCESS'),
  },
  'RTR RTS': {
    UD: rules('SEND_PSN', 'CURRENT_STATE QKEY'),
    UC: rules('SEND_PSN', 'CURRENT_STATE ACCESS'),
    RC: rules(`SEND_PSN ${RETRIES} MAX_READS_INITIATED`, 'CURRENT_STATE ACCESS MIN_RNR_TIMER'),
    XRC_INITIATOR: rules(`SEND_PSN ${RETRIES} MAX_READS_INITIATED`, 'CURRENT_STATE ACCESS'),
    XRC_TARGET: rules('SEND_PSN TIMEOUT', 'CURRENT_STATE ACCESS MIN_RNR_TIMER'),
  },
  'RTS RTS': {
    UD: rules('', 'CURRENT_STATE QKEY'),
    UC: rules('', 'CURRENT_STATE ACCESS'),
    RC: rules('', 'CURRENT_STATE ACCESS MIN_RNR_TIMER'),
    XRC_INITIATOR: rules('', 'CURRENT_STATE ACCESS'),
    XRC_TARGET: rules('', 'CURRENT_STATE ACCESS MIN_RNR_TIMER'),
  },
  'RTS SQD': { UD: NOTIFY, UC: NOTIFY, RC: NOTIFY, XRC_INITIATOR: NOTIFY, XRC_TARGET: NOTIFY },
  'SQD SQD': {
    UD: rules('', 'PKEY_INDEX QKEY'),
    UC: rules('', 'ADDRESS_VECTOR PKEY_INDEX ACCESS'),
    RC: rules('', `ADDRESS_VECTOR PKEY_INDEX ACCESS ${RETRIES} MIN_RNR_TIMER MAX_READS_INITIATED MAX_READS_SERVED`),
    XRC_INITIATOR: rules('', `ADDRESS_VECTOR PKEY_INDEX ACCESS ${RETRIES} MAX_READS_INITIATED`),
    XRC_TARGET: rules('', 'ADDRESS_VECTOR PKEY_INDEX ACCESS TIMEOUT MIN_RNR_TIMER MAX_READS_SERVED'),
  },
  'SQD RTS': {
    UD: rules('', 'CURRENT_STATE QKEY'),
    UC: rules('', 'CURRENT_STATE ACCESS'),
    RC: rules('', 'CURRENT_STATE ACCESS MIN_RNR_TIMER'),
    XRC_INITIATOR: rules('', 'CURRENT_STATE ACCESS'),
    XRC_TARGET: rules('', 'CURRENT_STATE ACCESS MIN_RNR_TIMER'),
  },
  'SQE RTS': { UD: rules('', 'CURRENT_STATE QKEY'), UC: rules('', 'CURRENT_STATE ACCESS') },
};

/** SMI and GSI QPs are datagram QPs whose port is that of their creation. */
function rulesOf(change: string, service: Service): Rules | undefined {
  const expected = table[change];
  if (service !== 'SMI' && service !== 'GSI') return expected?.[service];
  const without = (names: readonly Attribute[] = []) => names.filter((name) => name !== 'PORT');
  const { UD } = expected ?? {};
  return UD && { required: without(UD.required), optional: without(UD.optional) };
}

/** Attributes of path migration, which the adapter does not offer. */
const MIGRATION: readonly Attribute[] = ['ALTERNATE_PATH', 'MIGRATION_STATE'];
const ATTRIBUTES = Object.keys(QpMask).filter((name) => name !== 'STATE') as Attribute[];
const CONNECTION: Connection = { reliable: false, port: 1, dlid: 2, remoteQpn: 5, pathMtu: 2 };
const STATES = [QpState.RESET, QpState.INIT, QpState.RTR, QpState.RTS, QpState.SQD, QpState.SQE, QpState.ERR] as const;

function maskOf(names: readonly Attribute[]): number {
  return names.reduce((mask, name) => mask | QpMask[name], QpMask.STATE as number);
}

/** Moves a QP from any state to `state` by the shortest way and checks the result. */
function bringTo(qp: DriverQueuePair, service: Service, state: QpState): void {
  const connected = service !== 'UD' && service !== 'SMI' && service !== 'GSI';
  const responds = { ...CONNECTION, reliable: service === 'RC' || service === 'XRC_TARGET' };
  const retries = { ...CONNECTION, reliable: service === 'RC' || service === 'XRC_INITIATOR' };
  qp.toReset();
  if (state === QpState.ERR) qp.toError();
  if (state === QpState.RESET || state === QpState.ERR) return;
  if (service === 'SMI' || service === 'GSI') qp.toSpecialInit();
  else if (service === 'UD') qp.toInit({ port: 1 });
  else qp.toConnectedInit(CONNECTION);
  if (state === QpState.INIT) return;
  if (!connected) qp.toReadyToReceive();
  else qp.toConnectedReceive(responds);
  if (state === QpState.RTR) return;
  if (service === 'XRC_TARGET') qp.change({ attributeMask: maskOf(['SEND_PSN', 'TIMEOUT']), state: QpState.RTS });
  else if (!connected) qp.toReadyToSend();
  else qp.toConnectedSend(retries);
  if (state === QpState.SQD) qp.change({ attributeMask: QpMask.STATE, state });
  if (state !== QpState.SQE) return;
  qp.post({ header: { opcode: 0x77 } });
  qp.parts.sendCq.take();
}

class Subject {
  readonly #fixture = new AdapterFixture({ memoryBytes: 32 * 1024 * 1024 });
  readonly #service: Service;
  readonly #qp: DriverQueuePair;

  constructor(service: Service) {
    this.#service = service;
    this.#fixture.machine.onStep = () => {};
    this.#qp = createOfService(this.#fixture, ServiceType[service]);
  }

  /**
   * Requests a change with these attributes, all of them in range. Returns its status, the field
   * blamed, and the state afterwards.
   */
  try(from: QpState, to: QpState, names: readonly Attribute[]) {
    bringTo(this.#qp, this.#service, from);
    const attributes = { attributeMask: maskOf(names), state: to, currentState: from, port: 1, pathMtu: 2 };
    const { status, badOffset } = this.#qp.modify(attributes, CONNECTION);
    return { status, badOffset, state: this.#qp.query().state };
  }
}

const BAD_MASK = {
  status: ManagementStatus.BAD_FIELD,
  badOffset: COMMAND_HEADER_BYTES + QP_ATTRIBUTES_ATTRIBUTE_MASK_OFFSET,
};

function checkChange(t: Test, subject: Subject, from: QpState, to: QpState, { required, optional }: Rules): void {
  const change = `${qpStateName(from)} to ${qpStateName(to)}`;
  const done = { status: ManagementStatus.OK, state: to };
  const refused = { ...BAD_MASK, state: from };
  t.match(subject.try(from, to, required), done, `${change} with the required attributes`);
  t.match(subject.try(from, to, [...required, ...optional]), done, `${change} with all it takes`);
  for (const missing of required) {
    const rest = required.filter((name) => name !== missing);
    t.match(subject.try(from, to, rest), refused, `${change} without ${missing}`);
  }
  for (const name of ATTRIBUTES) {
    const given = subject.try(from, to, [...required, name]);
    if (MIGRATION.includes(name))
      t.match(given, { status: ManagementStatus.UNSUPPORTED, state: from }, `${change}: ${name}`);
    else if (required.includes(name) || optional.includes(name)) t.match(given, done, `${change} with ${name}`);
    else t.match(given, refused, `${change} does not take ${name}`);
  }
}

for (const service of ['UD', 'UC', 'RC', 'SMI', 'GSI', 'XRC_INITIATOR', 'XRC_TARGET'] as const) {
  for (const change of Object.keys(table)) {
    const [from, to] = change.split(' ').map((name) => QpState[name as keyof typeof QpState]) as [QpState, QpState];
    const expected = rulesOf(change, service);
    if (expected === undefined) continue;
    t.test(`${service}: attributes of ${change}`, async (t) => {
      const name = `${serviceTypeName(ServiceType[service])}, ${change.replace(' ', ' to ')}`;
      ledger(t, '11.2.5.2', `Attributes required, taken and refused: ${name}`);
      checkChange(t, new Subject(service), from, to, expected);
    });
  }
  t.test(`${service}: RESET and ERR are reachable from every state, with no attribute`, async (t) => {
    ledger(
      t,
      '10.3.1',
      `A ${service} QP goes to RESET and ERR from every state, taking no attribute; changes not in the diagram are refused`,
    );
    const subject = new Subject(service);
    for (const from of STATES) {
      if (from === QpState.SQE && (service === 'RC' || service.startsWith('XRC'))) continue;
      for (const to of STATES) {
        const change = `${qpStateName(from)} to ${qpStateName(to)}`;
        if (rulesOf(`${qpStateName(from)} ${qpStateName(to)}`, service) !== undefined) continue;
        if (to === QpState.RESET || to === QpState.ERR) checkChange(t, subject, from, to, rules(''));
        else t.match(subject.try(from, to, []), { status: ManagementStatus.BAD_STATE, state: from }, change);
      }
    }
  });
}

t.test('a change whose current state is not that of the QP is refused', async (t) => {
  ledger(t, '11.2.5.2', 'A change whose current state is not that of the QP is refused');
  for (const service of ['UD', 'UC', 'RC'] as const) {
    const fixture = new AdapterFixture();
    const qp = fixture.createQueuePair({ state: 'reset', creation: { serviceType: ServiceType[service] } });
    bringTo(qp, service, QpState.RTS);
    const attributes = { attributeMask: QpMask.STATE | QpMask.CURRENT_STATE, state: QpState.RTS };
    t.equal(qp.modify({ ...attributes, currentState: QpState.SQE }).status, ManagementStatus.BAD_STATE);
    t.equal(qp.modify({ ...attributes, currentState: QpState.RTS }).status, ManagementStatus.OK);
    fixture.finish();
  }
});

t.test('query QP returns the attributes of a reliable connection as they were set', async (t) => {
  ledger(t, '11.2.5.3', 'Query QP gives every attribute of a connection as it was set');
  const fixture = new AdapterFixture();
  const creation = { serviceType: ServiceType.RC };
  const qp = fixture.createQueuePair({ state: 'reset', creation });
  const timers = { timeout: 19, retryCount: 5, rnrRetry: 6, minRnrTimer: 27 };
  const psns = { sendPsn: 0xabcdef, receivePsn: 0x123456 };
  const set = { port: 2, remoteQpn: 0xfedcba, pathMtu: 4, access: 6, ...timers, ...psns };
  qp.connect({ ...CONNECTION, ...set, reliable: true, maxReads: 3 });
  const { maxReadsInitiated, maxReadsServed, state, ...rest } = qp.query();
  t.match(rest, set);
  t.same([maxReadsInitiated, maxReadsServed, state], [3, 3, QpState.RTS]);
  const changed = {
    timeout: 1,
    retryCount: 0,
    rnrRetry: 7,
    minRnrTimer: 0,
    access: 0,
    maxReadsInitiated: 1,
    maxReadsServed: 16,
  };
  qp.change({ attributeMask: QpMask.STATE, state: QpState.SQD });
  const { required } = rules(`${RETRIES} MIN_RNR_TIMER ACCESS MAX_READS_INITIATED MAX_READS_SERVED`);
  qp.change({ attributeMask: maskOf(required) & ~QpMask.STATE, ...changed });
  t.match(qp.query(), { ...set, ...changed, state: QpState.SQD });
  fixture.finish();
});

t.test('query QP returns the address vector of a connection as it was written', async (t) => {
  ledger(t, '11.2.5.3', 'Query QP gives every attribute of a connection as it was set');
  const fixture = new AdapterFixture();
  const qp = fixture.createQueuePair({ state: 'reset', creation: { serviceType: ServiceType.RC } });
  const queryVector = (): AddressHandle => {
    const { payload } = fixture.driver.management.perform({ opcode: ManagementOpcode.QUERY_QP, objectNumber: qp.qpn });
    return decodeAddressHandle(payload, QP_CREATION_SIZE + QP_ATTRIBUTES_ADDRESS_VECTOR_OFFSET, newAddressHandle());
  };
  t.match(queryVector(), { port: 0, dlid: 0 }, 'there is none yet');
  qp.connect({ ...CONNECTION, dlid: 2, reliable: true, maxReads: 3 });
  t.match(queryVector(), { port: 1, dlid: 2 });
  fixture.finish();
});

t.test('values of a connection that are out of range are refused', async (t) => {
  ledger(t, '11.2.5.2', 'A path MTU, port or number of READs out of range is refused and the QP stays as it was');
  const fixture = new AdapterFixture();
  const path = { ...CONNECTION, reliable: true };
  const qp = fixture.createQueuePair({ state: 'reset', creation: { serviceType: ServiceType.RC } });
  for (const port of [0, 3]) {
    t.throws(() => qp.toConnectedInit({ ...path, port }), /BAD_FIELD/, `port ${port}`);
    t.equal(qp.query().state, QpState.RESET);
  }
  qp.toConnectedInit(path);
  for (const bad of [{ pathMtu: 0 }, { pathMtu: 6 }, { pathMtu: 7 }, { maxReads: 17 }, { maxReads: 255 }]) {
    t.throws(() => qp.toConnectedReceive({ ...path, ...bad }), /BAD_FIELD/, JSON.stringify(bad));
    t.match(qp.query(), { state: QpState.INIT, pathMtu: 0, maxReadsServed: 0, remoteQpn: 0 });
  }
  qp.toConnectedReceive(path);
  t.throws(() => qp.toConnectedSend({ ...path, maxReads: 17 }), /BAD_FIELD/);
  t.match(qp.query(), { state: QpState.RTR, maxReadsInitiated: 0 });
  fixture.finish();
});
