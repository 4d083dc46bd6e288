// SPDX-License-Identifier: Apache-2.0
/**
 * Checks the key of a READ again before each packet of its answer, because it may be invalid by now
 * (IBTA 9.7.5.2.4). An XRC target checks with the PD of the SRQ that the request named, which other
 * requests have replaced since (annex A14). Called by `ResponderAnswers`.
 */
import { AccessFlag } from '../../../../protocol/layout/gen/values.gen.ts';
import type { KeyLookup, RegionPort } from '../../protection/key-lookup.ts';
import type { QueuePair } from '../../queues/queue-pair.ts';
import type { ResponderResource } from '../state/responder-state.ts';

/** The region of `lengthBytes` bytes from the address of `keys` on; undefined when refused. */
export function checkAnswer(
  keys: KeyLookup,
  qp: QueuePair,
  { rkey, pd }: ResponderResource,
  lengthBytes: number,
): RegionPort | undefined {
  const present = qp.pd;
  qp.pd = pd ?? present;
  const region = keys.checkRemote(qp, rkey, lengthBytes, AccessFlag.REMOTE_READ);
  qp.pd = present;
  return region;
}
