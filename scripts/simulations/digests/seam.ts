// SPDX-License-Identifier: Apache-2.0
/**
 * A digest of all that crosses the seam of `device/host.ts` in the in-process machines of one
 * subject, and the wrappers that feed it. Recordings hold the same records; here they go into a
 * hash. `scripts/simulations/digests.ts` calls this.
 */
import { createHash } from 'node:crypto';
import { Fabric } from '../../../device/fabric/link/fabric.ts';
import { Adapter } from '../../../device/hca/adapter/adapter.ts';
import { TimelineRing } from '../../../device/hca/function/timeline-ring.ts';
import type { QueuePairTrace } from '../../../device/hca/trace/queue-pair-trace.ts';
import type { AdapterPort, BusAddress, HostPort } from '../../../device/host.ts';
import { type OrderableHost, OrderingModel } from '../../../device/hosts/ordering/ordering-model.ts';
import { RecordWriter } from '../../../device/hosts/record-writer.ts';
import { RecordingAdapterPort, RecordingHost } from '../../../device/hosts/recording.ts';
import { SimulatedClock } from '../../../device/rig/machine/simulated-clock.ts';
import { csrRegisters } from '../../../protocol/layout/gen/registers.gen.ts';

const DIGEST_CHARACTERS = 32;
/** Kinds of record that no recording has. */
const OwnKind = { ALARM: 240, ADVANCE: 241, MACHINE: 242, PACKET: 243, TEXT: 244, BLOCK: 245 } as const;
/** Functions of one machine have numbers below this. */
const FUNCTIONS_MAX = 1024;
const TIMELINE_LOG2 = 16;
const TRACE = { blocksLog2: 6, snapLength: 200, stopOnError: false, byGuest: false } as const;

/** What a subject adds to its digest beside the seam. */
interface Watch {
  readonly packets?: boolean;
  readonly traces?: boolean;
}

/**
 * The digest of one subject. The machines of the subject are wrapped so that they write into it.
 */
export class Digest {
  readonly writer: RecordWriter;
  readonly watch: Watch;
  readonly #hash = createHash('sha256');
  readonly #ports: AdapterPort[] = [];
  readonly #traced: TracedPort[] = [];

  constructor(watch: Watch = {}) {
    this.watch = watch;
    this.writer = new RecordWriter((bytes) => void this.#hash.update(bytes));
  }

  note(kind: number, value: number): void {
    this.writer.open(kind);
    this.writer.double(value);
  }

  bytes(kind: number, bytes: Uint8Array, offset = 0, lengthBytes = bytes.length): void {
    this.note(kind, lengthBytes);
    this.writer.bytes(bytes, offset, lengthBytes);
  }

  text(value: unknown): void {
    this.bytes(OwnKind.TEXT, new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value)));
  }

  wrapAdapter(core: AdapterPort): AdapterPort {
    const { packets, traces } = this.watch;
    const adapters = core instanceof Adapter ? [core] : core instanceof Fabric ? core.nodes : [];
    for (const { ports } of packets ? adapters : [])
      for (const port of ports)
        port.observer = ({ number }, outgoing, bytes, offset, lengthBytes) => {
          this.note(OwnKind.PACKET, outgoing ? number : -number);
          this.bytes(OwnKind.PACKET, bytes, offset, lengthBytes);
        };
    const tracedPort = traces && core instanceof Adapter ? new TracedPort(this, core) : undefined;
    if (tracedPort !== undefined) this.#traced.push(tracedPort);
    const port = tracedPort ?? new RecordingAdapterPort(this.writer, core);
    if (packets || traces) this.#ports.push(port);
    return port;
  }

  /**
   * The registers at the end belong to the subjects that are watched; those of tests would keep all
   * machines in memory.
   */
  end(): string {
    for (const { functions } of this.#ports)
      for (const port of functions)
        for (const { offset, bits, count } of csrRegisters)
          for (let at = 0; at < (bits / 32) * count; at++) port.readRegister(offset + at * 4, 4);
    for (const port of this.#traced) port.end();
    this.writer.flush();
    return this.#hash.digest('hex').slice(0, DIGEST_CHARACTERS);
  }
}

/** An adapter that has a timeline, and whose QPs are all traced by the host. */
class TracedPort extends RecordingAdapterPort {
  readonly #digest: Digest;
  readonly #core: Adapter;
  readonly #timeline: TimelineRing;
  readonly #traces = new Set<QueuePairTrace>();

  constructor(digest: Digest, core: Adapter) {
    super(digest.writer, core);
    this.#digest = digest;
    this.#core = core;
    this.#timeline = new TimelineRing(TIMELINE_LOG2, () => core.clock.now());
    core.attachTimeline(this.#timeline);
  }

  override run(budget: number): boolean {
    const { tables, traces } = this.#core;
    tables.queuePairs.forEach((qp) => {
      if (qp.trace === undefined) traces.enable(qp, TRACE);
      if (qp.trace !== undefined) this.#traces.add(qp.trace);
    });
    return super.run(budget);
  }

  end(): void {
    for (const step of this.#timeline.read(0, this.#timeline.capacity)) this.#digest.text(step);
    for (const trace of this.#traces)
      this.#core.traces.read(trace, 0, (bytes, lengthBytes) => {
        this.#digest.bytes(OwnKind.BLOCK, bytes, 0, lengthBytes);
        return true;
      });
  }
}

/**
 * A recorded host that keeps the short way for words, so that the adapter takes it as it does when
 * it is not recorded.
 */
class WordHost extends RecordingHost {
  readWords(at: BusAddress, lengthBytes: number, target: Int32Array, targetOffset: number): boolean {
    return this.readMemory(at, lengthBytes, bytesOf(target), targetOffset);
  }

  writeWords(at: BusAddress, source: Int32Array, sourceOffset: number, lengthBytes: number): boolean {
    return this.writeMemory(at, bytesOf(source), sourceOffset, lengthBytes);
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Int32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/**
 * From now on machines write into the digest that `current` returns. Every in-process machine has
 * its ordering model wrap hosts and adapter; the digest goes in between there, so that simulations
 * need no option for it.
 */
export function interpose(current: () => Digest): void {
  const { wrapHost, wrapAdapter } = OrderingModel.prototype;
  const { setAlarm, advance } = SimulatedClock.prototype;
  const hostCounts = new WeakMap<OrderingModel, number>();
  let machines = 0;
  OrderingModel.prototype.wrapHost = function (this: OrderingModel, host: OrderableHost): HostPort {
    const ordered = wrapHost.call(this, host);
    const index = hostCounts.get(this) ?? machines++ * FUNCTIONS_MAX;
    hostCounts.set(this, index + 1);
    const Host = ordered.readWords === undefined ? RecordingHost : WordHost;
    return new Host(current().writer, ordered, index);
  };
  OrderingModel.prototype.wrapAdapter = function (this: OrderingModel, adapter: AdapterPort): AdapterPort {
    current().note(OwnKind.MACHINE, adapter.functions.length);
    return wrapAdapter.call(this, current().wrapAdapter(adapter));
  };
  SimulatedClock.prototype.setAlarm = function (this: SimulatedClock, atNs: number): void {
    current().note(OwnKind.ALARM, atNs);
    setAlarm.call(this, atNs);
  };
  SimulatedClock.prototype.advance = function (this: SimulatedClock, lengthNs: number): void {
    current().note(OwnKind.ADVANCE, lengthNs);
    advance.call(this, lengthNs);
  };
}
