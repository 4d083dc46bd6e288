// SPDX-License-Identifier: Apache-2.0
/** Watches the calls of a method, for the logs of the model (model-log.ts). Tests only. */

type Method = (...parameters: never[]) => unknown;

/** Replaces a method of one object by `around`, which makes the call. */
export function wrap<Name extends string>(
  object: { readonly [name in Name]: Method },
  name: Name,
  around: (call: () => unknown, ...parameters: number[]) => unknown,
): void {
  const method = object[name] as (...parameters: unknown[]) => unknown;
  Object.defineProperty(object, name, {
    configurable: true,
    value: (...parameters: unknown[]) =>
      around(() => method.apply(object, parameters), ...(parameters as never as number[])),
  });
}
