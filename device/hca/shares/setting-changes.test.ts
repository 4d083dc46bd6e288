// SPDX-License-Identifier: Apache-2.0
/**
 * Settings that resource requests change (US 8,484,392 par. 30, 64; US 9,069,485 par. 72, 90, 92):
 * the functions that may change them, their limits, and the registers that show them.
 */

import t from 'tap';
import {
  CSR,
  getCsrDoorbellPolicyAdaptive,
  getCsrDoorbellPolicyHostQueue,
  getCsrDoorbellPolicyLinkCheck,
  getCsrDoorbellPolicyOverflow,
  getCsrDoorbellPolicySpillBuffered,
  getCsrDoorbellPolicySpillCommands,
  getCsrDoorbellThresholdsHigh,
  getCsrDoorbellThresholdsLow,
} from '../../../protocol/layout/gen/registers.gen.ts';
import { RESOURCE_CHANGE_AMOUNT_OFFSET } from '../../../protocol/layout/gen/resource-change.gen.ts';
import {
  ResourceKind as Kind,
  LinkCheck,
  ManagementStatus,
  OverflowPolicy,
} from '../../../protocol/layout/gen/values.gen.ts';
import { encodeChanges } from '../../rig/driver/resources.ts';
import { AdapterFixture } from '../../rig/fixtures/adapter-fixture.ts';
import { change, DOORBELL_ENTRIES, guest, LIMITS, makeModel, makePlan } from '../../rig/fixtures/share-model.ts';
import { HOST, type ShareRequester } from './share-changes.ts';

const LOW = Kind.DOORBELL_THRESHOLD_LOW;
const HIGH = Kind.DOORBELL_THRESHOLD_HIGH;
const { BAD_FIELD, BAD_OBJECT, NOT_PERMITTED } = ManagementStatus;

/** Two functions with thresholds 2 and 8 of 16 entries. */
const makeTwo = () => makeModel(makePlan([{ pcbs: 4 }, { pcbs: 4 }], LIMITS, 8));

t.test('controls of the adapter are switched one by one, by host and physical function', async (t) => {
  const { manager, units } = makeTwo();
  const switches: [number, number][] = [
    [Kind.ADAPTER_DISABLE, 1],
    [Kind.ADAPTER_RETURN_SHARES, 2],
    [Kind.ADAPTER_LEND_IDLE, 4],
    [Kind.ADAPTER_FREEZE_SENDS, 8],
  ];
  let expected = 0;
  for (const [kind, bit] of switches) {
    t.equal(manager.request(HOST, [change(kind, 0, 1)]), undefined);
    expected |= bit;
    t.equal(units.settings.control, expected);
    t.match(manager.request(guest(1), [change(kind, 0, 0)]), { status: NOT_PERMITTED });
    t.match(manager.request(HOST, [change(kind, 0, 2)]), { status: BAD_FIELD, limit: 1 });
    t.match(manager.request(HOST, [change(kind, 1, 1)]), { status: BAD_OBJECT, limit: 0 });
  }
  for (const [kind, bit] of switches) {
    t.equal(manager.request(guest(0), [change(kind, 0, 0)]), undefined);
    expected &= ~bit;
    t.equal(units.settings.control, expected);
  }
  t.same(units.notified, [], 'no share has changed');
});

t.test('doorbell settings belong to a function: itself, the physical one and the host change them', async (t) => {
  const { manager, units } = makeTwo();
  const fields: [number, string, number, number][] = [
    [Kind.DOORBELL_POLICY, 'policy', OverflowPolicy.MOST_SPILLED, 3],
    [Kind.DOORBELL_LINK_CHECK, 'linkCheck', LinkCheck.COMPARE_SWAP, 2],
    [Kind.DOORBELL_ADAPTIVE, 'adaptive', 1, 2],
    [Kind.DOORBELL_HOST_QUEUE, 'hostQueue', 1, 2],
    [Kind.DOORBELL_SPILL_BUFFERED, 'spillBuffered', 1, 2],
    [Kind.DOORBELL_SPILL_COMMANDS, 'spillCommands', 1, 2],
    [LOW, 'low', 5, DOORBELL_ENTRIES],
    [HIGH, 'high', DOORBELL_ENTRIES, DOORBELL_ENTRIES + 1],
  ];
  const other = structuredClone(units.settings.doorbells[0]);
  for (const [kind, name, value, tooMuch] of fields) {
    const before = units.settings.doorbells[1];
    for (const requester of [HOST, guest(0), guest(1)] satisfies ShareRequester[]) {
      t.equal(manager.request(requester, [change(kind, 1, value)]), undefined, name);
      t.match(units.settings.doorbells[1], { ...before, [name]: value }, name);
      t.match(manager.request(requester, [change(kind, 1, tooMuch)]), {
        status: BAD_FIELD,
        offset: RESOURCE_CHANGE_AMOUNT_OFFSET,
        limit: tooMuch - 1,
      });
      t.equal(manager.request(HOST, [change(kind, 1, (before as never)[name])]), undefined);
    }
    t.match(manager.request(guest(1), [change(kind, 0, value)]), { status: NOT_PERMITTED }, name);
    t.match(manager.request(HOST, [change(kind, 2, value)]), { status: BAD_OBJECT, limit: 1 });
  }
  t.same(units.settings.doorbells[0], other, 'those of the other function stay');
});

