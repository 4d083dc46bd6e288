// SPDX-License-Identifier: Apache-2.0
/**
 * The supervisor's side of `vuhca run --attach`: holds a place of the cluster for a client until
 * that says that its guest has ended, or has gone, or until the place is lost. supervisor.ts calls
 * it.
 */
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import type { AttachedPlace, AttachRequest } from '../cluster-client/cluster-protocol.ts';
import type { ClusterClient } from './cluster-server.ts';

/** What it needs of a cluster. */
export interface PlaceHolder {
  readonly whenLost: Promise<void>;
  takePlace(name: string, pid: number): AttachedPlace;
  leavePlace(name: string): void;
  findLoss(): Promise<string | undefined>;
}

/** Performs the request. Throws SetupError when the place is not free, or is lost. */
export async function holdPlace(
  cluster: PlaceHolder,
  { node, pid }: AttachRequest,
  { dialog, onInput }: ClusterClient,
): Promise<void> {
  const place = cluster.takePlace(node, pid);
  try {
    dialog.send({ place });
    const ended = new Promise<void>((resolve) => onInput(() => resolve()));
    await Promise.race([ended, dialog.whenClosed, cluster.whenLost]);
    const loss = await cluster.findLoss();
    if (loss !== undefined) throw new SetupError(loss);
  } finally {
    cluster.leavePlace(node);
  }
}
