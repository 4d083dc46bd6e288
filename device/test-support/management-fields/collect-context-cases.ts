// SPDX-License-Identifier: Apache-2.0
/** Cases of the commands of collect contexts (docs/PROGRAMMING.md, Collect contexts). */
import { PAGE_BYTES } from '../../../protocol/layout/gen/constants.gen.ts';
import { ManagementOpcode, ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import { DriverCollectContext } from '../../hosts/in-process/driver/collect-context.ts';
import { type CommandCase, type Request, refused, taken } from './command-case.ts';
import { type Fixture, NO_OBJECT } from './fixture.ts';
import { objectCommand } from './memory-cases.ts';

const { BAD_FIELD, BAD_OBJECT, IN_USE } = ManagementStatus;

function contextOf({ driver, watch }: Pick<Fixture, 'driver' | 'watch'>): DriverCollectContext {
  const context = new DriverCollectContext(driver.management);
  watch(ManagementOpcode.QUERY_COLLECT_CONTEXT, context.number);
  return context;
}

function pageToAssign(fixture: Fixture): Request {
  const watch = fixture.watch.bind(fixture);
  const contexts = [0, 1].map(() => contextOf({ driver: fixture.driver, watch }));
  contexts[1]?.give(2 * PAGE_BYTES);
  const pages = fixture.adapterFixture.machine.device.functions[0]?.collect.pageCount ?? 0;
  const objectNumber = contexts[0]?.number ?? 0;
  return {
    header: { objectNumber, modifier: 3 },
    headerTrials: {
      objectNumber: [
        taken("0: the page is the kernel's", { values: [0] }),
        refused(BAD_OBJECT, [objectNumber ^ 0x10000, 0xffffff, NO_OBJECT]),
      ],
      modifier: [
        refused(BAD_FIELD, [pages, 0xffffffff], { limit: pages - 1 }),
        refused(IN_USE, [2]),
        taken('also beyond the share', { values: [0, pages - 1] }),
      ],
    },
  };
}

const numberOf = (fixture: Fixture): number =>
  contextOf({ driver: fixture.driver, watch: fixture.watch.bind(fixture) }).number;

export const collectContextCases: readonly CommandCase[] = [
  { opcode: ManagementOpcode.CREATE_COLLECT_CONTEXT, build: () => ({}) },
  { opcode: ManagementOpcode.ASSIGN_COLLECT_PAGE, build: pageToAssign },
  objectCommand(ManagementOpcode.QUERY_COLLECT_CONTEXT, numberOf),
  objectCommand(ManagementOpcode.DESTROY_COLLECT_CONTEXT, numberOf),
];
