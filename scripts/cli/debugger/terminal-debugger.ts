// SPDX-License-Identifier: Apache-2.0
/**
 * A debugger session with a running adapter, in lines of its source files: sets a breakpoint, shows
 * stops, steps and evaluates (Chrome DevTools protocol, domain Debugger). Called by `vuhca break`.
 */
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import { fileURLToPath } from 'node:url';
import type { SourceLine } from './break-command.ts';
import { DebuggerError, InspectorClient, inspectorBounds } from './inspector-client.ts';
import { SourcePlaces } from './source-places.ts';

interface Script {
  readonly scriptId: string;
  readonly url: string;
  readonly sourceMapURL: string;
}

interface Frame {
  readonly callFrameId: string;
  readonly functionName: string;
  readonly location: { readonly scriptId: string; readonly lineNumber: number; readonly columnNumber: number };
}

/** Ways to continue after a stop. */
export const steps = { c: 'resume', n: 'stepOver', s: 'stepInto', o: 'stepOut' } as const;

const CONTEXT_LINES = 3;
const STACK_FRAMES = 20;
/** Characters of the list of an inspector, which has one entry. */
const LIST_MAX = 1 << 20;

export class TerminalDebugger {
  readonly #inspector: InspectorClient;
  readonly #scripts = new Map<string, Script>();
  #frames: readonly Frame[] = [];
  #stopped: (() => void) | undefined = undefined;
  #ended: ((error: Error) => void) | undefined = undefined;

  /** Attaches to the process whose inspector listens at `place`, HOST:PORT. */
  static async attach(place: string): Promise<TerminalDebugger> {
    const session = new TerminalDebugger(await InspectorClient.connect(await findSocket(place)));
    await session.#inspector.call('Debugger.enable');
    return session;
  }

  private constructor(inspector: InspectorClient) {
    this.#inspector = inspector;
    inspector.onEvent(({ method, params }) => {
      if (method === 'Debugger.scriptParsed') this.#scripts.set(params.scriptId, params);
      if (method !== 'Debugger.paused') return;
      this.#frames = params.callFrames;
      this.#stopped?.();
    });
    inspector.onClose(() => this.#ended?.(new DebuggerError('the adapter has ended')));
  }

  /** Sets a breakpoint; returns the line that has it: the next one where V8 can stop. */
  async setBreakpoint({ file, line }: SourceLine): Promise<SourceLine> {
    const script = this.#find(file);
    const places = new SourcePlaces(script.sourceMapURL);
    const found = places.toScript(line - 1);
    if (found === undefined) throw new DebuggerError(`${file} has no code at line ${line} or behind it`);
    const { line: lineNumber, column: columnNumber } = found.generated;
    const location = { scriptId: script.scriptId, lineNumber, columnNumber };
    const { actualLocation } = await this.#inspector.call('Debugger.setBreakpoint', { location });
    const actual = places.toSource({ line: actualLocation.lineNumber, column: actualLocation.columnNumber });
    return { file, line: (actual ?? found.original).line + 1 };
  }

  /**
   * Resolves at the next stop; rejects when the process ends. Call it before the process continues.
   */
  waitForStop(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#stopped = resolve;
      this.#ended = reject;
    });
  }

  async goOn(step: keyof typeof steps): Promise<void> {
    this.#frames = [];
    await this.#inspector.call(`Debugger.${steps[step]}`);
  }

  /** The value of `expression` at the stop, or the reason why it has none. */
  async evaluate(expression: string): Promise<string> {
    const { callFrameId } = this.#frames[0];
    const given = { callFrameId, expression, generatePreview: true };
    const { result } = await this.#inspector.call('Debugger.evaluateOnCallFrame', given);
    return describeValue(result);
  }

  /** The place of the stop, with the lines around it. */
  describeStop(): string {
    const [frame] = this.#frames;
    const { path, line } = this.#place(frame);
    const text = readFileSync(path, 'utf8').split('\n');
    const first = Math.max(0, line - 1 - CONTEXT_LINES);
    const around = text.slice(first, line + CONTEXT_LINES).map((row, index) => {
      const number = first + index + 1;
      return `${number === line ? '>' : ' '}${String(number).padStart(5)} ${row}`;
    });
    return [`stopped in ${this.#name(frame)}`, ...around].join('\n');
  }

  describeStack(): string {
    return this.#frames
      .slice(0, STACK_FRAMES)
      .map((frame, depth) => `${depth}  ${this.#name(frame)}`)
      .join('\n');
  }

  /** Ends the session: removes its breakpoints, and lets the process continue. */
  async close(): Promise<void> {
    this.#ended = undefined;
    await this.#inspector.close();
  }

  #name(frame: Frame): string {
    const { path, line } = this.#place(frame);
    return `${frame.functionName || '(anonymous)'}, ${path}:${line}`;
  }

  /** File and line, from 1, of a frame. */
  #place({ location }: Frame): { readonly path: string; readonly line: number } {
    const { scriptId, lineNumber, columnNumber } = location;
    const script = this.#scripts.get(scriptId);
    const path = script?.url.startsWith('file:') ? fileURLToPath(cutQuery(script.url)) : (script?.url ?? '?');
    if (!script?.sourceMapURL.startsWith('data:')) return { path, line: lineNumber + 1 };
    const place = new SourcePlaces(script.sourceMapURL).toSource({ line: lineNumber, column: columnNumber });
    return { path, line: (place?.line ?? lineNumber) + 1 };
  }

  #find(file: string): Script {
    const end = `/${file.replace(/^(\.\/|\/)/, '')}`;
    const found = [...this.#scripts.values()].filter(({ url }) => cutQuery(url).endsWith(end));
    if (found.length === 1) return found[0];
    if (found.length === 0) throw new DebuggerError(`the adapter has loaded no file ${file}`);
    throw new DebuggerError(`several files end in ${file}; say more of the path`);
  }
}

function cutQuery(url: string): string {
  return url.replace(/[?#].*$/, '');
}

// biome-ignore lint/suspicious/noExplicitAny: a RemoteObject of the protocol.
function describeValue({ value, description, preview, subtype, unserializableValue }: any): string {
  // The stack of a SyntaxError is that of the stop.
  if (subtype === 'error' || preview?.properties === undefined)
    return value === undefined ? firstLine(`${unserializableValue ?? description}`) : JSON.stringify(value);
  const fields = preview.properties.map(
    (field: { name: string; value?: string; type: string }) => `${field.name}: ${field.value ?? field.type}`,
  );
  return `${description} { ${fields.join(', ')}${preview.overflow ? ', ...' : ''} }`;
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0];
}

/** The WebSocket of the process that listens at `place`. */
function findSocket(place: string): Promise<string> {
  const hint = 'begin with `vuhca run --inspect` or `vuhca device --inspect`';
  return new Promise((resolve, reject) => {
    const refuse = (why: string): void => reject(new DebuggerError(`no debugger's port at ${place}: ${why}; ${hint}`));
    const asked = get(`http://${place}/json/list`, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
        if (text.length > LIST_MAX) asked.destroy(new Error('it answers without end'));
      });
      answer.once('error', ({ message }) => refuse(message));
      answer.once('end', () => {
        const found = /"webSocketDebuggerUrl": *"(ws:[^"]+)"/.exec(text)?.[1];
        if (found === undefined) refuse('what answers there is no debugger');
        else resolve(found);
      });
    });
    asked.setTimeout(inspectorBounds.answerMs, () => asked.destroy(new Error('it does not answer')));
    asked.once('error', ({ code, message }: NodeJS.ErrnoException) => refuse(code ?? message));
  });
}
