// SPDX-License-Identifier: Apache-2.0
/**
 * Three guests on the functions of one adapter, the physical one and two virtual ones, at once.
 * Each kind of function is tested while the others flood. The physical function moves shares under
 * traffic, and stops the adapter for a virtual one, whose doorbells then spill. A guest is killed
 * while it floods, and another takes its socket. A short form of `npm run demo -- qos` comes next;
 * at the end another guest dies, and its share returns. Called by tenants.long.ts.
 */
import { ControlClient } from '../device/process/control/control-client.ts';
import { DeviceProcess } from './harness/device-process.ts';
import { packJob } from './harness/guest-image.ts';
import type { GuestRun } from './harness/guest-run.ts';
import type { GuestSessionOptions } from './harness/guest-session.ts';
import { type CaseOptions, makeCaseJob } from './harness/kernel-cases.ts';
import { Tenant } from './harness/tenant-guest.ts';
import { measureShares } from './shares/measure.ts';
import { type ReturnedShare, returnShare } from './shares/return.ts';
import type { Measurement } from './shares/samples.ts';

/** The results of the guests. */
export interface TenantRun {
  /** By function: the results of the last guest on it. */
  readonly guests: readonly GuestRun[];
  /** The results of the guest that was killed, until then. */
  readonly killed: GuestRun;
  /** The worked example of shares. */
  readonly shares: Measurement;
  /** The share of a guest that died. */
  readonly returned: ReturnedShare;
}

const FUNCTIONS = 3;
/**
 * Suites that run while the others flood: they count faults and completions exactly, and would
 * notice those of a neighbour.
 */
const SUITES = 'collect collect_errors shares stop share_requests converge share_allocation overflow';
/** One that needs idle neighbours. */
const QUIET = 'lend';
/** Those that run while a neighbour dies, and on the guest in its place. */
const AGAIN = 'collect shares once share_requests';
/** Suites that a virtual function can run only when the physical one stops the adapter for it. */
const HELPED_SUITES = 'overflow share_requests';
/** Suites that do not depend on the number of buffers. */
const TRAFFIC = 'datagram connected_bulk';
/** Requests that take almost all from the virtual functions, and give it back. */
const MOVES = [
  'function 1 vcbs 4 pcbs 2; function 2 vcbs 1 pcbs 0',
  'function 1 vcbs 0; function 2 vcbs 64',
  'function 1 vcbs 64 pcbs 40; function 2 pcbs 40',
];
const MOVE_ROUNDS = 10;
/** The length of each phase of the worked example. */
const SHARES_SECONDS = 1;
/**
 * Request of a guest to stop the adapter (1) or to let it go on (0): vt_disable() in
 * kernel/vt_qp_set.c.
 */
const ASKS_TO_DISABLE = /# host: adapter disable ([01])$/;

/** Runs the guests to their end. Throws SetupError only when adapter or guest cannot be started. */
export async function runTenants(options: CaseOptions & GuestSessionOptions = {}): Promise<TenantRun> {
  const image = await packJob(
    await makeCaseJob({ ...options, script: 'tenant.sh', modules: ['driver', 'kernel', 'tenant'] }),
  );
  const sockets = Array.from({ length: FUNCTIONS }, (_, number) => `function${number}.sock`);
  const device = await DeviceProcess.start({ topology: { adapters: { hca: { sockets } } } });
  const onReport = (line: string): void => {
    const disable = ASKS_TO_DISABLE.exec(line)?.[1];
    // When the request fails, its guest waits in vain and reports that.
    if (disable !== undefined) tenants[0].do(`ask adapter disable ${disable}`).catch(() => {});
  };
  const start = (number: number): Tenant =>
    new Tenant(image, device.child.socketPath(sockets[number]), { ...options, onReport });
  const tenants = sockets.map((_, number) => start(number));
  let killed: Tenant;
  let shares: Measurement;
  let returned: ReturnedShare;
  try {
    await Promise.all(tenants.map((tenant) => tenant.ready));
    await tenants[0].do(`run ${QUIET}`);
    // The other virtual function is tested when it has been replaced.
    for (const tenant of tenants.slice(0, 2)) await runWhileFlooded(SUITES, tenant, tenants);
    await moveShares(tenants);
    await tenants[1].do(`helped ${HELPED_SUITES}`);
    killed = await replaceLast(tenants, () => start(FUNCTIONS - 1));
    await runWhileFlooded(AGAIN, tenants[FUNCTIONS - 1], tenants);
    const client = await ControlClient.connect(device.child.controlPath);
    try {
      shares = await measureShares(tenants, client, SHARES_SECONDS);
      returned = await returnShare(tenants, client, () => start(FUNCTIONS - 1));
    } finally {
      client.close();
    }
    await Promise.all(tenants.map((tenant) => tenant.end()));
  } finally {
    await Promise.all(tenants.map((tenant) => tenant.kill()));
    tenants[0].session.addFaults('adapter', await device.stop());
  }
  return { guests: tenants.map((tenant) => tenant.report()), killed: killed.report(), shares, returned };
}

async function runWhileFlooded(suites: string, tenant: Tenant, tenants: readonly Tenant[]): Promise<void> {
  const others = tenants.filter((other) => other !== tenant);
  await Promise.all(others.map((other) => other.do('flood')));
  await tenant.do(`run ${suites}`);
  await Promise.all(others.map((other) => other.do('calm')));
}

/** Moves shares away and back while their owners send. */
async function moveShares([physical, ...virtual]: readonly Tenant[]): Promise<void> {
  const traffic = Promise.all(virtual.map((tenant) => tenant.do(`run ${TRAFFIC}`)));
  for (let round = 0; round < MOVE_ROUNDS; round++) for (const move of MOVES) await physical.do(`ask ${move}`);
  await traffic;
  for (const tenant of virtual) await tenant.do('moved');
}

/** Kills the last guest during its flood, while another one is tested, and starts a replacement. */
async function replaceLast(tenants: Tenant[], restart: () => Tenant): Promise<Tenant> {
  const killed = tenants[FUNCTIONS - 1];
  await Promise.all(tenants.slice(1).map((tenant) => tenant.do('flood')));
  const tested = tenants[0].do(`run ${AGAIN}`);
  await killed.kill();
  const next = restart();
  tenants[FUNCTIONS - 1] = next;
  await next.ready;
  await tested;
  await tenants[1].do('calm');
  return killed;
}
