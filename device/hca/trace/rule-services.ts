// SPDX-License-Identifier: Apache-2.0
/** The transport services by which rules of traces choose queue pairs to come (IBTA 9.1). */

/** XRC stands for both halves of its connections. */
export const RULE_SERVICES = ['RC', 'UC', 'UD', 'XRC', 'SMI', 'GSI'] as const;
export type RuleService = (typeof RULE_SERVICES)[number];

/** The service by which rules choose QPs of the service type `name`. */
export function ruleServiceOf(name: string): string {
  return name.replace(/^XRC_.*/, 'XRC');
}
