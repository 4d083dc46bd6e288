// SPDX-License-Identifier: Apache-2.0
/** Options of a link to another process (docs/TOPOLOGY.md); `StreamLink` takes them. */

export interface StreamLinkOptions {
  /** Receive buffer of each VL: blocks of 64 bytes, and packets. */
  readonly bufferBlocks: number;
  readonly bufferPackets: number;
  /**
   * An idle side sends a keepalive this often; a peer that is silent twenty times as long is given
   * up. A process that ends closes its socket: this is for hosts that vanish, so it may take long,
   * and a process on a busy machine is not taken for one.
   */
  readonly keepaliveNs: number;
}

export const defaultStreamLinkOptions: StreamLinkOptions = {
  bufferBlocks: 2048,
  bufferPackets: 512,
  keepaliveNs: 1_000_000_000,
};
