// SPDX-License-Identifier: Apache-2.0
/**
 * A request of the host that cannot be met. Whatever else is thrown while the adapter works is a
 * fault of the adapter, and ends its process. The control socket tells the two apart.
 */

/** A refusal: its message is one sentence for the requester. Nothing was changed. */
export class Refusal extends Error {
  override name = 'Refusal';
}
