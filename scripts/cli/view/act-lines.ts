// SPDX-License-Identifier: Apache-2.0
/**
 * The command lines of acts: for each request of the control socket that a page may make, the words
 * by which `vuhca` makes the same request. A request that no command line makes is refused, so the
 * line that a page shows is true. Pure. Called by live-source.ts.
 */
import { printable } from '../../../protocol/system/printable.mjs';
import type { Act } from './view-protocol.ts';
import { ViewRefusal } from './view-source.ts';

const NS_PER_SECOND = 1e9;
const BYTES_PER_MIB = 2 ** 20;
const LINK_VERBS: readonly string[] = ['down', 'up', 'set'];

/** The end of a capture is no command, so its line is a comment for a shell. */
const CAPTURE_END = '# Ctrl-C ends `vuhca capture`';

/** The parameters of an act. Each is read once; the rest is a mistake. */
class Parameters {
  readonly #left: Map<string, unknown>;

  constructor({ parameters }: Act) {
    this.#left = new Map(Object.entries(parameters).filter(([, value]) => value !== undefined));
  }

  /** Words of a command line; a word that begins with a dash would be an option of it. */
  words(name: string): readonly string[] {
    const value = this.#take(name);
    if (!Array.isArray(value) || value.length === 0) throw refused(`${name} must be a list of words`);
    return value.map((word) => readWord(name, word));
  }

