// SPDX-License-Identifier: Apache-2.0
/**
 * The host door (docs/FABRIC.md): a server of ibsim's UDP protocol, by which Debian's opensm and
 * diagnostics on this machine use a port of the running fabric. Control messages come to one port;
 * client n has its datagrams on port n + 1 behind it. It listens on the loopback address only. It
 * works on Node's event loop beside the pump. `AdapterProcess` owns it.
 */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import { getIbsimClientId, getIbsimClientIsManager } from '../../../protocol/infiniband/gen/ibsim-client.gen.ts';
import { getIbsimControlClient, getIbsimControlType } from '../../../protocol/infiniband/gen/ibsim-control.gen.ts';
import { IbsimType } from '../../../protocol/infiniband/gen/values.gen.ts';
import { viewOf } from '../../../protocol/layout/view.ts';
import { IbsimClient } from './ibsim-client.ts';
import { answerControl, CONTROL_DATA_OFFSET, isControl, readHostName, writeConnected } from './ibsim-control.ts';
import type { HostDirectory, SoftwareHost } from './software-host.ts';

/** Clients at a time, and of one program: of one socket for control messages. */
const CLIENTS_MAX = 64;
export const CLIENTS_OF_PROGRAM = 4;
const LOOPBACK = '127.0.0.1';
/** A client of a fabric with a subnet manager waits this long for its port to become ACTIVE. */
const ACTIVE_BOUND_MS = 5000;
const CHECK_INTERVAL_MS = 1000;
const BUFFER_BYTES = 1 << 20;

interface IbsimServerOptions {
  /** UDP port of control messages; 0: any that is free. */
  readonly port: number;
  readonly hosts: HostDirectory;
  /** Called when the fabric has work. */
  readonly wake: () => void;
  /** Called with one line of text. */
  readonly log?: (line: string) => void;
}

/** The door cannot listen: one sentence. */
export class DoorError extends Error {
  override name = 'DoorError';
}

/** A client whose port is not ACTIVE yet; its CONNECT has no answer so far. */
interface Waiting {
  readonly client: IbsimClient;
  readonly message: Buffer;
  readonly timer: NodeJS.Timeout;
}

export class IbsimServer {
  readonly clients = new Map<number, IbsimClient>();
  /** Messages of a wrong form, and requests that were refused. */
  malformed = 0;
  refused = 0;
  readonly #options: IbsimServerOptions;
  readonly #control: Socket;
  readonly #waiting = new Set<Waiting>();
  /** Numbers of clients whose socket is being bound. */
  readonly #opening = new Set<number>();
  /** Ports of programs and of datagrams whose CONNECT is being served. */
  readonly #connecting: { readonly controlPort: number; readonly dataPort: number }[] = [];
  #checks: NodeJS.Timeout | undefined = undefined;
  #closed = false;

  constructor(options: IbsimServerOptions) {
    this.#options = options;
    this.#control = createSocket('udp4');
  }

  /** UDP port of control messages. */
  get port(): number {
    return this.#control.address().port;
  }

