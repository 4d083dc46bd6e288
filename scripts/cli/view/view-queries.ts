// SPDX-License-Identifier: Apache-2.0
/**
 * Reads the parameters and bodies of requests to the server of `vuhca view` into the types of
 * view-protocol.ts. Each mistake is a ViewRefusal of one sentence. Pure; view-server.ts calls it.
 */
import { VIEW_NAMES } from '../../../device/hca/adapter/contents/view-names.ts';
import type { Act, FindQuery, RouteQuery, StoryQuery, ViewQuery } from './view-protocol.ts';
import { ViewRefusal } from './view-source.ts';

/** `views` are the views of `vuhca show` with commas between them. */
export function readViewQuery(parameters: URLSearchParams): ViewQuery {
  checkNames(parameters, ['adapter', 'views', 'step']);
  const adapter = parameters.get('adapter') ?? undefined;
  const views = [...new Set(parameters.get('views')?.split(',').filter(Boolean))];
  const unknown = views.find((one) => !VIEW_NAMES.some((name) => name === one));
  if (unknown !== undefined) throw new ViewRefusal('bad', `there is no view ${unknown}; use ${VIEW_NAMES.join(', ')}`);
  if (views.length > 0 && adapter === undefined) throw new ViewRefusal('bad', 'views need an adapter');
  return { ...(adapter !== undefined && { adapter }), ...(views.length > 0 && { views }), ...readStep(parameters) };
}

export function readRouteQuery(parameters: URLSearchParams): RouteQuery {
  checkNames(parameters, ['from', 'to', 'step']);
  return { from: readText(parameters, 'from'), to: readText(parameters, 'to'), ...readStep(parameters) };
}

export function readStoryQuery(parameters: URLSearchParams): StoryQuery {
  checkNames(parameters, ['adapter', 'qp', 'step']);
  const qp = readWhole(parameters, 'qp');
  if (qp === undefined) throw new ViewRefusal('bad', 'parameter qp is missing');
  return { adapter: readText(parameters, 'adapter'), qp, ...readStep(parameters) };
}

export function readFindQuery(parameters: URLSearchParams): FindQuery {
  checkNames(parameters, ['condition', 'from', 'backward']);
  const backward = parameters.get('backward') ?? 'false';
  if (backward !== 'true' && backward !== 'false')
    throw new ViewRefusal('bad', 'parameter backward must be true or false');
  const query = { condition: readText(parameters, 'condition'), from: readWhole(parameters, 'from') ?? 0 };
  return backward === 'true' ? { ...query, backward: true } : query;
}

/** The body of a request, decoded. */
export function readAct(text: string): Act {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new ViewRefusal('bad', 'the body is not JSON');
  }
  if (!isObject(value)) throw new ViewRefusal('bad', 'an act is an object');
  const { command, parameters = {}, ...others } = value;
  const [other] = Object.keys(others);
  if (other !== undefined) throw new ViewRefusal('bad', `an act has command and parameters, not ${other}`);
  if (typeof command !== 'string') throw new ViewRefusal('bad', 'the command of an act is a string');
  if (!isObject(parameters)) throw new ViewRefusal('bad', 'the parameters of an act are an object');
  return { command, parameters };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An unread parameter is a mistake, and so is one that is given twice. */
function checkNames(parameters: URLSearchParams, known: readonly string[]): void {
  const names = [...parameters.keys()];
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new ViewRefusal('bad', `there is no parameter ${unknown}; there are ${known.join(', ')}`);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new ViewRefusal('bad', `parameter ${twice} is given twice`);
}

function readText(parameters: URLSearchParams, name: string): string {
  const text = parameters.get(name);
  if (text === null || text === '') throw new ViewRefusal('bad', `parameter ${name} is missing`);
  return text;
}

function readStep(parameters: URLSearchParams): { readonly step?: number } {
  const step = readWhole(parameters, 'step');
  return step === undefined ? {} : { step };
}

function readWhole(parameters: URLSearchParams, name: string): number | undefined {
  const text = parameters.get(name);
  if (text === null) return undefined;
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value)) return value;
  throw new ViewRefusal('bad', `parameter ${name} must be a whole number`);
}
