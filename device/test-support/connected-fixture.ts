// SPDX-License-Identifier: Apache-2.0
/**
 * The fixture of tests of connected QPs: two QPs connected over the two ports of an adapter, a
 * region with all rights, and RDMA requests between them. Stands on `AdapterFixture`.
 */
import { AccessFlag, SendOpcode, ServiceType } from '../../protocol/layout/gen/values.gen.ts';
import type { Connection, DriverQueuePair } from '../hosts/in-process/driver/queue-pair.ts';
import type { DriverMemoryRegion } from '../hosts/in-process/driver/requests.ts';
import type { SendRequest } from '../hosts/in-process/driver/send-request.ts';
import type { AdapterFixture, Buffer } from './adapter-fixture.ts';

/** All local and remote access rights. */
export const FULL_ACCESS =
  AccessFlag.LOCAL_WRITE | AccessFlag.REMOTE_WRITE | AccessFlag.REMOTE_READ | AccessFlag.REMOTE_ATOMIC;

/** Options of both QPs. */
export interface ConnectedOptions extends Partial<Connection> {
  readonly serviceType?: ServiceType;
  readonly sendEntriesLog2?: number;
  readonly receiveEntriesLog2?: number;
  readonly completionEntriesLog2?: number;
}

/** Two connected QPs, `a` on port 1 and `b` on port 2, and a region with all rights. */
export interface Connected {
  readonly a: DriverQueuePair;
  readonly b: DriverQueuePair;
  readonly region: DriverMemoryRegion;
}

/** Creates and connects two QPs; RC unless given. */
export function connect(fixture: AdapterFixture, options: ConnectedOptions = {}): Connected {
  const { serviceType = ServiceType.RC, sendEntriesLog2 = 6, receiveEntriesLog2 = 6 } = options;
  const create = (): DriverQueuePair =>
    fixture.driver.createQueuePair({
      pd: fixture.pd,
      sendCq: fixture.createCompletionQueue({ entriesLog2: options.completionEntriesLog2 ?? 8 }),
      receiveCq: fixture.createCompletionQueue({ entriesLog2: options.completionEntriesLog2 ?? 8 }),
      sendEntriesLog2,
      receiveEntriesLog2,
      creation: { serviceType },
    });
  const a = create();
  const b = create();
  const common = { reliable: serviceType === ServiceType.RC, ...options };
  const { sendPsn = 0, receivePsn = 0 } = options;
  a.connect({ port: 1, dlid: fixture.lidOf(2), remoteQpn: b.qpn, ...common });
  b.connect({ port: 2, dlid: fixture.lidOf(1), remoteQpn: a.qpn, ...common, sendPsn: receivePsn, receivePsn: sendPsn });
  return { a, b, region: fixture.driver.createDmaRegion(fixture.pd, FULL_ACCESS) };
}

/** An RDMA request between a local and a remote buffer. */
export function rdma(
  fixture: AdapterFixture,
  opcode: SendOpcode,
  local: Buffer,
  remote: Buffer,
  region: DriverMemoryRegion,
): SendRequest {
  return {
    opcode,
    sges: [fixture.sge(local)],
    remote: { address: remote.address, rkey: region.rkey },
  };
}

export { SendOpcode, ServiceType };
