// SPDX-License-Identifier: Apache-2.0
/**
 * Names and number spellings shared by all emitters of the generator: the tables write kebab-case
 * structures, camelCase fields and UPPER_SNAKE registers; TypeScript, C and Markdown each have
 * their own form of the same name.
 */
import { camelCase, constantCase, pascalCase, snakeCase } from 'change-case';

/** `SendCommand` */
export function pascal(name: string): string {
  return pascalCase(name, { mergeAmbiguousCharacters: true });
}

/** `sendCommand` */
export function camel(name: string): string {
  return camelCase(name, { mergeAmbiguousCharacters: true });
}

/** `SEND_COMMAND` */
export function upperSnake(name: string): string {
  return constantCase(name);
}

/** `send_command` */
export function lowerSnake(name: string): string {
  return snakeCase(name);
}

/** Hexadecimal with at least `digits` digits, lower case. */
export function hex(value: number, digits = 1): string {
  return `0x${value.toString(16).padStart(digits, '0')}`;
}

/** The unsigned number whose low `width` bits (1 to 32) are ones. */
export function ones(width: number): number {
  return 2 ** width - 1;
}
