// SPDX-License-Identifier: Apache-2.0
/**
 * The C code that turns values of the layout into something else names every value. The compiler
 * accepts a table or a switch that lacks one: an event without a handler is dropped, and a status
 * without an error number counts as success. So each of them has a row here, and a row gives the
 * reason why it leaves out a value.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { valueTables } from '../protocol/layout/values.ts';

const FOLDERS = ['driver', 'driver/ib', 'provider'];

/** For each table and switch, by file and name: the constants that it names. */
type Maps = ReadonlyMap<string, ReadonlyMap<string, string>>;

interface Row {
  /** The table of values whose names are expected. */
  readonly values: string;
  /** Of the event types, only those that this handler of the driver gets. */
  readonly handler?: string;
  /** Names that are left out, by reason. */
  readonly without?: Readonly<Record<string, readonly string[]>>;
}

const SENDS = ['SEND', 'SEND_IMMEDIATE', 'SEND_INVALIDATE'];
/** vuhca_service.c reports this event to the owners of all objects that a reset destroys. */
const FATAL = 'DEVICE_FATAL';
const NO_SENDS = { 'nothing may be posted': ['RESET', 'INIT', 'RTR'] };

const HANDLERS = 'driver/vuhca_main.c vuhca_event_ops';
const ROWS: Readonly<Record<string, Row>> = {
  [HANDLERS]: { values: 'event-type' },
  'driver/ib/vib_event.c vib_qp_types': {
    values: 'event-type',
    handler: 'vuhca_qp_event',
    without: { 'the core has no such event': ['TRACE_STOPPED'] },
  },
  'driver/ib/vib_event.c vib_cq_types': {
    values: 'event-type',
    handler: 'vuhca_cq_event',
    without: { 'the completion handler is called': ['COMPLETION'] },
  },
  'driver/ib/vib_event.c vib_srq_types': { values: 'event-type', handler: 'vuhca_srq_event' },
  'driver/ib/vib_event.c vib_port_types': {
    values: 'event-type',
    handler: 'vuhca_port_event',
    without: { 'ports stay over a reset': [FATAL] },
  },
  'driver/vuhca_command.c vuhca_status_errno': { values: 'management-status' },
  'driver/vuhca_shares_request.c vuhca_reasons': {
    values: 'management-status',
    without: {
      'it is no refusal': ['OK'],
      'requests of resources do not end so, or the number says enough': [
        ...['BAD_OPCODE', 'BAD_LENGTH', 'BAD_CHECKSUM', 'BAD_ADDRESS', 'IN_USE', 'UNSUPPORTED', 'DISABLED'],
        ...['NO_TRANSLATIONS', 'SHARE_USED_UP'],
      ],
    },
  },
  'driver/vuhca_wqe.c vuhca_put_target': {
    values: 'send-opcode',
    without: {
      'it goes to a datagram QP, or has no target': [...SENDS, 'NOP'],
      'its key stands in the header': ['LOCAL_INVALIDATE'],
    },
  },
  'driver/ib/vib_wr.c vib_has_payload': {
    values: 'send-opcode',
    without: {
      'the message comes from the peer': ['RDMA_READ', 'COMPARE_SWAP', 'FETCH_ADD'],
      'it has no message': ['NOP', 'FLUSH', 'LOCAL_INVALIDATE', 'FAST_REGISTER', 'BIND_WINDOW'],
    },
  },
  'driver/ib/vib_cq.c vib_wc_opcode': {
    values: 'completion-opcode',
    without: { 'it is what other opcodes become': ['SEND'], 'kernel users post none': ['NOP'] },
  },
  'driver/vuhca_qp_post.c vuhca_may_send': { values: 'qp-state', without: NO_SENDS },
  'driver/ib/vib_post.c vib_may_send': { values: 'qp-state', without: NO_SENDS },
};

