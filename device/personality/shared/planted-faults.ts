// SPDX-License-Identifier: Apache-2.0
/**
 * Faults that a host plants in a device, to see how a driver copes (docs/DEBUGGING.md): the next
 * completions are never written, the next commands never complete. The commands and the completion
 * queues of a personality ask it; a reset of the device ends all faults.
 */

/** Stands for every QP, and for every opcode. */
export const ANY = -1;

export class PlantedFaults {
  /** Completions and commands that are still to be lost. */
  completions = 0;
  commands = 0;
  /** Completions and commands that were lost since power-on. */
  lostCompletions = 0;
  lostCommands = 0;
  #qpn = ANY;
  #opcode = ANY;

  loseCompletions(count: number, qpn = ANY): void {
    this.completions = count;
    this.#qpn = qpn;
  }

  loseCommands(count: number, opcode = ANY): void {
    this.commands = count;
    this.#opcode = opcode;
  }

  reset(): void {
    this.completions = 0;
    this.commands = 0;
  }

  /** True when a completion of a QP is to be lost; `completions` is not 0. */
  takesCompletion(qpn: number): boolean {
    if (this.#qpn !== ANY && qpn !== this.#qpn) return false;
    this.completions--;
    this.lostCompletions++;
    return true;
  }

  /** True when this command is to be lost. */
  takesCommand(opcode: number): boolean {
    if (this.commands === 0 || (this.#opcode !== ANY && this.#opcode !== opcode)) return false;
    this.commands--;
    this.lostCommands++;
    return true;
  }
}
