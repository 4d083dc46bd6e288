// SPDX-License-Identifier: Apache-2.0
/**
 * Passes only strings to the process that started this one: Stryker's are strings, and tap sends an
 * object when it is loaded, which Stryker cannot read. Imported by test-runner.ts before anything
 * that imports tap.
 */
const send = process.send?.bind(process) as ((...args: unknown[]) => boolean) | undefined;

if (send !== undefined) {
  const filtered = (message: unknown, ...rest: unknown[]): boolean =>
    typeof message !== 'string' || send(message, ...rest);
  Object.assign(process, { send: filtered });
}
