// SPDX-License-Identifier: Apache-2.0
/**
 * Commands of an mlx5 device in this process, as many in flight as the driver of Linux sends when
 * it loads and unloads. Called by personalities.ts.
 */
import { type DriverEventQueue, Mlx5Driver } from '../../device/rig/mlx5/driver/mlx5-driver.ts';
import {
  COMMAND_ENTRY_INPUT_OFFSET,
  COMMAND_ENTRY_OUTPUT_OFFSET,
  COMMAND_ENTRY_SIZE,
  getCommandEntryOwner,
} from '../../protocol/mlx5/gen/command-entry.gen.ts';
import { COMMAND_DOORBELL_OFFSET } from '../../protocol/mlx5/gen/constants.gen.ts';
import {
  CREATE_MKEY_IN_MEMORY_KEY_MKEY_ENTRY_OFFSET,
  CREATE_MKEY_IN_SIZE,
} from '../../protocol/mlx5/gen/create-mkey-in.gen.ts';
import { getCreateMkeyOutMkeyIndex } from '../../protocol/mlx5/gen/create-mkey-out.gen.ts';
import { encodeMkc, newMkc } from '../../protocol/mlx5/gen/mkc.gen.ts';
import { CommandOpcode, EventType, KeyAccessMode } from '../../protocol/mlx5/gen/values.gen.ts';
import { processorNs } from './statistics.ts';

/** The last entry is for commands about pages. */
const IN_FLIGHT = 31;
const LOG_EVENTS = 7;
const ANY_QPN = 0xffffff;
/** Octowords of the list of a key that the driver keeps in stock. */
const LIST_OCTOWORDS = 256;
const OWNER_AT = COMMAND_ENTRY_SIZE - 1;
const ARGUMENT_AT = COMMAND_ENTRY_INPUT_OFFSET + 8;

/** Commands so far, and the processor time that the device took for them. */
interface Cost {
  commands: number;
  totalNs: number;
}

export class Mlx5Commands {
  readonly costs: Readonly<Record<'create key' | 'destroy key', Cost>> = {
    'create key': { commands: 0, totalNs: 0 },
    'destroy key': { commands: 0, totalNs: 0 },
  };
  readonly #driver = new Mlx5Driver();
  readonly #queue: DriverEventQueue;
  readonly #entries: readonly DataView[];
  /** Entries as software fills them. */
  readonly #create: readonly Uint8Array[];
  readonly #destroy: Uint8Array;

  constructor() {
    const driver = this.#driver;
    driver.machine.onStep = () => {};
    driver.start();
    this.#queue = driver.createEventQueue(driver.allocateUar(), 1n << BigInt(EventType.COMMAND), LOG_EVENTS);
    const pd = driver.expect(CommandOpcode.ALLOC_PD).getUint32(8);
    this.#entries = Array.from({ length: IN_FLIGHT + 1 }, (_, entry) =>
      driver.memory.view(driver.entries + entry * COMMAND_ENTRY_SIZE, COMMAND_ENTRY_SIZE),
    );
    this.#create = Array.from({ length: IN_FLIGHT }, (_, entry) => this.#prepareKey(entry, pd));
    driver.post(CommandOpcode.DESTROY_MKEY);
    this.#destroy = this.#entry(0);
  }

  /** Makes keys and destroys them. */
  round(): void {
    for (let entry = 0; entry < IN_FLIGHT; entry++) this.#fill(entry, this.#create[entry]);
    this.#execute(IN_FLIGHT, this.costs['create key']);
    for (let entry = 0; entry < IN_FLIGHT; entry++) {
      const key = getCreateMkeyOutMkeyIndex(this.#entries[entry], COMMAND_ENTRY_OUTPUT_OFFSET);
      this.#fill(entry, this.#destroy);
      this.#entries[entry].setUint32(ARGUMENT_AT, key);
    }
    this.#execute(IN_FLIGHT, this.costs['destroy key']);
  }

  #prepareKey(entry: number, pd: number): Uint8Array {
    this.#driver.post(CommandOpcode.CREATE_MKEY, {
      entry,
      inputBytes: CREATE_MKEY_IN_SIZE,
      fill: (view) =>
        encodeMkc(view, CREATE_MKEY_IN_MEMORY_KEY_MKEY_ENTRY_OFFSET, {
          ...newMkc(),
          ...{ free: 1, umrEn: 1, accessMode10: KeyAccessMode.PAGES, qpn: ANY_QPN, logPageSize: 12, pd },
          translationsOctwordSize: LIST_OCTOWORDS,
        }),
    });
    return this.#entry(entry);
  }

  #entry(entry: number): Uint8Array {
    const { buffer, byteOffset, byteLength } = this.#entries[entry];
    return new Uint8Array(buffer, byteOffset, byteLength).slice();
  }

  #fill(entry: number, bytes: Uint8Array): void {
    for (let at = 0; at < bytes.length; at++) this.#entries[entry].setUint8(at, bytes[at]);
  }

  /** Rings for the first `count` entries. Throws when one fails. */
  #execute(count: number, cost: Cost): void {
    const { machine } = this.#driver;
    const start = processorNs();
    for (let entry = 0; entry < count; entry++) this.#driver.writeRegister(COMMAND_DOORBELL_OFFSET, (1 << entry) >>> 0);
    machine.runUntilIdle();
    cost.totalNs += processorNs() - start;
    cost.commands += count;
    for (let entry = 0; entry < count; entry++) {
      const view = this.#entries[entry];
      if (getCommandEntryOwner(view, 0) !== 0 || view.getUint8(OWNER_AT) !== 0)
        throw new Error(`command of entry ${entry} has not ended`);
      if (view.getUint8(COMMAND_ENTRY_OUTPUT_OFFSET) !== 0)
        throw new Error(`command of entry ${entry}: status ${view.getUint8(COMMAND_ENTRY_OUTPUT_OFFSET)}`);
    }
    this.#queue.consumed += count;
    this.#driver.arm(this.#queue);
  }
}
