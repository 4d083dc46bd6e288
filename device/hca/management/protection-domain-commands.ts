// SPDX-License-Identifier: Apache-2.0
/**
 * Management commands that create, modify (the token), query and destroy protection domains (IBTA
 * 11.2.1.5, 11.2.1.6).
 */

import {
  getPdAttributesTokenHigh,
  getPdAttributesTokenLow,
  setPdAttributesReferences,
  setPdAttributesTokenHigh,
  setPdAttributesTokenLow,
} from '../../../protocol/layout/gen/pd-attributes.gen.ts';
import { ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { ProtectionDomain } from '../protection/protection-domain.ts';
import type { CommandContext } from './command-context.ts';

/** CREATE_PD: allocates a protection domain. */
export function createProtectionDomain(context: CommandContext): ManagementStatus {
  const { adapter, issuer } = context;
  const pd = adapter.tables.protectionDomains.add(issuer, (number) => new ProtectionDomain(number, issuer));
  if (pd === undefined) return ManagementStatus.NO_RESOURCES;
  context.label(pd);
  context.objectNumber = pd.number;
  return ManagementStatus.OK;
}

/** MODIFY_PD: changes software's token. */
export function modifyProtectionDomain(context: CommandContext): ManagementStatus {
  const pd = find(context);
  if (pd === undefined) return context.badObject();
  pd.tokenLow = getPdAttributesTokenLow(context.command, context.payload);
  pd.tokenHigh = getPdAttributesTokenHigh(context.command, context.payload);
  return ManagementStatus.OK;
}

/** QUERY_PD: returns the token and the number of references. */
export function queryProtectionDomain(context: CommandContext): ManagementStatus {
  const pd = find(context);
  if (pd === undefined) return context.badObject();
  setPdAttributesTokenLow(context.responseView, 0, pd.tokenLow);
  setPdAttributesTokenHigh(context.responseView, 0, pd.tokenHigh);
  setPdAttributesReferences(context.responseView, 0, pd.references);
  return ManagementStatus.OK;
}

/** DESTROY_PD: frees a domain without references. */
export function destroyProtectionDomain(context: CommandContext): ManagementStatus {
  const pd = find(context);
  if (pd === undefined) return context.badObject();
  if (pd.references > 0) return ManagementStatus.IN_USE;
  context.adapter.tables.protectionDomains.remove(pd);
  return ManagementStatus.OK;
}

function find(context: CommandContext): ProtectionDomain | undefined {
  return context.own(context.adapter.tables.protectionDomains.get(context.header.objectNumber));
}