  /** Listens. Rejects with DoorError when the port is taken. */
  async start(): Promise<void> {
    const { port } = this.#options;
    try {
      await bind(this.#control, port);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw new DoorError(`the host door cannot listen at UDP port ${port} (${code}): choose another one`);
    }
    this.#control.on('message', (message, from) => this.#receive(message, from));
    this.#control.on('error', (error) => this.#log(`host door: ${error.message}`));
    this.#checks = setInterval(() => this.#dropDead(), CHECK_INTERVAL_MS);
    this.#checks.unref();
  }

  /** The fabric has run: answers clients whose port has become ACTIVE. */
  settle(): void {
    if (this.#waiting.size === 0) return;
    for (const waiting of this.#waiting) if (waiting.client.host.isActive) this.#admit(waiting);
  }

  /** Closes all sockets. May be called twice. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    clearInterval(this.#checks);
    for (const client of [...this.clients.values()]) this.#drop(client);
    this.#control.close();
  }

  #receive(message: Buffer, from: RemoteInfo): void {
    if (!isControl(message)) {
      this.malformed++;
      return;
    }
    const view = viewOf(message);
    const type = getIbsimControlType(view, 0);
    if (type === IbsimType.CONNECT) return void this.#connect(message, from);
    const client = this.clients.get(getIbsimControlClient(view, 0));
    // A client answers for itself only.
    if (client === undefined || client.controlPort !== from.port) return this.#refuse(message, from.port);
    if (type === IbsimType.DISCONNECT) this.#drop(client);
    else if (!answerControl(message, client)) return this.#refuse(message, from.port);
    this.#send(message, from.port);
  }

  async #connect(message: Buffer, from: RemoteInfo): Promise<void> {
    const view = viewOf(message);
    const dataPort = getIbsimClientId(view, CONTROL_DATA_OFFSET);
    const name = readHostName(message);
    if (dataPort < 1 || dataPort > 0xffff || !this.#mayConnect(from.port, dataPort))
      return this.#refuse(message, from.port);
    const entry = { controlPort: from.port, dataPort };
    this.#connecting.push(entry);
    try {
      await this.#attach(message, from.port, dataPort, name);
    } finally {
      this.#connecting.splice(this.#connecting.indexOf(entry), 1);
    }
  }

  /** A program has few clients, and each has a port for datagrams of its own. */
  #mayConnect(controlPort: number, dataPort: number): boolean {
    const all = [...this.clients.values(), ...this.#connecting];
    if (all.length >= CLIENTS_MAX || all.some((one) => one.dataPort === dataPort)) return false;
    return all.filter((one) => one.controlPort === controlPort).length < CLIENTS_OF_PROGRAM;
  }

  async #attach(message: Buffer, controlPort: number, dataPort: number, name: string): Promise<void> {
    const host = this.#options.hosts.open(name);
    if (typeof host === 'string') {
      this.#log(`host door: a client asks for ${JSON.stringify(name)}: ${host}`);
      return this.#refuse(message, controlPort);
    }
    const opened = await this.#openSocket(dataPort);
    if (opened === undefined) {
      this.#releaseIfIdle(host);
      return this.#refuse(message, controlPort);
    }
    const { number, socket } = opened;
    const { wake } = this.#options;
    const onGone = (client: IbsimClient): void => this.#drop(client);
    const client = new IbsimClient({ number, host, socket, controlPort, dataPort, wake, onGone });
    this.clients.set(number, client);
    if (getIbsimClientIsManager(viewOf(message), CONTROL_DATA_OFFSET) !== 0) client.setManager(true);
    wake();
    this.#await(client, message);
  }

  /** Answers when the port is ACTIVE, or at once where no subnet manager makes it so. */
  #await(client: IbsimClient, message: Buffer): void {
    const timer = setTimeout(() => this.#admit(waiting), ACTIVE_BOUND_MS);
    const waiting = { client, message, timer };
    this.#waiting.add(waiting);
    if (client.host.isActive || !this.#options.hosts.hasManager) this.#admit(waiting);
  }

  #admit(waiting: Waiting): void {
    clearTimeout(waiting.timer);
    this.#waiting.delete(waiting);
    const { client, message } = waiting;
    writeConnected(message, client.number, client.host.name);
    this.#send(message, client.controlPort);
  }

  /**
   * A number for a client and the socket for its datagrams, connected to `dataPort`; undefined when
   * all are taken. A number is passed over while another program has its UDP port.
   */
  async #openSocket(dataPort: number): Promise<{ number: number; socket: Socket } | undefined> {
    for (let number = 0; number < CLIENTS_MAX && !this.#closed; number++) {
      if (this.clients.has(number) || this.#opening.has(number)) continue;
      const socket = createSocket({ type: 'udp4', recvBufferSize: BUFFER_BYTES, sendBufferSize: BUFFER_BYTES });
      this.#opening.add(number);
      try {
        await bind(socket, this.port + 1 + number);
        await connect(socket, dataPort);
        if (!this.#closed) return { number, socket };
      } catch {
        // The next number has another port.
      } finally {
        this.#opening.delete(number);
      }
      socket.close();
    }
    this.#log(`host door: there are ${this.clients.size} clients and no UDP port for one more`);
    return undefined;
  }

  /** Programs that were killed say nothing; the system no longer lists their ports. */
  #dropDead(): void {
    if (this.clients.size === 0) return;
    const ports = listUdpPorts();
    if (ports === undefined) return;
    for (const client of [...this.clients.values()]) if (!ports.has(client.dataPort)) this.#drop(client);
  }

  #drop(client: IbsimClient): void {
    if (this.clients.get(client.number) !== client) return;
    this.clients.delete(client.number);
    for (const waiting of this.#waiting) {
      if (waiting.client !== client) continue;
      clearTimeout(waiting.timer);
      this.#waiting.delete(waiting);
    }
    client.close();
    this.#releaseIfIdle(client.host);
    this.#options.wake();
  }

  #releaseIfIdle(host: SoftwareHost): void {
    if (host.exchange.clientCount === 0) this.#options.hosts.release(host);
  }

  #refuse(message: Buffer, port: number): void {
    this.refused++;
    message.writeUInt32LE(IbsimType.ERROR, 8);
    this.#send(message, port);
  }

  #send(message: Buffer, port: number): void {
    if (!this.#closed) this.#control.send(message, port, LOOPBACK);
  }

  #log(line: string): void {
    this.#options.log?.(line);
  }
}

function bind(socket: Socket, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.bind({ port, address: LOOPBACK, exclusive: true }, () => {
      socket.off('error', reject);
      resolve();
    });
  });
}

function connect(socket: Socket, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.connect(port, LOOPBACK, () => {
      socket.off('error', reject);
      resolve();
    });
  });
}

/**
 * UDP ports in use on this machine, or undefined when the kernel does not tell: the end of a client
 * can be noticed in no other way.
 */
function listUdpPorts(): Set<number> | undefined {
  let text: string;
  try {
    text = readFileSync('/proc/net/udp', 'utf8');
  } catch {
    return undefined;
  }
  // `  123: 0100007F:1C03 00000000:0000 07 ...`: number, local address and port, and more.
  const ports = [...text.matchAll(/^ *\d+: [0-9A-F]+:([0-9A-F]{4}) /gm)];
  return new Set(ports.map(([, port]) => Number.parseInt(port, 16)));
}
