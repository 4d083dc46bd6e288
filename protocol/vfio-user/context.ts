// SPDX-License-Identifier: Apache-2.0
/**
 * One libvfio-user context: one socket, one PCI function, one client at a time. It is built from
 * `DeviceOptions` and served by a `Pump`. States: listening, negotiating (a client has connected),
 * attached, then listening again; quiescing while the device finishes its work; destroyed. All
 * calls and callbacks run on the thread that created it. A client gets an answer to everything that
 * it sent before the context is destroyed: QEMU waits for answers with its lock held, and would not
 * notice that the socket has closed.
 */
import { performance } from 'node:perf_hooks';
import { CallbackSet } from './callbacks.ts';
import { ConfigSpace } from './config-space.ts';
import { RESET_KIND, resetKindOf, SYSLOG } from './constants.ts';
import { setUpContext } from './context-setup.ts';
import type { DeviceCallbacks, DeviceOptions } from './device.ts';
import { errnoText } from './errors.ts';
import { throwUncaught } from './event-loop.ts';
import { GuestMemory } from './guest-memory.ts';
import { Interrupts } from './interrupts.ts';
import type { Libvfio, Pointer } from './library.ts';
import { RateLimitedLog } from './log.ts';
import { errno, lastErrno, stopReceiving } from './native.ts';
import type { DeviceState } from './region.ts';
import { RequestTurn } from './request-turn.ts';

export type ContextState = 'listening' | 'negotiating' | 'attached' | 'quiescing' | 'destroyed';

/** Calls from a context to its pump. */
interface ContextOwner {
  /** The context has become ready without an event on its descriptor: serve it soon. */
  wake(context: VfioUserContext): void;
  /** The context is being destroyed: stop watching its descriptor. */
  remove(context: VfioUserContext): void;
}

const NO_DEVICE: Partial<DeviceCallbacks> = {};

