// SPDX-License-Identifier: Apache-2.0
// One libvfio-user context: one socket, one PCI function, one client at a time. Built from `DeviceOptions`, served by a
// `Pump`. States: listening -> negotiating (a client connected) -> attached -> listening; quiescing while the device
// makes itself quiet; destroyed. All calls and callbacks happen on the thread that made it.

import { CallbackSet } from './callbacks.ts';
import { ConfigSpace } from './config-space.ts';
import { RESET_KIND, resetKindOf, SYSLOG } from './constants.ts';
import { setUpContext } from './context-setup.ts';
import type { DeviceOptions } from './device.ts';
import { errnoText } from './errors.ts';
import { GuestMemory } from './guest-memory.ts';
import { Interrupts } from './interrupts.ts';
import type { Libvfio, Pointer } from './library.ts';
import { RateLimitedLog } from './log.ts';
import { errno, lastErrno } from './native.ts';

export type ContextState = 'listening' | 'negotiating' | 'attached' | 'quiescing' | 'destroyed';

/** What the pump hears from a context besides what `serve` returns. */
export interface ContextOwner {
  /** Serve it soon: it is quiet now, or was changed from outside. */
  wake(context: VfioUserContext): void;
  /** It is being destroyed: forget its descriptor. */
  remove(context: VfioUserContext): void;
}

/**
 * The next request is often there as soon as the reply has been sent: looking costs less than waiting for the descriptor.
 * One call handles up to 64 requests (0009-*.patch).
 */
const CALLS_PER_SERVE = 16;

export class VfioUserContext {
  readonly socketPath: string;
  readonly config: ConfigSpace;
  readonly memory = new GuestMemory();
  readonly interrupts: Interrupts;
  /** `exceptions` counts callbacks of the device that threw: each is a bug of ours. */
  readonly counters = { requests: 0, attaches: 0, refusedClients: 0, lostConnections: 0, exceptions: 0 };
  /** The last connection could not be accepted because the process is out of descriptors: try again later. */
  acceptFailed = false;
  /** Set by the pump. */
  owner: ContextOwner | undefined;
  readonly #library: Libvfio;
  readonly #options: DeviceOptions;
  readonly #log: RateLimitedLog;
  readonly #callbacks: CallbackSet;
  #ctx: Pointer = 0;
  #listenFd = -1;
  #state: ContextState = 'listening';
  #serving = false;
  #destroyLater = false;

  /**
   * Binds the socket; clients can connect from here on and are served once a pump has the context.
   * @throws {VfioUserError} when the socket path or the description is not usable.
   */
  constructor(library: Libvfio, options: DeviceOptions) {
    this.#library = library;
    this.#options = options;
    this.socketPath = options.socketPath;
    this.#log = new RateLimitedLog(options.log, { socket: options.socketPath });
    this.#callbacks = new CallbackSet((where, error) => this.#failed(where, error));
    this.config = new ConfigSpace(options.ids);
    this.config.observer = {
      busMaster: (enabled) => options.callbacks.busMaster?.(enabled),
      msix: (enabled, allMasked) => options.callbacks.msix?.(enabled, allMasked),
      written: (offset, length) => options.callbacks.configWritten?.(offset, length),
      functionLevelReset: () => this.#reset(RESET_KIND.functionLevel),
    };
    const { ctx, vectors } = setUpContext({
      library,
      options,
      config: this.config,
      memory: this.memory,
      callbacks: this.#callbacks,
      log: this.#log,
      reset: (type) => this.#reset(type),
      failed: (where, error) => this.#failed(where, error),
    });
    this.#ctx = ctx;
    this.#listenFd = this.pollFd;
    this.interrupts = new Interrupts(library, ctx, vectors);
  }

  get state(): ContextState {
    return this.#state;
  }

  /** What to wait on: the listening socket, or the client's. It may change with every `serve`. */
  get pollFd(): number {
    return this.#library.vfu_get_poll_fd(this.#ctx);
  }

  /** poll(2) events for `pollFd`. */
  get pollEvents(): number {
    return this.#library.vfu_get_poll_events(this.#ctx);
  }

