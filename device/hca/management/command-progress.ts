// SPDX-License-Identifier: Apache-2.0
/**
 * Progress of a long management command: the page lists that it reads, the entries of a queue that
 * it moves, the translation entries that it has taken. The service processor calls its handler once
 * in each turn; each call does one more step, until all are done, and other functions have their
 * turns meanwhile. Every function has one.
 */
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { EntryMove } from '../memory/move-entries.ts';
import { PageListRead, type PageListRequest } from '../memory/page-list.ts';

export class CommandProgress {
  readonly #owner: UnderlyingFunction;
  /** Lists by the payload offset of the field that names them. */
  readonly #lists = new Map<number, PageListRead>();
  #move: EntryMove | undefined;
  /** Translation entries that the command has taken and no object holds. */
  #taken = 0;

  constructor(owner: UnderlyingFunction) {
    this.#owner = owner;
  }

  /** Takes translation entries for the object of the command; false when too few are free. */
  take(count: number): boolean {
    if (!this.#owner.translations.take(count)) return false;
    this.#taken += count;
    return true;
  }

  /** The list that a field names, if the command has begun to read it. */
  findList(field: number): PageListRead | undefined {
    return this.#lists.get(field);
  }

  beginList(field: number, request: PageListRequest): PageListRead {
    const list = new PageListRead(request);
    this.#lists.set(field, list);
    return list;
  }

  /** The move of entries that the command has begun, or begins now. */
  findMove(begin: () => EntryMove): EntryMove {
    this.#move ??= begin();
    return this.#move;
  }

  /** An object holds the translation entries from now on. */
  handOver(): void {
    this.#taken = 0;
  }

  /** The command has ended. Translation entries that no object holds are free again. */
  end(): void {
    this.#owner.translations.give(this.#taken);
    this.#taken = 0;
    this.#lists.clear();
    this.#move = undefined;
  }
}