t.test('the final thresholds count, in whatever order they are changed', async (t) => {
  const { manager, units } = makeTwo();
  const ask = (...changes: [number, number][]) =>
    manager.request(
      HOST,
      changes.map(([kind, amount]) => change(kind, 1, amount)),
    );
  t.equal(ask([LOW, 10], [HIGH, 12]), undefined);
  t.match(units.settings.doorbells[1], { low: 10, high: 12 });
  t.equal(ask([HIGH, 4], [LOW, 3]), undefined);
  t.match(units.settings.doorbells[1], { low: 3, high: 4 });
  t.match(ask([LOW, 4]), { status: BAD_FIELD, index: 0, limit: 3 });
  t.match(ask([HIGH, 3]), { status: BAD_FIELD, index: 0, limit: 4 });
  t.match(ask([LOW, 0]), { status: BAD_FIELD, index: 0, limit: 1 });
  t.match(ask([Kind.DOORBELL_POLICY, 0], [HIGH, 3]), { status: BAD_FIELD, index: 1 });
  t.match(units.settings.doorbells[1], { policy: 1, low: 3, high: 4 }, 'a refusal changes nothing');
  t.match(units.settings.doorbells[0], { low: 2, high: 8 });
});

t.test('registers show what the host has set, and a reset of the function restores it', async (t) => {
  const fixture = new AdapterFixture({ functionCount: 2 });
  const port = fixture.machine.functionAt(0);
  const ask = (...changes: [number, number][]) =>
    port.requestResources(encodeChanges(changes.map(([kind, amount]) => change(kind, 0, amount)))).status;
  const read = () => {
    const [policy, thresholds] = [fixture.read(CSR.DOORBELL_POLICY), fixture.read(CSR.DOORBELL_THRESHOLDS)];
    return [
      getCsrDoorbellPolicyOverflow(policy),
      getCsrDoorbellPolicyLinkCheck(policy),
      getCsrDoorbellPolicyAdaptive(policy),
      getCsrDoorbellThresholdsLow(thresholds),
      getCsrDoorbellThresholdsHigh(thresholds),
    ];
  };
  const spills = () => {
    const policy = fixture.read(CSR.DOORBELL_POLICY);
    return [getCsrDoorbellPolicySpillBuffered(policy), getCsrDoorbellPolicySpillCommands(policy)];
  };
  const fresh = read();
  t.equal(ask([Kind.DOORBELL_POLICY, 2], [Kind.DOORBELL_LINK_CHECK, 1], [LOW, 3], [HIGH, 7]), 0);
  t.same(read(), [2, 1, 0, 3, 7]);
  t.equal(ask([Kind.DOORBELL_ADAPTIVE, 1]), 0);
  t.same(read(), [2, 1, 1, 3, 7], 'the others stay');
  t.equal(ask([Kind.DOORBELL_HOST_QUEUE, 1]), 0);
  t.equal(ask([Kind.DOORBELL_ADAPTIVE, 0]), 0);
  t.equal(ask([Kind.DOORBELL_ADAPTIVE, 1]), 0);
  t.equal(getCsrDoorbellPolicyHostQueue(fixture.read(CSR.DOORBELL_POLICY)), 1);
  t.same(read(), [2, 1, 1, 3, 7], 'the others stay');
  t.equal(ask([Kind.DOORBELL_SPILL_BUFFERED, 1]), 0);
  t.same(spills(), [1, 0]);
  t.equal(ask([Kind.DOORBELL_SPILL_COMMANDS, 1]), 0);
  t.same(spills(), [1, 1]);
  t.equal(ask([Kind.DOORBELL_SPILL_BUFFERED, 0]), 0);
  t.same(spills(), [0, 1]);
  t.same(read(), [2, 1, 1, 3, 7], 'the others stay');
  t.equal(ask([Kind.ADAPTER_LEND_IDLE, 1], [Kind.ADAPTER_FREEZE_SENDS, 1]), 0);
  t.equal(fixture.read(CSR.ADAPTER_CONTROL), 12);
  t.ok(fixture.machine.device.shareAdjuster.lendIdle);
  port.reset('function');
  t.same(read(), fresh);
  t.equal(getCsrDoorbellPolicyHostQueue(fixture.read(CSR.DOORBELL_POLICY)), 0);
  t.same(spills(), [0, 0]);
  t.equal(fixture.read(CSR.ADAPTER_CONTROL), 0);
  t.notOk(fixture.machine.device.shareAdjuster.lendIdle);
});

t.test('the host stops and starts all commands without a word from the physical function', async (t) => {
  const fixture = new AdapterFixture();
  const { sender, receiver, to } = fixture.createPair();
  const disable = (amount: number) =>
    fixture.machine.functionAt(0).requestResources(encodeChanges([change(Kind.ADAPTER_DISABLE, 0, amount)])).status;
  t.equal(disable(1), 0);
  fixture.postReceive(receiver, 104);
  sender.post(to({ inline: new Uint8Array(8) }), 'collect');
  fixture.settle();
  t.notOk(sender.parts.sendCq.ready, 'the command waits');
  t.equal(disable(0), 0);
  fixture.settle();
  t.ok(sender.parts.sendCq.ready);
  fixture.finish();
});
