// SPDX-License-Identifier: Apache-2.0
/**
 * What the transport service of a queue pair means for its packets: transport bits of the opcode,
 * packets that it refuses, QPN (IBTA 9.2, annex A14). `QueuePair` keeps the results.
 */
import { GENERAL_SERVICES_QPN, SUBNET_MANAGEMENT_QPN } from '../../../protocol/infiniband/addresses.ts';
import { OpcodeFlag, Transport } from '../../../protocol/infiniband/opcodes.ts';
import { ServiceType } from '../../../protocol/layout/gen/values.gen.ts';

/** Transport bits of opcodes by service; datagrams of QP0 and QP1 are UD (IBTA 9.2, annex A14). */
const transports: Readonly<Record<ServiceType, number>> = {
  [ServiceType.RC]: Transport.RC,
  [ServiceType.UC]: Transport.UC,
  [ServiceType.UD]: Transport.UD,
  [ServiceType.SMI]: Transport.UD,
  [ServiceType.GSI]: Transport.UD,
  [ServiceType.XRC_INITIATOR]: Transport.XRC,
  [ServiceType.XRC_TARGET]: Transport.XRC,
};

export function transportOf(serviceType: ServiceType): number {
  return transports[serviceType];
}

/**
 * `OpcodeFlag` of packets that a service refuses: an XRC initiator takes responses only, an XRC
 * target requests only (IBTA annex A14).
 */
export function refusedFlagsOf(serviceType: ServiceType): number {
  if (serviceType === ServiceType.XRC_INITIATOR) return OpcodeFlag.REQUEST;
  return serviceType === ServiceType.XRC_TARGET ? OpcodeFlag.RESPONSE : 0;
}

/** QPN in packets: 0 of an SMI QP, 1 of a GSI QP. */
export function wireNumberOf(serviceType: ServiceType, number: number): number {
  if (serviceType === ServiceType.SMI) return SUBNET_MANAGEMENT_QPN;
  return serviceType === ServiceType.GSI ? GENERAL_SERVICES_QPN : number;
}
