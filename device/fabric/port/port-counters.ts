// SPDX-License-Identifier: Apache-2.0
/**
 * Counters of an end of a link that performance management reads (IBTA 16.1.3.5 and 16.1.4), by
 * cause. Receive paths count here; packets and octets sent are counted by the transmit queues. The
 * counters only rise: the performance management agent keeps what a reset takes off.
 */

export class PortCounters {
  symbolErrors = 0;
  linkRecoveries = 0;
  /** Times that the link went down although no manager asked for it. */
  linkDowned = 0;
  /** Packets with a wrong CRC. */
  physicalErrors = 0;
  malformedPackets = 0;
  /** Packets that found no buffer. */
  bufferOverruns = 0;
  remotePhysicalErrors = 0;
  /** Packets that a switch could not forward, and why. */
  relayErrors = 0;
  unmappedLids = 0;
  unmappedLanes = 0;
  loopedPackets = 0;
  receiveConstraintErrors = 0;
  transmitConstraintErrors = 0;
  linkIntegrityErrors = 0;
  /** Datagrams to QP1, and on VL15, that were dropped for want of room. */
  qp1Dropped = 0;
  vl15Dropped = 0;
  /** Packets that were not sent: longer than the MTU, or too old. */
  mtuDiscards = 0;
  lifeTimeDiscards = 0;
  headOfQueueDiscards = 0;
  receivedPackets = 0;
  receivedBytes = 0;
  receivedMulticast = 0;

  /** Packets received when the last one with a wrong CRC came, and how many came in a row. */
  #damagedAt = 0;
  #damagedInRow = 0;

  /**
   * Counts a packet with a wrong CRC. Returns true when `threshold` of them have come in a row;
   * 0 counts as 1.
   */
  noteDamage(threshold: number): boolean {
    this.symbolErrors++;
    this.physicalErrors++;
    this.#damagedInRow = this.receivedPackets === this.#damagedAt + 1 ? this.#damagedInRow + 1 : 1;
    this.#damagedAt = this.receivedPackets;
    if (this.#damagedInRow < threshold) return false;
    this.#damagedInRow = 0;
    this.linkIntegrityErrors++;
    return true;
  }

  /** Counts a packet that found no buffer. Returns true for each `threshold` of them; 0 is 1. */
  noteOverrun(threshold: number): boolean {
    this.bufferOverruns++;
    return this.bufferOverruns % Math.max(1, threshold) === 0;
  }

  /** Counts a packet from the link: its length, LRH to VCRC, in bytes. */
  noteArrival(lengthBytes: number, isMulticast = false): void {
    this.receivedPackets++;
    this.receivedBytes += lengthBytes;
    if (isMulticast) this.receivedMulticast++;
  }
}
