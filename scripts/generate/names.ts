// SPDX-License-Identifier: Apache-2.0
/**
 * Names and number spellings shared by all emitters of the generator: the tables write kebab-case structures, camelCase
 * fields and UPPER_SNAKE registers; TypeScript, C and Markdown each want their own form of the same name.
 */

/** `send-command`, `sendCommand` or `SEND_COMMAND` as a list of lower-case words. */
export function words(name: string): string[] {
  const spaced = /[a-z]/.test(name) ? name.replace(/([a-z0-9])([A-Z])/g, '$1 $2') : name;
  return spaced
    .replace(/([a-zA-Z])(?=[A-Z][a-z])/g, '$1 ')
    .split(/[^A-Za-z0-9]+/)
    .filter((word) => word !== '')
    .map((word) => word.toLowerCase());
}

/** `SendCommand` */
export function pascal(name: string): string {
  return words(name)
    .map((word) => word[0].toUpperCase() + word.slice(1))
    .join('');
}

/** `sendCommand` */
export function camel(name: string): string {
  const text = pascal(name);
  return text[0].toLowerCase() + text.slice(1);
}

/** `SEND_COMMAND` */
export function upperSnake(name: string): string {
  return words(name).join('_').toUpperCase();
}

/** `send_command` */
export function lowerSnake(name: string): string {
  return words(name).join('_');
}

/** Hexadecimal with at least `digits` digits, lower case. */
export function hex(value: number, digits = 1): string {
  return `0x${value.toString(16).padStart(digits, '0')}`;
}

/** The unsigned number whose low `width` bits (1 to 32) are ones. */
export function ones(width: number): number {
  return 2 ** width - 1;
}
