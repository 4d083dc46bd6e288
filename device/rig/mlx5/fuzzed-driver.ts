// SPDX-License-Identifier: Apache-2.0
/**
 * A driver of an mlx5 device whose commands are changed on their way, in the entry and in the
 * mailboxes. Every command must end with a defined status, and one that is refused must leave all
 * objects as they are. `Mlx5Fuzz` uses it.
 */
import { setCommandEntryOwner } from '../../../protocol/mlx5/gen/command-entry.gen.ts';
import { CommandStatus, DeliveryStatus } from '../../../protocol/mlx5/gen/values.gen.ts';
import { type Mlx5Answer, type Mlx5Command, Mlx5Driver } from './driver/mlx5-driver.ts';

const statuses: readonly number[] = Object.values(CommandStatus);
const deliveries: readonly number[] = Object.values(DeliveryStatus);

export class FuzzedDriver extends Mlx5Driver {
  /** Changes the next command, when it is set. */
  spoil: ((parts: readonly DataView[]) => void) | undefined;
  executed = 0;
  refused = 0;
  undelivered = 0;

  override post(opcode: number, command: Mlx5Command = {}): ReturnType<Mlx5Driver['post']> {
    const { spoil } = this;
    if (spoil === undefined) return super.post(opcode, command);
    this.spoil = undefined;
    return super.post(opcode, {
      ...command,
      spoil: (entry, input, output) => {
        spoil([entry, ...input, ...output]);
        setCommandEntryOwner(entry, 0, 1);
      },
    });
  }

  override command(opcode: number, command: Mlx5Command = {}): Mlx5Answer {
    const before = this.#objects();
    const answer = super.command(opcode, command);
    const { delivery, status } = answer;
    const what = `command 0x${opcode.toString(16)}, delivery ${delivery}, status ${status}`;
    const isKnown = delivery === DeliveryStatus.OK ? statuses.includes(status) : deliveries.includes(delivery);
    if (!isKnown) throw new Error(`${what}: there is no such one`);
    if (delivery !== DeliveryStatus.OK) this.undelivered++;
    else if (status === CommandStatus.OK) this.executed++;
    else {
      this.refused++;
      if (this.#objects() !== before) throw new Error(`${what}: it was refused, and objects are ${this.#objects()}`);
    }
    return answer;
  }

  #objects(): string {
    return JSON.stringify(this.device.hca.objectCounts);
  }
}