export class VfioUserContext {
  readonly socketPath: string;
  readonly config: ConfigSpace;
  readonly memory = new GuestMemory();
  readonly interrupts: Interrupts;
  /** `exceptions` counts callbacks of the device that threw; each one is a bug of the device. */
  readonly counters = { requests: 0, attaches: 0, refusedClients: 0, lostConnections: 0, exceptions: 0 };
  /** True if the last accept failed because the process has no descriptors left; it is repeated. */
  acceptFailed = false;
  /** The pump sets it. */
  owner: ContextOwner | undefined;
  readonly #library: Libvfio;
  readonly #options: DeviceOptions;
  readonly #log: RateLimitedLog;
  readonly #callbacks: CallbackSet;
  readonly #device: DeviceState = { gone: false, asleep: false };
  #ctx: Pointer = 0;
  #listenFd = -1;
  #state: ContextState = 'listening';
  #serving = false;
  #destroyLater = false;
  /** The device refused the next request when it was last asked. */
  #held = false;
  readonly #turn = new RequestTurn(
    () => this.#runOnce(),
    () => performance.now(),
  );

  /**
   * Binds the socket. Clients can connect from now on; a pump that has the context serves them.
   * @throws {VfioUserError} if the socket path or the description is not usable.
   */
  constructor(library: Libvfio, options: DeviceOptions) {
    this.#library = library;
    this.#options = options;
    this.socketPath = options.socketPath;
    this.#log = new RateLimitedLog(options.log, { socket: options.socketPath });
    this.#callbacks = new CallbackSet((where, error) => this.#failed(where, error));
    this.config = new ConfigSpace(options.ids);
    this.config.observer = {
      power: (inD0) => {
        this.#device.asleep = !inD0;
      },
      busMaster: (enabled) => this.#calls().busMaster?.(enabled),
      msix: (enabled, allMasked) => this.#calls().msix?.(enabled, allMasked),
      written: (offset, length) => this.#calls().configWritten?.(offset, length),
      functionLevelReset: () => this.#reset(RESET_KIND.functionLevel),
    };
    const { ctx, vectors } = setUpContext({
      library,
      options,
      config: this.config,
      memory: this.memory,
      callbacks: this.#callbacks,
      log: this.#log,
      state: this.#device,
      device: () => this.#calls(),
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

  /** Descriptor to wait on: listening socket or client socket. It may change in every `serve`. */
  get pollFd(): number {
    return this.#library.vfu_get_poll_fd(this.#ctx);
  }

  /** Events of poll(2) to wait for on `pollFd`. */
  get pollEvents(): number {
    return this.#library.vfu_get_poll_events(this.#ctx);
  }

  /**
   * Accepts a client, or handles pending requests. True if more may be pending without an event.
   */
  serve(): boolean {
    if (this.#state === 'destroyed' || this.#state === 'quiescing') return false;
    this.#serving = true;
    try {
      return this.#state === 'attached' ? this.#run() : this.#attach();
    } finally {
      this.#serving = false;
      if (this.#destroyLater) this.destroy();
    }
  }

  /** The device has failed: no call reaches it any more, and reads of the client return ones. */
  loseDevice(): void {
    this.#device.gone = true;
  }

  /** Reports that the device is quiet, after `callbacks.quiesce` returned false. */
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

  /** Disconnects the client, as if it had closed its socket. */
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

  /**
   * Frees the context and removes the socket file, after answers to all requests of the client and
   * `reset('lost-connection')`. Idempotent.
   */
  destroy(): void {
    if (this.#state === 'destroyed') return;
    if (this.#serving) {
      this.#destroyLater = true;
      return;
    }
    this.owner?.remove(this);
    try {
      if (this.#state === 'attached') this.#answerRest();
    } finally {
      this.interrupts.close();
      this.#free();
    }
  }

  /**
   * Serves the requests that the client has sent. This ends, because the client can send no more.
   */
  #answerRest(): void {
    stopReceiving(this.pollFd);
    this.#serving = true;
    while (this.#state === 'attached' && this.#library.vfu_run_ctx(this.#ctx) > 0);
    this.#serving = false;
  }

  #free(): void {
    const attached = this.#state === 'attached';
    this.#state = 'destroyed';
    if (this.#ctx !== 0) {
      // Suppresses the library's messages about its own end, which would appear once per function.
      this.#library.vfu_setup_log(this.#ctx, null, SYSLOG.error);
      this.#library.vfu_destroy_ctx(this.#ctx);
    }
    this.#ctx = 0;
    if (attached) this.#guard('detached', () => this.#calls().detached?.());
    this.#callbacks.unregisterAll();
  }

  #attach(): boolean {
    if (this.#library.vfu_attach_ctx(this.#ctx) === 0) {
      this.#state = 'attached';
      this.acceptFailed = false;
      this.counters.attaches++;
      this.#log.write(SYSLOG.info, 'client attached');
      this.#guard('attached', () => this.#calls().attached?.());
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
      this.#log.write(SYSLOG.debug, 'a client connected and disconnected without a message');
      return true;
    }
    this.counters.refusedClients++;
    this.#log.write(SYSLOG.warning, `client refused: ${errnoText(error)}`);
    return !this.acceptFailed;
  }

  #run(): boolean {
    const result = this.#turn.take();
    this.counters.requests += this.#turn.requests;
    if (result < 0) return this.#runFailed(lastErrno());
    return result > 0 || this.#held;
  }

  /** Handles the requests of one receive, if the device admits a request. */
  #runOnce(): number {
    this.#held = this.#calls().takesRequest?.() === false;
    return this.#held ? 0 : this.#library.vfu_run_ctx(this.#ctx);
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
    this.#log.write(SYSLOG.info, 'client disconnected');
    this.#guard('detached', () => this.#calls().detached?.());
  }

  #reset(type: number): void {
    this.config.reset();
    this.#calls().reset?.(resetKindOf(type));
  }

  #calls(): Partial<DeviceCallbacks> {
    return this.#device.gone ? NO_DEVICE : this.#options.callbacks;
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
    const { failed } = this.#options.callbacks;
    if (failed !== undefined) return failed(where, error);
    const line = `the device threw in ${where}: the library received a default result`;
    try {
      this.#log.write(SYSLOG.error, line, { err: error });
    } catch (failure) {
      throwUncaught(failure);
    }
  }
}
