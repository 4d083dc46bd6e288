// SPDX-License-Identifier: Apache-2.0
/**
 * Adapters of both kinds in one process, behind one switch: a guest with Debian's stock driver and
 * user space has a reliable connection with our own adapter, whose driver runs in this test.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { ControlClient } from '../device/process/control/control-client.ts';
import type { StatusReport } from '../device/process/reports/status-report.ts';
import { Driver } from '../device/rig/driver/driver.ts';
import type { DriverQueuePair } from '../device/rig/driver/queue-pair.ts';
import { VfioUserAccess } from '../device/rig/live/vfio-user-access.ts';
import { AccessFlag, SendOpcode, ServiceType } from '../protocol/layout/gen/values.gen.ts';
import { ENTER_WITH_CASE, provideDistributionParts } from '../qemu/distribution-guest.ts';
import type { DeviceProcess } from './harness/device-process.ts';
import type { JobModule } from './harness/guest-image.ts';
import { runGuest } from './harness/guest-run.ts';
import { type RequestAnswerer, requestProgram } from './harness/host-requests.ts';
import { report } from './harness/report.ts';

const TOPOLOGY = {
  adapters: { m: { sockets: ['m.sock'], personality: 'mthca' }, v: { sockets: ['v.sock'] } },
  switches: { s: { ports: 4 } },
  links: [{ ports: ['m:1', 's'] }, { ports: ['v:1', 's'] }],
};
const PROGRAM = 'mixed-peer.py';
const BYTES = 5000;
const RESULTS = 6;
/** 2048 bytes: the largest of the personality. */
const MTU_CODE = 4;
/** 4 s: a guest on a busy machine must not use up the retries. */
const PATIENT_TIMEOUT = 20;
const MEMORY_MIB = 1024;
const ACCESS = AccessFlag.LOCAL_WRITE | AccessFlag.REMOTE_WRITE | AccessFlag.REMOTE_READ;

// A guest that falls silent is ended (guest-session.ts); no other bound holds on a busy machine.
t.setTimeout(0);

/** The end of the connection at adapter v. */
class OwnEnd {
  readonly #status: () => Promise<StatusReport>;
  readonly #access: VfioUserAccess;
  readonly #qp: DriverQueuePair;
  readonly #keys: ReturnType<Driver['createDmaRegion']>;
  readonly #memory: ReturnType<Driver['createBuffer']>;

  static async start({ child }: DeviceProcess): Promise<OwnEnd> {
    const control = await ControlClient.connect(child.controlPath);
    const status = async () => await control.request('status');
    return new OwnEnd(new VfioUserAccess(child.socketPath('v.sock')), status);
  }

  private constructor(access: VfioUserAccess, status: () => Promise<StatusReport>) {
    this.#access = access;
    this.#status = status;
    const driver = new Driver(access).bringUp();
    const pd = driver.createProtectionDomain();
    this.#keys = driver.createDmaRegion(pd, ACCESS);
    this.#memory = driver.createBuffer(BYTES);
    const sendCq = driver.createCompletionQueue({ entriesLog2: 4 });
    this.#qp = driver.createQueuePair({ pd, sendCq, sendEntriesLog2: 4, creation: { serviceType: ServiceType.RC } });
  }

  readonly answer: RequestAnswerer = async ([command, qpn]) => {
    if (command === 'connect') return this.#connect(Number(qpn));
    const { bytes, address } = this.#memory;
    if (command === 'check') return bytes.every((byte, index) => byte === index % 241) ? 'right' : 'wrong';
    bytes.forEach((_, index) => {
      bytes[index] = index % 251;
    });
    const sges = [{ address, length: BYTES, lkey: this.#keys.lkey }];
    this.#qp.post({ opcode: SendOpcode.SEND, sges, signaled: true });
    return 'posted';
  };

  close(): void {
    this.#access.close();
  }

  /** Connects to a QP of the guest. Returns LID, QPN, key and address of this end. */
  async #connect(remoteQpn: number): Promise<string> {
    const { adapters, personalities } = await this.#status();
    const [lid, dlid] = [adapters, personalities].map(([{ ports }]) => ports[0].lid);
    this.#qp.connect({ reliable: true, port: 1, dlid, remoteQpn, pathMtu: MTU_CODE, timeout: PATIENT_TIMEOUT });
    return [lid, this.#qp.qpn, this.#keys.rkey, this.#memory.address].join(' ');
  }
}

t.test('a stock driver and our adapter have a reliable connection', async (t) => {
  const parts = await provideDistributionParts(undefined, {
    caseText: `#!/bin/sh\nexec python3 -W ignore /bin/${PROGRAM}\n`,
    files: [
      requestProgram('/usr/bin/adapter'),
      // /bin is a link in Debian's file system.
      { path: `/bin/${PROGRAM}`, content: readFileSync(new URL(`cases/${PROGRAM}`, import.meta.url)) },
    ],
  });
  const modules = parts.modules.map((module): JobModule => ({ kind: 'stock', ...module }));
  let own: OwnEnd | undefined;
  const run = await runGuest(
    { modules, files: parts.files, script: { name: 'mixed.sh', text: ENTER_WITH_CASE } },
    {
      guest: { disk: parts.disk, memoryMiB: MEMORY_MIB },
      cleared: true,
      device: { topology: TOPOLOGY },
      // The other one is that of this test.
      functionNumber: 0,
      onDevice: async (device) => {
        own = await OwnEnd.start(device);
      },
      answer: (words) => own?.answer(words) ?? Promise.reject(new Error('there is no other end')),
    },
  );
  own?.close();
  report(t, run);
  t.equal(run.results.filter(({ step }) => step === undefined).length, RESULTS, 'all checks did run');
});
