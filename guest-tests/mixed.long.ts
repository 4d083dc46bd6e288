// SPDX-License-Identifier: Apache-2.0
/**
 * Adapters of all kinds in one process, behind one switch: a guest with Debian's stock drivers and
 * user space has a reliable connection of each of its devices with our own adapter, whose driver
 * runs in this test, and traffic between the two.
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
import { asStock } from './harness/guest-image.ts';
import { runGuest } from './harness/guest-run.ts';
import { type RequestAnswerer, requestProgram } from './harness/host-requests.ts';
import { report } from './harness/report.ts';

const TOPOLOGY = {
  adapters: {
    old: { sockets: ['old.sock'], personality: 'mthca' },
    current: { sockets: ['current.sock'], personality: 'mlx5' },
    v: { sockets: ['v.sock'] },
  },
  switches: { s: { ports: 4 } },
  links: ['old:1', 'current:1', 'v:1'].map((port) => ({ ports: [port, 's'] })),
};
const PROGRAM = 'mixed-peer.py';
const BYTES = 5000;
/** Connections of two devices with our adapter, and between them. */
const RESULTS = 2 * 6 + 3;
/** 4 s: a guest on a busy machine must not use up the retries. */
const PATIENT_TIMEOUT = 20;
const MEMORY_MIB = 1024;
const ACCESS = AccessFlag.LOCAL_WRITE | AccessFlag.REMOTE_WRITE | AccessFlag.REMOTE_READ;

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

/** The end of the connections at adapter v. */
class OwnEnd {
  readonly #status: () => Promise<StatusReport>;
  readonly #access: VfioUserAccess;
  readonly #createQueuePair: () => DriverQueuePair;
  /** Length of the newest connection. */
  #qp: DriverQueuePair | undefined;
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
    const creation = { serviceType: ServiceType.RC };
    this.#createQueuePair = () => driver.createQueuePair({ pd, sendCq, sendEntriesLog2: 4, creation });
  }

  readonly answer: RequestAnswerer = async ([command, ...numbers]) => {
    if (command === 'connect') return this.#connect(...(numbers.map(Number) as [number, number, number]));
    const { bytes, address } = this.#memory;
    if (command === 'check') return bytes.every((byte, index) => byte === index % 241) ? 'right' : 'wrong';
    bytes.forEach((_, index) => {
      bytes[index] = index % 251;
    });
    const sges = [{ address, length: BYTES, lkey: this.#keys.lkey }];
    this.#qp?.post({ opcode: SendOpcode.SEND, sges, signaled: true });
    return 'posted';
  };

  close(): void {
    this.#access.close();
  }

  /** Connects a new QP to one of the guest. Returns LID, QPN, key and address of this end. */
  async #connect(remoteQpn: number, dlid: number, pathMtu: number): Promise<string> {
    const { adapters } = await this.#status();
    const { lid } = adapters[0].ports[0];
    const qp = this.#createQueuePair();
    qp.connect({ reliable: true, port: 1, dlid, remoteQpn, pathMtu, timeout: PATIENT_TIMEOUT });
    this.#qp = qp;
    return [lid, qp.qpn, this.#keys.rkey, this.#memory.address].join(' ');
  }
}

t.test('stock drivers and our adapter have reliable connections', async (t) => {
  const parts = await provideDistributionParts(undefined, {
    caseText: `#!/bin/sh\nexec python3 -W ignore /bin/${PROGRAM}\n`,
    files: [
      requestProgram('/usr/bin/adapter'),
      // /bin is a link in Debian's file system.
      { path: `/bin/${PROGRAM}`, content: readFileSync(new URL(`cases/${PROGRAM}`, import.meta.url)) },
    ],
  });
  const modules = parts.modules.map(asStock);
  let own: OwnEnd | undefined;
  const run = await runGuest(
    { modules, files: parts.files, script: { name: 'mixed.sh', text: ENTER_WITH_CASE } },
    {
      guest: { disk: parts.disk, memoryMiB: MEMORY_MIB },
      cleared: true,
      device: { topology: TOPOLOGY },
      // The third one is the connection of this test.
      functions: [0, 1],
      onDevice: async (device) => {
        own = await OwnEnd.start(device);
      },
      answer: (words) => own?.answer(words) ?? Promise.reject(new Error('there is no other end')),
    },
  );
  own?.close();
  report(t, run, RESULTS);
});
