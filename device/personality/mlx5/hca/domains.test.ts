// SPDX-License-Identifier: Apache-2.0
/** Domains as the transport knows them: one object for each number, until a reset. */
import t from 'tap';
import type { UnderlyingFunction } from '../../../hca/function/underlying-function.ts';
import { Domains } from './domains.ts';

t.test('a number stands for one domain of its kind, until a reset', async (t) => {
  const owner = { number: 0 } as UnderlyingFunction;
  const domains = new Domains(owner, { get: () => undefined });
  for (const find of ['protectionDomain', 'xrcDomain'] as const) {
    const [first, second] = [domains[find](5), domains[find](6)];
    t.same([first.number, second.number], [5, 6], find);
    t.equal(first.owner, owner, find);
    t.equal(domains[find](5), first, find);
    t.not(first, second, find);
    domains.reset();
    t.not(domains[find](5), first, `${find} after a reset`);
  }
  t.not(domains.protectionDomain(5), domains.xrcDomain(5), 'the kinds have numbers of their own');
});
