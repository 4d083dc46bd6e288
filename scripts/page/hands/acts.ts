// SPDX-License-Identifier: Apache-2.0
/**
 * Actions of a reader on the page, as forms: the fields of each, and the request of the control
 * socket that they make. Pure; hands-view.tsx shows the forms.
 */
import type { Act } from '../../cli/view/view-protocol.ts';

export interface Field {
  readonly name: string;
  readonly label: string;
  /** `link`: a choice among the existing links. */
  readonly kind: 'text' | 'number' | 'link' | 'choice';
  readonly choices?: readonly string[];
  readonly hint?: string;
}

/** By the names of fields; empty texts are left out. */
export type Values = Readonly<Record<string, string>>;

export interface Form {
  readonly id: string;
  readonly title: string;
  readonly purpose: string;
  readonly fields: readonly Field[];
  /** The word on the button. */
  readonly verb: string;
  /** It is for adapters with a personality only, or for others only. */
  readonly onlyFor?: 'personality' | 'native';
  /** Undefined while a field that it needs is empty. */
  act(values: Values, adapter: string | undefined): Act | undefined;
}

const LINK: Field = { name: 'port', label: 'Link', kind: 'link' };
/** Properties of links in the order of docs/TOPOLOGY.md. */
const FAULTS = ['drop', 'duplicate', 'reorder', 'corrupt', 'delay'] as const;
const PROPERTIES = ['bitsPerSecond', 'delayNs', 'seed'] as const;
const INJECTED = ['link-flap', 'link-down', 'link-up', 'lost-completions', 'lost-commands', 'fatal'];

const linkForm = (id: string, title: string, purpose: string, verb: string): Form => ({
  ...{ id, title, purpose, verb },
  fields: [LINK],
  act: ({ port }) => (port ? { command: 'link', parameters: { port, words: [id] } } : undefined),
});

export const FORMS: readonly Form[] = [
  linkForm('down', 'Cut a link', 'Pulls the cable out.', 'Cut'),
  linkForm('up', 'Plug a link in', 'Plugs the cable in again.', 'Plug in'),
  {
    id: 'faults',
    title: 'Give a link faults',
    purpose: 'Each packet has the fault with this probability, from 0 to 1. A plain cable trains once.',
    verb: 'Set',
    fields: [
      LINK,
      ...FAULTS.map((name): Field => ({ name, label: name, kind: 'number' })),
      { name: 'bitsPerSecond', label: 'bits per second', kind: 'number' },
      { name: 'delayNs', label: 'delay in ns', kind: 'number' },
      { name: 'seed', label: 'seed', kind: 'number' },
    ],
    act: (values) => {
      const words = [...FAULTS, ...PROPERTIES].flatMap((name) => (values[name] ? [`${name}=${values[name]}`] : []));
      if (!values.port || words.length === 0) return undefined;
      return { command: 'link', parameters: { port: values.port, words: ['set', ...words] } };
    },
  },
  {
    id: 'resources',
    title: 'Share resources',
    purpose: 'All words are one request: it is done as a whole or not at all.',
    verb: 'Share',
    onlyFor: 'native',
    fields: [{ name: 'words', label: 'Request', kind: 'text', hint: 'function 1 vcbs=25 pcbs=20' }],
    act: ({ words }, adapter) => wordsAct('set-resources', words, adapter),
  },
  {
    id: 'inject',
    title: 'Inject a fault',
    purpose: 'The adapter fails in the way that its driver must survive.',
    verb: 'Inject',
    onlyFor: 'personality',
    fields: [
      { name: 'fault', label: 'Fault', kind: 'choice', choices: INJECTED },
      { name: 'words', label: 'Values', kind: 'text', hint: 'port=1 count=3' },
    ],
    act: ({ fault, words = '' }, adapter) => wordsAct('inject', `${fault ?? ''} ${words}`, adapter),
  },
  {
    id: 'trace-on',
    title: 'Trace a queue pair',
    purpose: 'Its messages are recorded, and told in Story.',
    verb: 'Trace',
    fields: [{ name: 'qp', label: 'Queue pair', kind: 'number' }],
    act: ({ qp }, adapter) => numberAct('trace-on', 'qp', qp, adapter),
  },
  {
    id: 'trace-new',
    title: 'Trace new queue pairs',
    purpose: 'Each queue pair that comes from now on is traced.',
    verb: 'Trace',
    fields: [],
    act: (_, adapter) => ({ command: 'trace-on', parameters: { ...of(adapter), rule: {} } }),
  },
  {
    id: 'trace-off',
    title: 'End a trace',
    purpose: 'The queue pair is traced no longer.',
    verb: 'End',
    fields: [{ name: 'qp', label: 'Queue pair', kind: 'number' }],
    act: ({ qp }, adapter) => numberAct('trace-off', 'qp', qp, adapter),
  },
  {
    id: 'capture-start',
    title: 'Capture packets',
    purpose: 'Writes a file for Wireshark on the machine of the process, until it is ended.',
    verb: 'Capture',
    fields: [
      { name: 'path', label: 'File', kind: 'text', hint: '/tmp/packets.pcapng' },
      { name: 'port', label: 'Port', kind: 'number' },
      { name: 'direction', label: 'Direction', kind: 'choice', choices: ['sent', 'received'] },
      { name: 'count', label: 'Packets at most', kind: 'number' },
    ],
    act: ({ path, port, direction, count }, adapter) =>
      path
        ? {
            command: 'capture-start',
            parameters: {
              ...{ path, ...of(adapter), ...numberOf('port', port) },
              ...(direction ? { direction } : {}),
              ...numberOf('count', count),
            },
          }
        : undefined,
  },
  {
    id: 'capture-stop',
    title: 'End the capture',
    purpose: 'Closes the file.',
    verb: 'End',
    fields: [],
    act: () => ({ command: 'capture-stop', parameters: {} }),
  },
];

/** Forms for an adapter. */
export function formsFor(personality: string | undefined): readonly Form[] {
  const kind = personality === undefined ? 'native' : 'personality';
  return FORMS.filter(({ onlyFor = kind }) => onlyFor === kind);
}

function of(adapter: string | undefined): { readonly adapter?: string } {
  return adapter === undefined ? {} : { adapter };
}

function numberOf(name: string, text: string | undefined): Readonly<Record<string, number>> {
  return text ? { [name]: Number(text) } : {};
}

function numberAct(command: string, name: string, text: string | undefined, adapter: string | undefined) {
  return text ? { command, parameters: { ...of(adapter), ...numberOf(name, text) } } : undefined;
}

function wordsAct(command: string, text = '', adapter: string | undefined): Act | undefined {
  const words = text.trim().split(/\s+/).filter(Boolean);
  return words.length === 0 ? undefined : { command, parameters: { words, ...of(adapter) } };
}
