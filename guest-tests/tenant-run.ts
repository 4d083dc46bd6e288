// SPDX-License-Identifier: Apache-2.0
//
// Three guests on the functions of one adapter: the physical one and two virtual ones, at once. Each in turn runs test suites while the others flood; the physical
// function moves shares under traffic; a guest is killed while it floods, and another one comes to its socket. Called by tenants.test.ts.

import type { Guest } from '../qemu/guest.ts';
import { DeviceProcess } from './device-process.ts';
import { type GuestRun, type GuestRunOptions, makeRun, packCases } from './guest-run.ts';
import { GuestSession } from './guest-session.ts';

/** What became of the guests. */
export interface TenantRun {
  /** By function; of the last guest on it. */
  readonly guests: readonly GuestRun[];
  /** Of the guest that was killed: what it had reported until then. */
  readonly killed: GuestRun;
}

const FUNCTIONS = 3;
const PEER_PORT = 'vuhca.peer';
const READY = '# host: ready';
const DONE = '# host: done';
/** Enough for a guest; three of them share the machine. */
const MEMORY_MIB = 256;
/** What a guest runs while the others flood. Faults and completions are counted exactly, so a neighbour's would show. */
const SUITES = 'collect copies shares stop once requests gifts overflow';
/** What does not depend on how many buffers there are. */
const TRAFFIC = 'datagram connected_bulk';
/** Takes almost all from the virtual functions, and gives it back. */
const MOVES = [
  'function 1 vcbs 4 pcbs 2; function 2 vcbs 1 pcbs 0',
  'function 1 vcbs 0; function 2 vcbs 64',
  'function 1 vcbs 64 pcbs 40; function 2 pcbs 40',
];
const MOVE_ROUNDS = 10;

/** Runs the guests to their end. Throws only when there is nothing to run them with. */
export async function runTenants(options: GuestRunOptions = {}): Promise<TenantRun> {
  const image = await packCases({ ...options, script: 'tenant.sh' });
  const sockets = Array.from({ length: FUNCTIONS }, (_, number) => `function${number}.sock`);
  const device = await DeviceProcess.start({ topology: { adapters: { hca: { sockets } } } });
  const start = (number: number): Tenant => new Tenant(image, device.child.socketPath(sockets[number]), options);
  const tenants = sockets.map((_, number) => start(number));
  let killed: Tenant | undefined;
  try {
    await Promise.all(tenants.map((tenant) => tenant.ready));
    for (const tenant of tenants) await runWhileFlooded(tenant, tenants);
    await moveShares(tenants);
    killed = await replaceLast(tenants, () => start(FUNCTIONS - 1));
    await runWhileFlooded(tenants[FUNCTIONS - 1], tenants);
    await Promise.all(tenants.map((tenant) => tenant.end()));
  } finally {
    await Promise.all(tenants.map((tenant) => tenant.kill()));
    tenants[0].session.faults.push(...(await device.stop()));
  }
  return { guests: tenants.map((tenant) => tenant.report()), killed: killed.report() };
}

async function runWhileFlooded(tenant: Tenant, tenants: readonly Tenant[]): Promise<void> {
  const others = tenants.filter((other) => other !== tenant);
  await Promise.all(others.map((other) => other.do('flood')));
  await tenant.do(`run ${SUITES}`);
  await Promise.all(others.map((other) => other.do('calm')));
}

/** Shares come and go while their owners send. */
async function moveShares([physical, ...virtual]: readonly Tenant[]): Promise<void> {
  const traffic = Promise.all(virtual.map((tenant) => tenant.do(`run ${TRAFFIC}`)));
  for (let round = 0; round < MOVE_ROUNDS; round++) for (const move of MOVES) await physical.do(`ask ${move}`);
  await traffic;
  for (const tenant of virtual) await tenant.do('moved');
}

/** The last guest dies in the middle of its flood; the others are tested meanwhile; then there is a new one in its place. */
async function replaceLast(tenants: Tenant[], restart: () => Tenant): Promise<Tenant> {
  const killed = tenants[FUNCTIONS - 1];
  await Promise.all(tenants.slice(1).map((tenant) => tenant.do('flood')));
  const tested = tenants[0].do(`run ${SUITES}`);
  await killed.kill();
  const next = restart();
  tenants[FUNCTIONS - 1] = next;
  await next.ready;
  await tested;
  await tenants[1].do('calm');
  return killed;
}

/** One guest that is told what to do. */
class Tenant {
  readonly session: GuestSession;
  /** Resolves when it can be told something. Rejects, as all it is told does, when it ends first. */
  readonly ready: Promise<void>;
  readonly #startMs = performance.now();
  readonly #ended: Promise<void>;
  #guest: Guest | undefined;
  #heard: (() => void) | undefined;

  constructor(image: string, socketPath: string, options: GuestRunOptions) {
    const onReport = (line: string): void => {
      if (line === READY || line === DONE) this.#heard?.();
    };
    this.session = new GuestSession({ ...options, onReport, ports: [PEER_PORT], cpus: 1, memoryMiB: MEMORY_MIB });
    this.#ended = this.session.run(image, socketPath, (guest) => {
      this.#guest = guest;
    });
    this.ready = this.#hears();
    this.ready.catch(() => {});
  }

  /** Resolves when it has been done. */
  async do(line: string): Promise<void> {
    const done = this.#hears();
    await this.#tell(line);
    return done;
  }

  async end(): Promise<void> {
    await this.#tell('end');
    await this.#ended;
  }

  /** Ends it as a power failure would. */
  async kill(): Promise<void> {
    await this.#guest?.kill();
    await this.#ended;
  }

  report(): GuestRun {
    return makeRun(this.session, this.#startMs);
  }

  async #tell(line: string): Promise<void> {
    await this.#guest?.port(PEER_PORT).write(`${line}\n`);
  }

  #hears(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#heard = resolve;
      void this.#ended.then(() => reject(new Error(`a guest ended: ${this.session.faults.join('; ')}`)));
    });
  }
}
