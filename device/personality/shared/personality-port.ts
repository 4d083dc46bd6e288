// SPDX-License-Identifier: Apache-2.0
/**
 * A port of a device of another vendor: a port of an adapter that stays switched off until software
 * enables it. A host may hold its link down.
 */
import { PortPhysicalState } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { Port } from '../../fabric/port/port.ts';

export class PersonalityPort extends Port {
  #enabled = false;
  #heldDown = false;

  /** Called when software has changed what the port offers: subnet managers hear of it. */
  onCapabilities: () => void = () => {};

  /** Software has enabled the port. */
  get isEnabled(): boolean {
    return this.#enabled;
  }

  setCapabilities(mask: number): void {
    const { subnet } = this;
    if (mask === subnet.capabilityMask) return;
    subnet.capabilityMask = mask;
    this.onCapabilities();
  }

  /** The link trains, and comes up when the other end is ready too. */
  enable(): void {
    this.#enabled = true;
    this.restart(PortPhysicalState.POLLING);
  }

  disable(): void {
    this.#enabled = false;
    this.restart(PortPhysicalState.DISABLED);
  }

  /** Holds the link down, as if the cable was pulled, or lets it train again. */
  holdDown(held: boolean): void {
    this.#heldDown = held;
    this.restart(this.#enabled ? PortPhysicalState.POLLING : PortPhysicalState.DISABLED);
  }

  override restart(physicalState: PortPhysicalState): void {
    super.restart(this.#heldDown ? PortPhysicalState.DISABLED : physicalState);
  }
}