  word(name: string): string {
    return readWord(name, this.#take(name));
  }

  /** The option with a text as its value; none when the parameter is missing. */
  textOption(option: string, name: string): readonly string[] {
    return this.#left.has(name) ? [`${option}=${readText(name, this.#take(name))}`] : [];
  }

  /** The same with a whole number in units of `unit`, where the option has its own. */
  numberOption(option: string, name: string, unit = 1): readonly string[] {
    if (!this.#left.has(name)) return [];
    const value = this.#take(name);
    if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 && value % unit === 0)
      return [`${option}=${value / unit}`];
    throw refused(`${name} must be a whole number${unit === 1 ? '' : `, a multiple of ${unit}`}`);
  }

  /** The same for a parameter that is true or false. */
  flagOption(option: string, name: string): readonly string[] {
    const value = this.#left.has(name) ? this.#take(name) : false;
    if (typeof value !== 'boolean') throw refused(`${name} must be true or false`);
    return value ? [option] : [];
  }

  /** The parameters of a parameter; undefined when it is missing. */
  inner(name: string): Parameters | undefined {
    if (!this.#left.has(name)) return undefined;
    const value = this.#take(name);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) throw refused(`${name} must be an object`);
    return new Parameters({ command: name, parameters: value as Act['parameters'] });
  }

  /** Throws unless exactly one of the parameters is given. */
  oneOf(...names: readonly string[]): void {
    if (names.filter((name) => this.#left.has(name)).length !== 1) throw refused(`give one of ${names.join(', ')}`);
  }

  /** Throws when more than one of the parameters is given. */
  atMostOneOf(...names: readonly string[]): void {
    if (names.filter((name) => this.#left.has(name)).length > 1) throw refused(`give ${names.join(' or ')}, not both`);
  }

  /** Throws for parameters that were not read. */
  end(): void {
    const [name] = this.#left.keys();
    if (name !== undefined) throw refused(`there is no parameter ${printable(name)}`);
  }

  #take(name: string): unknown {
    const value = this.#left.get(name);
    this.#left.delete(name);
    return value;
  }
}

type WordsOf = (given: Parameters) => readonly string[];

const ofAdapter = (given: Parameters): readonly string[] => given.textOption('--adapter', 'adapter');

/** An action of `vuhca trace` without options of its own. */
const traceWords =
  (...words: readonly string[]): WordsOf =>
  (given) => ['trace', ...words, ...ofAdapter(given)];

/** The words of each act after `vuhca`, without `--control`. */
const acts: Readonly<Record<string, WordsOf>> = {
  link: (given) => {
    const [verb = '', ...properties] = given.words('words');
    if (!LINK_VERBS.includes(verb)) throw refused(`the first word must be ${LINK_VERBS.join(', ')}`);
    if (properties.some((word) => word.includes(','))) throw refused('give each property as a word of its own');
    return ['link', verb, given.word('port'), ...properties];
  },
  inject: (given) => ['inject', ...given.words('words'), ...ofAdapter(given)],
  fail: (given) => {
    const cause = given.textOption('cause', 'cause');
    return [
      'inject',
      'fatal',
      ...(cause.length > 0 ? cause : ['cause=internal']),
      'firmware=refuses',
      ...ofAdapter(given),
    ];
  },
  step: (given) => {
    given.oneOf('count', 'until', 'go', 'stop');
    const count = given.numberOption('count', 'count').map((word) => word.replace('count=', ''));
    const moves = [...given.flagOption('--go', 'go'), ...given.flagOption('--stop', 'stop')];
    const words = [...count, ...given.textOption('--until', 'until'), ...moves];
    if (words.length === 0) throw refused('go and stop must be true');
    return ['step', ...words];
  },
  resources: (given) => ['resources', 'show', ...ofAdapter(given)],
  'set-resources': (given) => ['resources', 'set', ...given.words('words'), ...ofAdapter(given)],
  'trace-status': traceWords('status'),
  'trace-pause': traceWords('pause'),
  'trace-resume': traceWords('resume'),
  'trace-on': (given) => {
    given.oneOf('qp', 'process', 'rule');
    given.atMostOneOf('blocksLog2', 'bytes');
    return [
      ...['trace', 'on', ...ofAdapter(given), ...readTraced(given)],
      ...given.numberOption('--blocks', 'blocksLog2'),
      ...given.numberOption('--bytes', 'bytes'),
      ...given.numberOption('--snap', 'snapLength'),
      ...given.flagOption('--stop-on-error', 'stopOnError'),
      ...given.numberOption('--seconds', 'keepNs', NS_PER_SECOND),
    ];
  },
  'trace-off': (given) => {
    given.oneOf('qp', 'process', 'rules');
    const rules = given.flagOption('--new', 'rules');
    const traced = [...given.numberOption('--qp', 'qp'), ...given.numberOption('--process', 'process'), ...rules];
    if (traced.length === 0) throw refused('rules must be true');
    return ['trace', 'off', ...ofAdapter(given), ...traced];
  },
  'timeline-on': (given) => [
    ...['trace', 'on', '--timeline', ...ofAdapter(given)],
    ...given.numberOption('--steps', 'stepsLog2'),
    ...given.numberOption('--seconds', 'keepNs', NS_PER_SECOND),
  ],
  'timeline-off': traceWords('off', '--timeline'),
  'capture-start': (given) => {
    const path = given.textOption('--output', 'path');
    if (path.length === 0) throw refused('path is missing');
    return [
      ...['capture', ...path, ...ofAdapter(given)],
      ...given.numberOption('--port', 'port'),
      ...given.textOption('--direction', 'direction'),
      ...given.numberOption('--count', 'count'),
      ...given.numberOption('--limit', 'limitBytes', BYTES_PER_MIB),
    ];
  },
};

/** Acts of a running capture, which its own command performs by itself. */
const ofCapture: readonly string[] = ['capture-progress', 'capture-stop'];

/** The names of all acts. */
export const actNames: readonly string[] = [...Object.keys(acts), ...ofCapture];

/** The command line of an act. Throws ViewRefusal for other commands. */
export function describeAct(act: Act, controlPath: string): string {
  const given = new Parameters(act);
  const words = Object.hasOwn(acts, act.command) ? acts[act.command](given) : [];
  if (!actNames.includes(act.command))
    throw refused(`${printable(act.command)} is no act; there are ${actNames.join(', ')}`);
  given.end();
  if (words.length === 0) return CAPTURE_END;
  return ['vuhca', ...words, `--control=${controlPath}`].map(quote).join(' ');
}

/** The word as a shell reads it (POSIX, Shell Command Language, 2.2.2). */
export function quote(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The QPs of a trace: one, those of a process, or those to come. */
function readTraced(given: Parameters): readonly string[] {
  const rule = given.inner('rule');
  if (rule === undefined) return [...given.numberOption('--qp', 'qp'), ...given.numberOption('--process', 'process')];
  const words = [
    '--new',
    ...rule.textOption('--service', 'service'),
    ...rule.numberOption('--function', 'functionNumber'),
    ...rule.numberOption('--peer-lid', 'peerLid'),
    ...rule.numberOption('--peer-qp', 'peerQp'),
    ...rule.numberOption('--process', 'process'),
  ];
  rule.end();
  return words;
}

function readWord(name: string, value: unknown): string {
  const word = readText(name, value);
  if (word.startsWith('-')) throw refused(`${name}: ${word} begins with a dash`);
  return word;
}

/** Characters that a terminal would not show are not allowed in a command line. */
function readText(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') throw refused(`${name} must be a text`);
  if (printable(value) !== value || value.includes('\t')) throw refused(`${name} has characters that are not visible`);
  return value;
}

function refused(sentence: string): ViewRefusal {
  return new ViewRefusal('bad', sentence);
}
