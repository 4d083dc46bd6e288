// SPDX-License-Identifier: Apache-2.0
/**
 * Numbers that software takes and gives back by command: protection domains, transport domains, XRC
 * domains and UAR pages. Behind such a number is nothing but the objects that use it, and software
 * cannot give back a number as long as there is one.
 */
export class Numbers {
  /** Objects that use a number, for each number that software has taken. */
  readonly #users = new Map<number, number>();
  readonly #first: number;
  readonly #end: number;
  /** No number below it is free. */
  #next: number;

  /** `count` numbers, from `first`. */
  constructor(first: number, count: number) {
    this.#first = first;
    this.#end = first + count;
    this.#next = first;
  }

  /** Numbers that software has taken. */
  get size(): number {
    return this.#users.size;
  }

  has(number: number): boolean {
    return this.#users.has(number);
  }

  /** Objects that use the number. */
  usersOf(number: number): number {
    return this.#users.get(number) ?? 0;
  }

  /** Takes the lowest free number; undefined when there is none. */
  allocate(): number | undefined {
    while (this.#users.has(this.#next)) this.#next++;
    if (this.#next === this.#end) return undefined;
    this.#users.set(this.#next, 0);
    return this.#next;
  }

  /** Gives a number back. Returns false, without any effect, when it is free or has users. */
  free(number: number): boolean {
    if (this.#users.get(number) !== 0) return false;
    this.#users.delete(number);
    this.#next = Math.min(this.#next, number);
    return true;
  }

  /** An object begins to use the number. Returns false, without any effect, when it is free. */
  use(number: number): boolean {
    const users = this.#users.get(number);
    if (users === undefined) return false;
    this.#users.set(number, users + 1);
    return true;
  }

  /** An object that used the number is gone. */
  release(number: number): void {
    const users = this.usersOf(number);
    if (users > 0) this.#users.set(number, users - 1);
  }

  /** Frees all numbers. */
  reset(): void {
    this.#users.clear();
    this.#next = this.#first;
  }
}
