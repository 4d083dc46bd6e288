// SPDX-License-Identifier: Apache-2.0
/**
 * A place of a running cluster that a command has taken for its own guest, from the request to the
 * end of the guest. The supervisor holds it for no other as long as the connection lasts. Called by
 * `vuhca run --attach`.
 */
import type { VfioUserDevice } from '../../../qemu/guest-options.ts';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { UsageError } from '../options/usage-error.ts';
import { type Conversation, converse } from './cluster-client.ts';
import { NAME_DEFAULT, NAME_VARIABLE, placeOf } from './cluster-place.ts';
import type { AttachedPlace } from './cluster-protocol.ts';

/** A node of a cluster, as a user names it. */
export interface PlaceName {
  readonly cluster: string;
  readonly node: string;
}

/** Reads `CLUSTER:NODE`; without a cluster it is that of `vuhca cluster`. Throws UsageError. */
export function readPlaceName(text: string): PlaceName {
  const [, cluster, node] = /^(?:([^:]+):)?([^:]+)$/.exec(text) ?? [];
  if (node === undefined)
    throw new UsageError(`option --attach is ${text}; it must be CLUSTER:NODE, or NODE of the default cluster`);
  return { cluster: cluster ?? process.env[NAME_VARIABLE] ?? NAME_DEFAULT, node };
}

export class PlaceLease {
  readonly name: PlaceName;
  readonly place: AttachedPlace;
  /** Resolves, never rejects, with a sentence when the place is lost. */
  readonly whenLost: Promise<string>;
  readonly #conversation: Conversation<string | null>;

  /** Takes the place. Throws SetupError when no such cluster runs, or it has no such place free. */
  static async take(name: PlaceName): Promise<PlaceLease> {
    let settle = (_place: AttachedPlace): void => {};
    const taken = new Promise<AttachedPlace>((resolve) => {
      settle = resolve;
    });
    const conversation = await converse<string | null>(
      placeOf(name.cluster, '--attach'),
      { command: 'attach', node: name.node, pid: process.pid },
      { takePlace: (place) => settle(place) },
    );
    const place = await Promise.race([taken, conversation.result]);
    if (place === null || typeof place === 'string')
      throw new SetupError(`cluster ${name.cluster} has not given its place ${name.node}`);
    return new PlaceLease(name, place, conversation);
  }

  private constructor(name: PlaceName, place: AttachedPlace, conversation: Conversation<string | null>) {
    this.name = name;
    this.place = place;
    this.#conversation = conversation;
    this.whenLost = new Promise((resolve) => {
      conversation.result.catch(({ message }: Error) => resolve(message));
    });
  }

  /** The control socket of the adapter process. */
  get controlPath(): string {
    return this.place.control;
  }

  /** What QEMU attaches. */
  devices(): VfioUserDevice[] {
    return [...this.place.devices];
  }

  /** Gives the place back; returns why it was lost before that, if it was. */
  async end(): Promise<string | undefined> {
    this.#conversation.send({ end: true });
    return this.#conversation.result.then(
      () => undefined,
      ({ message }: Error) => message,
    );
  }

  /** Gives it back without a question. */
  close(): void {
    this.#conversation.close();
  }
}
