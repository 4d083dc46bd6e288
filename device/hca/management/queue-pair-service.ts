// SPDX-License-Identifier: Apache-2.0
/**
 * Which transport services create QP offers (IBTA 9.1), and to whom: QP0 and QP1 of a port belong
 * to functions that manage the port. Called by CREATE_QP.
 */
import { GENERAL_SERVICES_QPN, SUBNET_MANAGEMENT_QPN } from '../../../protocol/infiniband/addresses.ts';
import {
  QP_CREATION_SERVICE_TYPE_OFFSET,
  QP_CREATION_SPECIAL_PORT_OFFSET,
  type QpCreation,
} from '../../../protocol/layout/gen/qp-creation.gen.ts';
import { ManagementStatus, ServiceType, serviceTypeNames } from '../../../protocol/layout/gen/values.gen.ts';
import type { CommandContext } from './command-context.ts';

const offeredServices: readonly number[] = [
  ServiceType.RC,
  ServiceType.UC,
  ServiceType.UD,
  ServiceType.SMI,
  ServiceType.GSI,
  ServiceType.XRC_INITIATOR,
  ServiceType.XRC_TARGET,
];

/** Checks the service and, of SMI and GSI QPs, the port. */
export function checkService(context: CommandContext, creation: QpCreation): ManagementStatus {
  if (!serviceTypeNames[creation.serviceType]) return context.badField(QP_CREATION_SERVICE_TYPE_OFFSET);
  if (!offeredServices.includes(creation.serviceType))
    return context.badPayload(ManagementStatus.UNSUPPORTED, QP_CREATION_SERVICE_TYPE_OFFSET);
  return checkSpecialPort(context, creation);
}

/** A port has one QP0 and one QP1. */
function checkSpecialPort(context: CommandContext, { serviceType, specialPort }: QpCreation): ManagementStatus {
  const { issuer, adapter, managed } = context;
  if (serviceType !== ServiceType.SMI && serviceType !== ServiceType.GSI)
    return specialPort === 0 ? ManagementStatus.OK : context.badField(QP_CREATION_SPECIAL_PORT_OFFSET);
  if (!managed.managesPorts) return context.badPayload(ManagementStatus.NOT_PERMITTED, QP_CREATION_SERVICE_TYPE_OFFSET);
  const portCount = managed.ports.length;
  if (specialPort < 1 || specialPort > portCount) return context.badField(QP_CREATION_SPECIAL_PORT_OFFSET, portCount);
  const wireNumber = serviceType === ServiceType.SMI ? SUBNET_MANAGEMENT_QPN : GENERAL_SERVICES_QPN;
  return adapter.tables.specialQueuePairs.get(issuer.portBase + specialPort - 1, wireNumber) === undefined
    ? ManagementStatus.OK
    : context.badPayload(ManagementStatus.IN_USE, QP_CREATION_SPECIAL_PORT_OFFSET);
}