  /** Handles a connection, or the requests that are there. True when there may be more though nothing arrives. */
  serve(): boolean {
    if (this.#state === 'destroyed' || this.#state === 'quiescing') return false;
    this.#serving = true;
    const more = this.#state === 'attached' ? this.#run() : this.#attach();
    this.#serving = false;
    if (this.#destroyLater) this.destroy();
    return more;
  }

  /** Ends the wait that `callbacks.quiesce` began by returning false. */
  quiesced(): void {
    if (this.#state !== 'quiescing') return;
    this.#serving = true;
    this.#library.vfu_device_quiesced(this.#ctx, 0);
    this.#serving = false;
    this.#state = this.pollFd === this.#listenFd ? 'listening' : 'attached';
    if (this.#state === 'listening') this.#lost();
    if (this.#destroyLater) this.destroy();
    else this.owner?.wake(this);
  }

  /** Drops the client, as if it had closed its socket. */
  dropClient(why: string): void {
    if (this.#state !== 'negotiating' && this.#state !== 'attached') return;
    this.#log.write(SYSLOG.warning, `client dropped: ${why}`);
    const attached = this.#state === 'attached';
    if (!attached) this.counters.refusedClients++;
    this.#library.vfu_detach_ctx(this.#ctx);
    this.#state = 'listening';
    if (attached) this.#lost();
    this.owner?.wake(this);
  }

  /** Frees everything and removes the socket file. The device gets `reset('lost-connection')`. May be called twice. */
  destroy(): void {
    if (this.#state === 'destroyed') return;
    if (this.#serving) {
      this.#destroyLater = true;
      return;
    }
    this.owner?.remove(this);
    this.interrupts.close();
    this.#free();
  }

  #free(): void {
    const attached = this.#state === 'attached';
    this.#state = 'destroyed';
    if (this.#ctx !== 0) {
      // What the library remarks on its own end is no news, least of all once for each function.
      this.#library.vfu_setup_log(this.#ctx, null, SYSLOG.error);
      this.#library.vfu_destroy_ctx(this.#ctx);
    }
    this.#ctx = 0;
    if (attached) this.#guard('detached', () => this.#options.callbacks.detached?.());
    this.#callbacks.unregisterAll();
  }

  #attach(): boolean {
    if (this.#library.vfu_attach_ctx(this.#ctx) === 0) {
      this.#state = 'attached';
      this.acceptFailed = false;
      this.counters.attaches++;
      this.#log.write(SYSLOG.info, 'client attached');
      this.#guard('attached', () => this.#options.callbacks.attached?.());
      return true;
    }
    const error = lastErrno();
    this.acceptFailed = error === errno.EMFILE || error === errno.ENFILE;
    if (error === errno.EAGAIN) {
      this.#state = this.pollFd === this.#listenFd ? 'listening' : 'negotiating';
      return false;
    }
    this.#state = 'listening';
    if (error === errno.ENOMSG) {
      this.#log.write(SYSLOG.debug, 'a client connected and left without a word');
      return true;
    }
    this.counters.refusedClients++;
    this.#log.write(SYSLOG.warning, `client refused: ${errnoText(error)}`);
    return !this.acceptFailed;
  }

  #run(): boolean {
    for (let calls = 0; calls < CALLS_PER_SERVE; calls++) {
      const result = this.#library.vfu_run_ctx(this.#ctx);
      if (result === 0) return false;
      if (result < 0) return this.#runFailed(lastErrno());
      this.counters.requests += result;
    }
    return true;
  }

  #runFailed(error: number): boolean {
    if (error === errno.EBUSY) {
      this.#state = 'quiescing';
      return false;
    }
    if (error === errno.ENOTCONN) {
      this.#state = 'listening';
      this.#lost();
      return true;
    }
    this.dropClient(errnoText(error));
    return true;
  }

  #lost(): void {
    this.counters.lostConnections++;
    this.#log.write(SYSLOG.info, 'client gone');
    this.#guard('detached', () => this.#options.callbacks.detached?.());
  }

  #reset(type: number): void {
    this.config.reset();
    this.#options.callbacks.reset(resetKindOf(type));
  }

  #guard(where: string, callback: () => void): void {
    try {
      callback();
    } catch (error) {
      this.#failed(where, error);
    }
  }

  #failed(where: string, error: unknown): void {
    this.counters.exceptions++;
    this.#log.write(SYSLOG.error, `the device threw in ${where}: its caller got a stand-in answer`, { err: error });
  }
}
