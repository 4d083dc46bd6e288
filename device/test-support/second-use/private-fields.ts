// SPDX-License-Identifier: Apache-2.0
/**
 * The `#private` fields of an object, by the inspector of Node: reflection does not show them, and
 * they are where a unit keeps what a reset must not leave. Used by `findStateDifferences`.
 */

/** A connected session of `node:inspector`; units of the device do not import it. */
export interface Inspector {
  post(method: string, params: object, callback?: (error: Error | null, answer?: object) => void): void;
}

/** The parts of the inspector's answers that count here. */
interface RemoteObject {
  readonly objectId?: string;
  readonly value?: unknown;
  readonly unserializableValue?: string;
}

interface Properties {
  readonly privateProperties?: readonly { readonly name: string; readonly value?: RemoteObject }[];
}

const GROUP = 'private fields';

/** What the code in the inspector hands over: the inspector itself returns copies only. */
const exchange: { subject?: object; found?: unknown[] } = {};
Object.assign(globalThis, { privateFieldsExchange: exchange });

/** Whether objects of a constructor have private fields, their superclasses included. */
const privacy = new Map<object, boolean>();

export class PrivateFields {
  readonly #inspector: Inspector;

  constructor(inspector: Inspector) {
    this.#inspector = inspector;
  }

  /** Names, with `#`, and values of the private fields of `subject`. */
  of(subject: object): ReadonlyMap<string, unknown> {
    const fields = new Map<string, unknown>();
    if (!hasPrivateFields(subject.constructor)) return fields;
    exchange.subject = subject;
    const { result } = this.#ask('Runtime.evaluate', {
      expression: 'privateFieldsExchange.subject',
      objectGroup: GROUP,
    }) as { result: RemoteObject };
    const { objectId } = result;
    const { privateProperties = [] } = this.#ask('Runtime.getProperties', { objectId }) as Properties;
    const objects: [string, object][] = [];
    for (const { name, value } of privateProperties) {
      if (value?.objectId !== undefined) objects.push([name, { objectId: value.objectId }]);
      else if (value !== undefined) fields.set(name, value.unserializableValue ?? value.value);
    }
    if (objects.length > 0) for (const [name, value] of this.#handOver(objectId, objects)) fields.set(name, value);
    this.#ask('Runtime.releaseObjectGroup', { objectGroup: GROUP });
    return fields;
  }

  /** Lets the inspector pass objects that it knows by number. */
  #handOver(objectId: string | undefined, objects: readonly [string, object][]): [string, unknown][] {
    const functionDeclaration = 'function (...found) { privateFieldsExchange.found = found; }';
    const known = objects.map(([, argument]) => argument);
    this.#ask('Runtime.callFunctionOn', { objectId, functionDeclaration, arguments: known });
    return objects.map(([name], index) => [name, exchange.found?.[index]]);
  }

  /** The inspector of the own thread answers before `post` returns. */
  #ask(method: string, params: object): object {
    let result: object = {};
    this.#inspector.post(method, params, (error, answer) => {
      if (error !== null) throw new Error(`the inspector refuses ${method}: ${error.message}`);
      result = answer ?? {};
    });
    return result;
  }
}

function hasPrivateFields(made: unknown): boolean {
  if (typeof made !== 'function' || made === Function.prototype) return false;
  let known = privacy.get(made);
  if (known === undefined) {
    known = /(^|[^\w'"`])#\w/.test(Function.prototype.toString.call(made));
    known ||= hasPrivateFields(Object.getPrototypeOf(made));
    privacy.set(made, known);
  }
  return known;
}
