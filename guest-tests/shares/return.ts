// SPDX-License-Identifier: Apache-2.0
/**
 * The return of a share in a running system: with ADAPTER_CONTROL.returnShares a guest dies while
 * all flood, the adapter takes its share back, a new guest on its socket regains one, and the
 * control machine can give it the share of the document again (US8484392, figure 11;
 * docs/FEATURES.md). Called by `npm run demo -- qos` and by the long test of three guests.
 */
import type { ControlClient } from '../../device/process/control/control-client.ts';
import { GUESTS } from '../../device/rig/qos/worked-example.ts';
import { SetupError } from '../../qemu/setup/tools/errors.ts';
import type { Tenant } from '../harness/tenant-guest.ts';
import type { Finding } from './judge.ts';
import { floodOf, waitForLoad } from './measure.ts';
import { tell, wholeShare } from './shares.ts';

/** Resources of a guest at one time, and those of no guest. */
export interface Share {
  readonly vcbs: number;
  readonly pcbs: number;
  readonly lanes: number;
  readonly free: { readonly vcbs: number; readonly pcbs: number; readonly lanes: number };
}

/** The share of the guest before its death, after it, with a new guest, and when assigned again. */
export interface ReturnedShare {
  readonly name: string;
  readonly before: Share;
  readonly gone: Share;
  readonly regained: Share;
  readonly given: Share;
}

const SAMPLE_MS = 50;
/** Ends only a wait that would never end. */
const WAIT_BOUND_MS = 240_000;

/**
 * Kills the last guest and puts the one that `restart` starts in its place in `tenants`. Throws
 * SetupError with the step that failed.
 */
export async function returnShare(
  tenants: Tenant[],
  client: ControlClient,
  restart: () => Tenant,
  say: (text: string) => void = () => {},
): Promise<ReturnedShare> {
  const number = tenants.length - 1;
  const { name } = GUESTS[number];
  const [control] = tenants;
  await tell(control, 'ask adapter return 1');
  for (const [at, tenant] of tenants.entries()) await tell(tenant, floodOf(at));
  await waitForLoad(
    client,
    tenants.map(() => true),
  );
  const before = await readShare(client, number);
  say(`${name} dies while all flood`);
  await tenants[number].kill();
  const gone = await waitForShare(client, number, ({ vcbs, pcbs, lanes }) => vcbs + pcbs + lanes === 0);
  say(`its share is free; another guest boots in its place`);
  tenants[number] = restart();
  await tenants[number].ready;
  const regained = await readShare(client, number);
  await tell(control, `ask ${wholeShare(number)}`);
  await tell(tenants[number], 'load 8 0');
  await waitForLoad(client, [true, true, false]);
  const given = await readShare(client, number);
  await Promise.all(tenants.map((tenant) => tell(tenant, 'load 0 0')));
  await tell(control, 'ask adapter return 0');
  return { name, before, gone, regained, given };
}

/** Judges the return of a share. */
export function judgeReturn({ name, before, gone, regained, given }: ReturnedShare): Finding {
  const claim = 'the share of a guest that leaves is free, and the next guest in its place can have it';
  const returned =
    gone.free.vcbs === before.free.vcbs + before.vcbs &&
    gone.free.pcbs === before.free.pcbs + before.pcbs &&
    gone.free.lanes === before.free.lanes + before.lanes;
  const again = given.vcbs === before.vcbs && given.pcbs === before.pcbs && given.lanes === before.lanes;
  const holds = returned && regained.vcbs > 0 && again;
  return {
    claim,
    outcome: holds ? 'holds' : 'broken',
    detail: `${name}: ${[before, gone, regained, given].map(describe).join(', then ')}`,
  };
}

function describe({ vcbs, pcbs, lanes }: Share): string {
  return `${vcbs} VCBs, ${pcbs} PCBs and ${lanes} lanes`;
}

async function waitForShare(client: ControlClient, number: number, is: (share: Share) => boolean): Promise<Share> {
  const endMs = performance.now() + WAIT_BOUND_MS;
  for (;;) {
    const share = await readShare(client, number);
    if (is(share)) return share;
    if (performance.now() > endMs) throw new SetupError(`${GUESTS[number].name} still has ${describe(share)}`);
    await new Promise((done) => setTimeout(done, SAMPLE_MS));
  }
}

async function readShare(client: ControlClient, number: number): Promise<Share> {
  const { functions, unallocated } = await client.request('resources');
  const { vcbs, pcbs, lanes } = functions[number];
  const free = { vcbs: unallocated.vcbs, pcbs: unallocated.pcbs, lanes: unallocated.lanes.length };
  return { vcbs, pcbs, lanes: lanes.length, free };
}
