// SPDX-License-Identifier: Apache-2.0
/** Management commands that create and destroy XRC domains (IBTA annex A14). */
import { ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { XrcDomain } from '../queues/xrc-domain.ts';
import type { CommandContext } from './command-context.ts';

/** CREATE_XRC_DOMAIN: allocates an XRC domain. */
export function createXrcDomain(context: CommandContext): ManagementStatus {
  const { issuer } = context;
  const { xrcDomains, sharedReceiveQueues } = context.adapter.tables;
  const domain = xrcDomains.add(issuer, (number) => new XrcDomain(number, issuer, sharedReceiveQueues));
  if (domain === undefined) return ManagementStatus.NO_RESOURCES;
  context.label(domain);
  context.objectNumber = domain.number;
  return ManagementStatus.OK;
}

/** DESTROY_XRC_DOMAIN: frees a domain without SRQs and QPs. */
export function destroyXrcDomain(context: CommandContext): ManagementStatus {
  const { xrcDomains } = context.adapter.tables;
  const domain = context.own(xrcDomains.get(context.header.objectNumber));
  if (domain === undefined) return context.badObject();
  if (domain.references > 0) return ManagementStatus.IN_USE;
  xrcDomains.remove(domain);
  return ManagementStatus.OK;
}
