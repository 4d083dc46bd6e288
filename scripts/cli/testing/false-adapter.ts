// SPDX-License-Identifier: Apache-2.0
/**
 * A control socket without an adapter, or with a misbehaving one, for tests of the reaction of
 * commands. It answers the first requests of a connection correctly, and then misbehaves.
 */
import { createServer, type Server, type Socket } from 'node:net';
import type { Test } from 'tap';
import { ControlCommands } from '../../../device/process/control/control-commands.ts';
import type { ControlRequest } from '../../../device/process/control/control-protocol.ts';
import type { AdapterProcess } from '../../../device/process/host/adapter-process.ts';
import { AdapterFixture } from '../../../device/rig/fixtures/adapter-fixture.ts';
import { connect } from '../../../device/rig/fixtures/connected-fixture.ts';
import { PUMP_REPORT } from '../../../device/rig/live/served-fabric.ts';
import { listChannels } from '../../../device/topology/named-nodes.ts';
import { SendOpcode } from '../../../protocol/layout/gen/values.gen.ts';

/** The result of a request, as an adapter has it. */
export type Truth = (request: ControlRequest) => unknown;
/** Handles a request in any way. */
export type Behaviour = (socket: Socket, request: ControlRequest, truth: Truth) => void;

/**
 * A socket at `path` that exists until the end of the test; it answers the first `good` requests of
 * a client.
 */
export function serveFalsely(t: Test, path: string, behaviour: Behaviour, truth: Truth, good = 0): Promise<Server> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    let taken = 0;
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) {
        const { version, id, command, ...parameters } = JSON.parse(line);
        const request = { version, id, command, parameters };
        try {
          if (taken++ < good) answer(socket, request, truth(request));
          else behaviour(socket, request, truth);
        } catch (error) {
          socket.write(`${JSON.stringify({ version, id, error: (error as Error).message })}\n`);
        }
      }
    });
  });
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return new Promise((resolve) => server.listen(path, () => resolve(server)));
}

export function answer(socket: Socket, { version, id }: ControlRequest, result: unknown): void {
  socket.write(`${JSON.stringify({ version, id, result })}\n`);
}

/**
 * Answers of an adapter with a history: two connected QPs, one of them failed, and their traces.
 */
export function makeTruth(): Truth {
  const fixture = new AdapterFixture({ seed: 1 });
  const { device, clock } = fixture.machine;
  const { a, region } = connect(fixture, { sendPsn: 100, receivePsn: 500, pathMtu: 1 });
  const context = { socketPath: '/a.sock', counters, memory: { regions: [] }, config: { inD0: true } };
  const host = { context, counters: accesses, blockedTooLong: 0 };
  const hosts = [{ ...host, attached: true, readMemory: () => false }];
  const served = [{ name: 'a', core: device, hosts, functions: [] }];
  const named = {
    ...{ served, adapters: served, personalities: [], switches: [], managers: [], socketLinks: [], joints: [] },
    ...{
      nodes: listChannels('a', device),
      clock: { now: () => clock.now() },
      pump: { wake: () => {}, report: PUMP_REPORT },
    },
  };
  const { table } = new ControlCommands(named as unknown as AdapterProcess, 42, () => {});
  const client = { onClose: () => {} };
  const truth = ({ command, parameters }: Pick<ControlRequest, 'command' | 'parameters'>): unknown => {
    if (command in canned) return canned[command];
    return table.get(unchanging[command] ?? command)?.({ version: 1, id: 1, command, parameters }, client);
  };
  for (const [command, parameters] of Object.entries({ 'trace-on': { qp: a.qpn }, 'timeline-on': {} }))
    table.get(command)?.({ version: 1, id: 1, command, parameters }, client);
  const [from, to] = [fixture.createBuffer(600), fixture.createBuffer(600)];
  for (const rkey of [region.rkey, 0x1234500]) {
    a.post({ opcode: SendOpcode.RDMA_WRITE, sges: [fixture.sge(from)], remote: { address: to.address, rkey } });
    fixture.settle();
  }
  return truth;
}

const counters = { requests: 9, attaches: 1, refusedClients: 0, lostConnections: 0, exceptions: 0 };
const accesses = { registerReads: 1, registerWrites: 2, collectWrites: 3, pioWrites: 0 };
const progress = { path: '/x', active: false, closed: false, packets: 3, lost: 0, bytes: 300, failed: false };

/** Commands that would change the adapter get the same answers as those that read. */
const unchanging: Readonly<Record<string, string>> = {
  'set-resources': 'resources',
  ...Object.fromEntries(
    ['trace-on', 'trace-off', 'trace-pause', 'trace-resume', 'timeline-on', 'timeline-off'].map((name) => [
      name,
      'trace-status',
    ]),
  ),
};

/** Answers of an adapter that takes no action. A capture ends at the first query of it. */
const canned: Readonly<Record<string, unknown>> = {
  inject: { text: 'planted' },
  link: { text: 'changed' },
  step: { text: 'the adapter runs', going: 'runs', steps: 3, reached: false },
  'capture-start': { ...progress, active: true },
  'capture-progress': { ...progress, closed: true },
  'capture-stop': progress,
};
