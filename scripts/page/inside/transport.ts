// SPDX-License-Identifier: Apache-2.0
/**
 * Transport and ports of the picture: commands by place, PSNs that are outstanding, waits and
 * retries of connections (US 8,484,392 par. 39-40; IBTA 9.7), virtual lanes of ports (IBTA 7.6).
 * `inside.ts` calls it.
 */
import type { ViewRow } from '../../cli/view/view-protocol.ts';
import { citations } from './citations.ts';
import {
  type AdapterReport,
  badFacts,
  type Fact,
  type Meter,
  meterOf,
  numberIn,
  type TableRow,
  tableOf,
  textIn,
  type Unit,
} from './picture.ts';

type PortReport = AdapterReport['ports'][number];

const PLACES = ['pipeline', 'completion list'] as const;

/** `pipeline`: of an adapter whose reads of guest memory can take time. */
export function describeTransport(
  drops: AdapterReport['drops'],
  commands: readonly ViewRow[],
  connections: readonly ViewRow[],
  pipeline?: AdapterReport['pipeline'],
): Unit {
  return {
    id: 'transport',
    title: 'Transport',
    source: citations.transport,
    facts: [
      ...PLACES.map((place) => ({
        name: `in the ${place}`,
        value: commands.filter(({ where }) => where === place).length,
      })),
      ...badFacts(drops).map((fact) => ({ ...fact, name: `dropped: ${wordsOf(fact.name)}` })),
    ],
    meters: pipeline === undefined ? [] : pipelineMeters(pipeline),
    grids: [],
    tables: [connectionTable(connections)],
  };
}

function pipelineMeters({ contexts, contextsUsed, latencyNs }: AdapterReport['pipeline']): Meter[] {
  return latencyNs > 0 ? [meterOf('DMA contexts', contexts, [{ kind: 'running', value: contextsUsed }])] : [];
}

/** Connections with something outstanding come first. */
function connectionTable(rows: readonly ViewRow[]) {
  const isBusy = (row: ViewRow): boolean => numberIn(row, 'outstanding') > 0 || row.waitsFor !== null;
  const ordered = [...rows.filter(isBusy), ...rows.filter((row) => !isBusy(row))];
  return tableOf('connections', ['QP', 'PSNs outstanding', 'retries, RNR', 'waits for'], ordered, (row) => ({
    key: textIn(row, 'qp'),
    cells: [
      `${textIn(row, 'qp')} ${textIn(row, 'service')}`,
      describeOutstanding(row),
      `${textIn(row, 'retriesLeft')}, ${textIn(row, 'rnrRetriesLeft')}`,
      describeWait(row),
    ],
    isBad: row.state === 'ERR' || row.state === 'SQE',
  }));
}

/** Reason why it sends nothing: a wait, or its state. */
function describeWait(row: ViewRow): string {
  return row.state === 'RTS' ? textIn(row, 'waitsFor') : textIn(row, 'state');
}

/** `3: 100 to 102`. */
function describeOutstanding(row: ViewRow): string {
  const count = numberIn(row, 'outstanding');
  if (count <= 0) return 'none';
  return `${count}: ${textIn(row, 'unackedPsn')} to ${numberIn(row, 'sentPsn') - 1}`;
}

/** The ports of an adapter, with the packets that wait on each virtual lane. */
export function describePorts(ports: readonly PortReport[]): Unit {
  return {
    id: 'ports',
    title: 'Ports',
    source: citations.ports,
    facts: ports.flatMap(badPortFacts),
    meters: ports.flatMap(({ number, virtualLanes }) => virtualLanes.map((lane) => laneMeter(number, lane))),
    grids: [],
    tables: [tableOf('ports', ['port', 'state', 'LID', 'sent', 'received'], ports, portRow)],
  };
}

function portRow({ number, state, lid, transmitPackets, receivePackets }: PortReport): TableRow {
  return {
    key: `${number}`,
    cells: [number, state, lid, transmitPackets, receivePackets],
    isBad: state === 'DOWN',
  };
}

function badPortFacts({ number, receiveDrops, badPkeys, badQkeys, creditStalls }: PortReport): Fact[] {
  const bad = { drops: receiveDrops, 'bad P_Keys': badPkeys, 'bad Q_Keys': badQkeys };
  return [
    ...(creditStalls > 0 ? [{ name: `port ${number} waits for credit`, value: creditStalls }] : []),
    ...badFacts(bad).map((fact) => ({ ...fact, name: `port ${number} ${fact.name}` })),
  ];
}

function laneMeter(port: number, lane: PortReport['virtualLanes'][number]): Meter {
  const { number, waiting, capacity, sent } = lane;
  const meter = meterOf(`port ${port} VL${number}`, capacity, [{ kind: 'waiting', value: waiting }]);
  return { ...meter, words: `${waiting} of ${capacity}, ${sent} sent` };
}

/** `noReceiveEntry` becomes `no receive entry`. */
export function wordsOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}
