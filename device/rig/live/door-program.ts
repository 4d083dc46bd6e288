// SPDX-License-Identifier: Apache-2.0
/**
 * The host door over real UDP sockets, with hosts that answer by script and programs as ibsim's
 * library makes them. Tests of the door use it.
 */
import { createSocket, type Socket } from 'node:dgram';
import type { Test } from 'tap';
import { encodeIbsimClient } from '../../../protocol/infiniband/gen/ibsim-client.gen.ts';
import { encodeIbsimControl } from '../../../protocol/infiniband/gen/ibsim-control.gen.ts';
import {
  encodeIbsimDatagram,
  IBSIM_DATAGRAM_MAD_OFFSET,
  IBSIM_DATAGRAM_SIZE,
} from '../../../protocol/infiniband/gen/ibsim-datagram.gen.ts';
import { IbsimType } from '../../../protocol/infiniband/gen/values.gen.ts';
import { MadClass, MadMethod } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { MAD_BYTES } from '../../../protocol/infiniband/mad/mad-headers.ts';
import { viewOf } from '../../../protocol/layout/view.ts';
import { CONTROL_DATA_OFFSET } from '../../process/ibsim/ibsim-control.ts';
import { IbsimServer } from '../../process/ibsim/ibsim-server.ts';
import { MadExchange } from '../../process/ibsim/mad-exchange.ts';
import type { HostDirectory, SoftwareHost } from '../../process/ibsim/software-host.ts';
import { ScriptedMadPort } from './scripted-mad-port.ts';

const MAGIC = 0xdeadbeef;

/** A host whose port answers by script. */
export class Host implements SoftwareHost {
  readonly name: string;
  readonly port = new ScriptedMadPort();
  readonly exchange = new MadExchange(this.port, { repeatMs: 5, tries: 2 });
  isActive = true;
  managers = 0;

  constructor(name: string) {
    this.name = name;
  }
  writeNodeInfo(into: Uint8Array): void {
    into.fill(0x11);
  }
  writePortInfo(into: Uint8Array, portNumber: number): void {
    into.fill(0x20 + portNumber);
  }
  writePKeys(into: Uint8Array): void {
    into.fill(0xff);
  }
  setManager(isManager: boolean): void {
    this.managers += isManager ? 1 : -1;
  }
}

class Hosts implements HostDirectory {
  hasManager = true;
  readonly hosts = new Map<string, Host>();
  readonly released: string[] = [];

  open(name: string): SoftwareHost | string {
    if (name === 'nowhere') return 'there is none';
    const host = this.hosts.get(name) ?? new Host(name || 'any');
    this.hosts.set(name, host);
    return host;
  }
  release(host: SoftwareHost): void {
    this.released.push(host.name);
  }
}

/** A program with ibsim's client library. */
export class Program {
  readonly control: Socket;
  readonly data: Socket;
  number = -1;
  readonly #port: number;

  static async open(port: number): Promise<Program> {
    const sockets = [createSocket('udp4'), createSocket('udp4')];
    for (const socket of sockets) await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
    return new Program(port, sockets[0], sockets[1]);
  }

  private constructor(port: number, control: Socket, data: Socket) {
    this.#port = port;
    this.control = control;
    this.data = data;
  }

  /** Sends a control message and returns the answer. */
  async ask(type: number, data = new Uint8Array(64), client = this.number): Promise<Buffer> {
    const message = Buffer.alloc(80);
    const fields = { magic: MAGIC, client: client >>> 0, type, lengthBytes: data.length };
    encodeIbsimControl(viewOf(message), 0, fields);
    message.set(data, CONTROL_DATA_OFFSET);
    const answer = next(this.control);
    this.control.send(message, this.#port, '127.0.0.1');
    return answer;
  }

  async connect(host: string, isManager = 0): Promise<Buffer> {
    const data = new Uint8Array(64);
    encodeIbsimClient(new DataView(data.buffer), 0, { id: this.data.address().port, qpn: 0, isManager });
    new TextEncoder().encodeInto(host, data.subarray(12));
    const answer = await this.ask(IbsimType.CONNECT, data);
    this.number = answer.readUInt32LE(CONTROL_DATA_OFFSET);
    return answer;
  }

  send(mad: Uint8Array, dlid = 3, destQpn = 0): void {
    const bytes = Buffer.alloc(IBSIM_DATAGRAM_SIZE);
    const fields = { dlid, slid: 0, destQpn, sourceQpn: destQpn, status: 0, lengthBytes: MAD_BYTES };
    encodeIbsimDatagram(viewOf(bytes), 0, fields);
    bytes.set(mad, IBSIM_DATAGRAM_MAD_OFFSET);
    this.sendRaw(bytes);
  }

  sendRaw(bytes: Uint8Array): void {
    this.data.send(bytes, this.#port + 1 + this.number, '127.0.0.1');
  }

  close(): void {
    this.control.close();
    this.data.close();
  }
}

export function next(socket: Socket): Promise<Buffer> {
  return new Promise((resolve) => socket.once('message', (message) => resolve(message)));
}

/** A Get of subnet management. */
export function getMad(): Uint8Array {
  const mad = new Uint8Array(MAD_BYTES);
  mad.set([1, MadClass.SUBNET, 1, MadMethod.GET]);
  mad[15] = 9;
  return mad;
}

/** A door on a free port, and programs that end with the test. */
export async function openDoor(t: Test): Promise<{ server: IbsimServer; hosts: Hosts; program(): Promise<Program> }> {
  const hosts = new Hosts();
  const server = new IbsimServer({ port: 0, hosts, wake: () => {} });
  await server.start();
  const programs: Program[] = [];
  t.teardown(() => {
    for (const program of programs) program.close();
    server.close();
  });
  const program = async (): Promise<Program> => {
    const made = await Program.open(server.port);
    programs.push(made);
    return made;
  };
  return { server, hosts, program };
}