/** Definitions begin at the start of a line. */
const PLACE = /^[a-z][\w *]*?\b(\w+)(?:\(|\[|\s*=)/;
const NAMED = /(?:\[VUHCA_(\w+)\]\s*=\s*([^,]*)|\bcase VUHCA_(\w+):)/;
const COMMENT = /\/\*[\s\S]*?\*\//g;

t.test('tables and switches of the C code name every value of the layout', async (t) => {
  const maps: Maps = new Map(FOLDERS.flatMap((folder) => [...readFolder(folder)]));
  t.same([...maps.keys()].sort(), Object.keys(ROWS).sort(), 'each one has a row');
  for (const [name, row] of Object.entries(ROWS)) t.same(judge(maps, name, row), [], name);
});

t.test('a value that no line names is found', async (t) => {
  const table = (lines: string) =>
    readMaps('x.c', `static const u8 states[] = {\n${lines}\t/* [VUHCA_QP_STATE_ERR] = 7 */\n};\n`);
  const all = ['RESET', 'INIT', 'RTR', 'RTS', 'SQD', 'SQE', 'ERR'].map((name) => `\t[VUHCA_QP_STATE_${name}] = 1,\n`);
  const of = (lines: readonly string[], without = {}) =>
    judge(table(lines.join('')), 'x.c states', { values: 'qp-state', without });
  t.same(of(all), []);
  t.same(of(all.slice(0, -1)), ['ERR is missing']);
  t.same(of(all.slice(0, -1), { 'no reason': ['ERR'] }), []);
  t.same(of(all, { 'no reason': ['ERR'] }), ['ERR is named, but left out: no reason']);
  t.same(of(all, { 'no reason': ['ERRR'] }), ['no value ERRR']);
  const text = 'static bool f(int x)\n{\n\tswitch (x) {\n\tcase VUHCA_MR_KIND_X:\n\tcase VUHCA_NOT_OURS:\n\t}\n}\n';
  t.same([...readMaps('y.c', text).keys()], ['y.c f'], 'a switch belongs to its function');
});

function readFolder(folder: string): [string, ReadonlyMap<string, string>][] {
  const path = fileURLToPath(new URL(folder, import.meta.url));
  return readdirSync(path)
    .filter((name) => name.endsWith('.c'))
    .flatMap((name) => [...readMaps(`${folder}/${name}`, readFileSync(`${path}/${name}`, 'utf8'))]);
}

/** The tables and switches of a file that name values of the layout. */
function readMaps(file: string, text: string): Maps {
  const maps = new Map<string, Map<string, string>>();
  let place = '';
  for (const line of text.replace(COMMENT, '').split('\n')) {
    place = PLACE.exec(line)?.[1] ?? place;
    const [, entry, becomes = '', label] = NAMED.exec(line) ?? [];
    const constant = entry ?? label;
    if (constant === undefined || !valueTables.some(({ name }) => constant.startsWith(prefixOf(name)))) continue;
    const key = `${file} ${place}`;
    maps.set(key, (maps.get(key) ?? new Map()).set(constant, becomes.trim()));
  }
  return maps;
}

function prefixOf(values: string): string {
  return `${values.toUpperCase().replaceAll('-', '_')}_`;
}

/** The faults of a table or a switch. */
function judge(maps: Maps, name: string, { values, handler, without = {} }: Row): string[] {
  const prefix = prefixOf(values);
  const named = new Set([...(maps.get(name)?.keys() ?? [])].map((constant) => constant.slice(prefix.length)));
  const all = valueTables.find((table) => table.name === values)?.values.map((value) => value.name) ?? [];
  const handled = (value: string) =>
    handler === undefined || value === FATAL || maps.get(HANDLERS)?.get(`${prefix}${value}`) === handler;
  const reasons = new Map(Object.entries(without).flatMap(([reason, list]) => list.map((value) => [value, reason])));
  return [
    ...all
      .filter((value) => handled(value) && !named.has(value) && !reasons.has(value))
      .map((value) => `${value} is missing`),
    ...[...reasons]
      .filter(([value]) => named.has(value))
      .map(([value, reason]) => `${value} is named, but left out: ${reason}`),
    ...[...reasons.keys(), ...named].filter((value) => !all.includes(value)).map((value) => `no value ${value}`),
    ...[...named].filter((value) => !handled(value)).map((value) => `${value} goes to another handler`),
  ];
}
