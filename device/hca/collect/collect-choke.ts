// SPDX-License-Identifier: Apache-2.0
/**
 * The choke of a collect BAR (COLLECT_CONTROL): while it is set, new commands are dropped and
 * counted, each once however many writes bring it. Commands that began before go on, and so do
 * doorbells. A dropped command takes neither a VCB nor a PCB; its page is followed up to the last
 * byte only to know the first write of the next command. Used by `CollectUnit`.
 */
import { RefusedCommand } from './refused-command.ts';

export class CollectChoke {
  /** Commands dropped. */
  commands = 0;
  #active = false;
  /** Commands of which a part was dropped, by page; and those of earlier use. */
  readonly #parts = new Map<number, RefusedCommand>();
  readonly #spare: RefusedCommand[] = [];

  get active(): boolean {
    return this.#active;
  }

  /** Without the choke, the next write to a page begins a command as usual. */
  set active(active: boolean) {
    this.#active = active;
    if (!active) for (const page of this.#parts.keys()) this.forget(page);
  }

  /** Drops a write to a page that collects no command. */
  drop(page: number, inPage: number, sizeBytes: number, low: number, high: number): void {
    const command = this.#parts.get(page) ?? this.#begin(page);
    command.store(inPage, sizeBytes, low, high);
    if (command.lengthKnown && (command.whole || !command.lengthValid)) this.forget(page);
  }

  /** The command was kicked or cancelled, or its page given away: the next write begins another. */
  forget(page: number): void {
    const command = this.#parts.get(page);
    if (command === undefined) return;
    this.#parts.delete(page);
    this.#spare.push(command);
  }

  reset(): void {
    this.active = false;
    this.commands = 0;
  }

  #begin(page: number): RefusedCommand {
    this.commands++;
    const command = this.#spare.pop() ?? new RefusedCommand();
    command.open();
    this.#parts.set(page, command);
    return command;
  }
}
