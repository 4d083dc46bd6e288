// SPDX-License-Identifier: Apache-2.0
/**
 * A live adapter: the device core, its vfio-user hosts and the pump that drives both, put together from options (the composition root).
 */
import { type Libvfio, type LogTarget, loadLibrary, type PassHook, Pump } from '../../protocol/vfio-user/index.ts';
import { Adapter } from '../adapter.ts';
import type { AdapterPort, ResourceAnswer } from '../host.ts';
import { Recorder } from '../hosts/recording.ts';
import { type AdapterOptions, defaultAdapterOptions, findOptionError, getCollectPages } from '../options.ts';
import { RecordingFile } from './recording-file.ts';
import { SocketLink, type SocketLinkOptions } from './socket-link.ts';
import { VfioUserHost } from './vfio-user-host.ts';
import { WallClock } from './wall-clock.ts';

/** Units of work of one pass: short enough that the next register access never waits long. */
const PASS_BUDGET = 256;
/** How much of a recording a killed process may lose while busy. */
const FLUSH_INTERVAL_NS = 50_000_000;

export interface AdapterProcessOptions {
  /** Path of libvfio-user. */
  readonly libraryPath: string;
  readonly socketPath: string;
  readonly adapter?: Partial<AdapterOptions>;
  /** Writes a recording of the run here. */
  readonly recordPath?: string;
  /** Links to other processes, in place of what joins these ports by the adapter's options. */
  readonly links?: readonly ({ readonly port: 1 | 2 } & SocketLinkOptions)[];
  readonly log: LogTarget;
}

export class AdapterProcess {
  readonly adapter: Adapter;
  readonly hosts: readonly VfioUserHost[];
  readonly pump: Pump;
  readonly clock: WallClock;
  readonly recording: RecordingFile | undefined;
  readonly links: readonly SocketLink[];
  readonly #recorder: Recorder | undefined;
  /** The adapter as hosts call it. */
  readonly #port: AdapterPort;

  /** Opens the socket; clients are served from `start`. Throws VfioUserError, RecordingError or RangeError with one clear sentence. */
  constructor(options: AdapterProcessOptions) {
    const adapterOptions: AdapterOptions = { ...defaultAdapterOptions, ...options.adapter };
    const error = findOptionError(adapterOptions);
    if (error !== undefined) throw new RangeError(error);
    // Packets from another process are not in a recording: its replay would take another way at the first of them.
    if (options.recordPath !== undefined && (options.links?.length ?? 0) > 0)
      throw new RangeError(
        'A run with links to other processes cannot be recorded; leave out the links or the recording.',
      );
    const library: Libvfio = loadLibrary(options.libraryPath);
    this.pump = new Pump();
    this.clock = new WallClock(() => this.pump.nowNs());
    this.hosts = [
      new VfioUserHost({
        library,
        socketPath: options.socketPath,
        functionNumber: 0,
        collectPages: getCollectPages(adapterOptions),
        log: options.log,
      }),
    ];
    this.recording = this.#openRecording(options.recordPath);
    const recorder = this.recording && new Recorder(adapterOptions, this.hosts.length, this.recording.sink);
    this.#recorder = recorder;
    this.adapter = new Adapter(
      adapterOptions,
      recorder?.wrapClock(this.clock) ?? this.clock,
      this.hosts.map((host, index) => recorder?.wrapHost(host, index) ?? host),
    );
    this.links = (options.links ?? []).map((link) => this.#plug(link));
    const port = recorder?.wrapAdapter(this.adapter) ?? this.adapter;
    this.#port = port;
    for (const [index, host] of this.hosts.entries()) host.connect(port.functions[index]);
    for (const host of this.hosts) this.pump.add(host.context);
    this.pump.onPass(makePassHook(port, this.clock, recorder));
  }

  /** Serves guests until `close`. */
  start(): void {
    this.pump.start();
  }

  /** Listens for peers and begins to connect to them. Rejects with one sentence when a link cannot listen. */
  async openLinks(): Promise<void> {
    for (const link of this.links) await link.start();
  }

  /** A resource request of the host; it is in the recording like everything else. Guests are told in the next pass. */
  requestResources(changes: Uint8Array): ResourceAnswer {
    const answer = this.#port.functions[0].requestResources(changes);
    this.pump.wake();
    return answer;
  }

  #plug(options: { readonly port: 1 | 2 } & SocketLinkOptions): SocketLink {
    const port = this.adapter.ports[options.port - 1];
    port.onWork = () => this.pump.wake();
    return new SocketLink(port, options);
  }

  /** The sockets are there already: a recording is not begun for a process that cannot serve, nor a socket left by one that cannot record. */
  #openRecording(path: string | undefined): RecordingFile | undefined {
    try {
      return path === undefined ? undefined : new RecordingFile(path);
    } catch (error) {
      for (const host of this.hosts) host.context.destroy();
      this.pump.destroy();
      throw error;
    }
  }

  /** Leaves nothing behind: sockets, descriptors, the recording's last bytes. May be called twice. */
  close(): void {
    for (const link of this.links) link.close();
    this.pump.destroy();
    this.#recorder?.flush();
    this.recording?.close();
  }
}

function makePassHook(port: AdapterPort, clock: WallClock, recorder: Recorder | undefined): PassHook {
  let flushedNs = 0;
  return {
    pass: () => {
      clock.takeDueAlarm();
      const more = port.run(PASS_BUDGET);
      if (recorder !== undefined && clock.now() - flushedNs > FLUSH_INTERVAL_NS) {
        flushedNs = clock.now();
        recorder.flush();
      }
      return more;
    },
    nextAlarmNs: () => clock.nextAlarmNs,
  };
}
