// SPDX-License-Identifier: Apache-2.0
/**
 * All send contexts of the adapter and the turns of their packets (US 2015/0378953 claim 1). Turns
 * go by owner, in the accounts that the lanes use too: a function gains nothing by more contexts.
 * The packets of a context leave in order of completion or, with a seed, in any order; a packet
 * whose virtual lane has no room lets those of other lanes pass. Credits return when a packet has
 * left the port. PCIe functions bring the writes, `Adapter.run` the turns.
 * Registers: send-context-registers, commands: send-context-commands, report: resource-report.
 */
import {
  SEND_BLOCK_BYTES,
  SEND_CONTEXT_BLOCKS_MAX,
  SEND_CONTEXT_MAX,
  SEND_CONTEXT_WINDOW_BYTES,
  SEND_START_OF_PACKET_OFFSET,
} from '../../../protocol/layout/gen/constants.gen.ts';
import { getSendControlVirtualLane } from '../../../protocol/layout/gen/send-control.gen.ts';
import { FaultKind, SendHaltCause } from '../../../protocol/layout/gen/values.gen.ts';
import type { PacketRing } from '../../fabric/port/packet-ring.ts';
import type { Port } from '../../fabric/port/port.ts';
import { Random } from '../../random.ts';
import { NO_OBJECT } from '../function/fault-log.ts';
import type { ObjectTable } from '../function/object-table.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { EgressResult, PacketEgress } from './packet-egress.ts';
import { SendContext } from './send-context.ts';
import { SendMemory } from './send-memory.ts';

/** Shares of the adapter's time (docs/ARCHITECTURE.md, Shares of time), by function. */
export interface FunctionTurns {
  /** The function with `waiting[number] > 0` that is served next, or -1. */
  chooseFunction(waiting: Int32Array, last: number): number;
  chargeFunction(number: number, bytes: number): void;
}

/** Constructor arguments. */
export interface SendContextParts {
  readonly ports: readonly Port[];
  readonly queuePairs: ObjectTable<QueuePair>;
  readonly functionCount: number;
  /** Blocks of the PIO send memory. */
  readonly blockCount: number;
  readonly turns: FunctionTurns;
  /** Cost of a packet beside its bytes. */
  readonly packetCostBytes: number;
  /** The packets of a context leave in an order drawn from it. */
  readonly egressSeed: number | undefined;
}

/** The send contexts of all functions. */
export class SendContexts {
  readonly memory: SendMemory;
  /** By function and number: each function numbers its contexts from 0. */
  readonly #contexts: (SendContext | undefined)[];
  readonly #turns: FunctionTurns;
  readonly #packetCostBytes: number;
  readonly #egress: PacketEgress;
  readonly #random: Random | undefined;
  /** Number of packets that wait for a port, in all contexts and by function. */
  #ready = 0;
  /** The last `run` ended before each function had its share. */
  owed = false;
  readonly #readyOf: Int32Array;
  /** The same without functions whose packets found no room in this call of `run`. */
  readonly #open: Int32Array;
  /** The function served last, and the context served last of each function. */
  #lastFunction = 0;
  readonly #lastContext: Int16Array;
  #serial = 0;
  #frozen = false;

  constructor(parts: SendContextParts) {
    const { ports, queuePairs, functionCount, egressSeed } = parts;
    this.memory = new SendMemory(functionCount, parts.blockCount);
    this.#contexts = new Array(functionCount * SEND_CONTEXT_MAX).fill(undefined);
    this.#turns = parts.turns;
    this.#packetCostBytes = parts.packetCostBytes;
    this.#egress = new PacketEgress(ports, queuePairs);
    this.#random = egressSeed === undefined ? undefined : new Random(egressSeed);
    this.#readyOf = new Int32Array(functionCount);
    this.#open = new Int32Array(functionCount);
    this.#lastContext = new Int16Array(functionCount).fill(SEND_CONTEXT_MAX - 1);
    this.#lastFunction = functionCount - 1;
    const left = (tag: number, serial: number): void => this.#left(tag, serial);
    for (const { loopback, transmitQueues } of ports)
      for (const ring of [loopback, transmitQueues.vl15, ...transmitQueues.rings]) ring.onLeft = left;
  }

  get frozen(): boolean {
    return this.#frozen;
  }

  /** True while a complete packet waits for its port. */
  get ready(): boolean {
    return this.#ready > 0;
  }

  /** Returns the context of that number of the function. */
  get(owner: UnderlyingFunction, number: number): SendContext | undefined {
    return number < SEND_CONTEXT_MAX ? this.#contexts[placeOf(owner.number, number)] : undefined;
  }

  /**
   * Adds a context of `blocks` blocks under the lowest free number of its function. The caller has
   * looked for room in `memory`.
   */
  add(owner: UnderlyingFunction, blocks: number): SendContext {
    let number = 0;
    while (this.get(owner, number) !== undefined) number++;
    this.#serial = (this.#serial + 1) | 0;
    const context = new SendContext(number, this.#serial, owner, blocks);
    this.#contexts[placeOf(owner.number, number)] = context;
    this.memory.take(owner.number, blocks);
    return context;
  }

  /** Removes a context and its waiting packets. Those in a port still leave. */
  remove(context: SendContext): void {
    this.#count(context, -context.readyCount);
    this.#contexts[placeOf(context.owner.number, context.number)] = undefined;
    this.memory.giveBack(context.owner.number, context.blocks.count);
  }

  /** Removes all contexts of a function. */
  dropFunction(owner: UnderlyingFunction): void {
    for (const context of this.#contexts) if (context?.owner === owner) this.remove(context);
  }

  /** Calls `visit` for each context, by function and number. */
  forEach(visit: (context: SendContext) => void): void {
    for (const context of this.#contexts) if (context !== undefined) visit(context);
  }

  /** Takes a write to a function's PIO BAR. */
  write(owner: UnderlyingFunction, offset: number, sizeBytes: number, low: number, high: number): void {
    owner.faults.duringWrite(sizeBytes, low, high);
    this.#write(owner, offset, sizeBytes, low, high);
    owner.faults.endAccess();
  }

  /**
   * Halts every enabled context, or lets software restart them (docs/DOCUMENTS.md decision 9; the
   * freeze of Linux's hfi1 driver).
   */
  setFrozen(on: boolean): void {
    this.#frozen = on;
    for (const context of this.#contexts) {
      if (on) context?.halt(SendHaltCause.FREEZE);
      else context?.thaw();
    }
  }

  /** Gives up to `limit` packets to the ports. Returns their number. */
  run(limit: number): number {
    this.owed = false;
    if (this.#ready === 0) return 0;
    const open = this.#open;
    open.set(this.#readyOf);
    let sent = 0;
    while (sent < limit) {
      const number = this.#turns.chooseFunction(open, this.#lastFunction);
      if (number < 0) break;
      if (this.#serve(number)) {
        this.#lastFunction = number;
        open[number] = this.#readyOf[number];
        sent++;
        continue;
      }
      open[number] = 0;
      this.owed = true;
    }
    this.owed ||= sent === limit && this.#ready > 0;
    return sent;
  }

  #write(owner: UnderlyingFunction, offset: number, sizeBytes: number, low: number, high: number): void {
    const start = offset >= SEND_START_OF_PACKET_OFFSET;
    const inWindow = start ? offset - SEND_START_OF_PACKET_OFFSET : offset;
    const context = this.get(owner, Math.floor(inWindow / SEND_CONTEXT_WINDOW_BYTES));
    if (context === undefined) return owner.faults.report(FaultKind.PIO_UNSUPPORTED, NO_OBJECT, offset);
    const before = context.readyCount;
    context.write(inWindow % SEND_CONTEXT_WINDOW_BYTES, sizeBytes, low, high, start);
    this.#count(context, context.readyCount - before);
  }

  /** Serves one packet of the function. Returns false when none of its packets finds room. */
  #serve(functionNumber: number): boolean {
    let number = this.#lastContext[functionNumber];
    for (let tried = 0; tried < SEND_CONTEXT_MAX; tried++) {
      number = (number + 1) % SEND_CONTEXT_MAX;
      const context = this.#contexts[placeOf(functionNumber, number)];
      if (context === undefined || context.readyCount === 0 || !this.#serveContext(context)) continue;
      this.#lastContext[functionNumber] = number;
      return true;
    }
    return false;
  }

  /**
   * Serves the first packet whose virtual lane has room, from the oldest or from a drawn one on.
   * Returns false when there is none.
   */
  #serveContext(context: SendContext): boolean {
    const count = context.readyCount;
    const first = this.#random?.below(count) ?? 0;
    let blocked = 0;
    for (let step = 0; step < count; step++) {
      const place = (first + step) % count;
      const block = context.readyAt(place);
      const lane = 1 << getSendControlVirtualLane(context.blocks.view, block * SEND_BLOCK_BYTES);
      if ((blocked & lane) !== 0) continue;
      const result = this.#egress.send(context, block);
      if (result !== EgressResult.BLOCKED) {
        this.#settle(context, place, block, result);
        return true;
      }
      blocked |= lane;
    }
    return false;
  }

  #settle(context: SendContext, place: number, block: number, result: EgressResult): void {
    this.#count(context, -1);
    context.take(place);
    if (result === EgressResult.AT_PORT) {
      context.packetsSent++;
      this.#turns.chargeFunction(context.owner.number, this.#packetCostBytes + this.#egress.lengthBytes);
      const tag = 1 + block + placeOf(context.owner.number, context.number) * SEND_CONTEXT_BLOCKS_MAX;
      return (this.#egress.ring as PacketRing).tagLast(tag, context.serial);
    }
    context.packetsDropped++;
    context.finish(block);
    if (result === EgressResult.REFUSED) context.halt(SendHaltCause.DISALLOWED_PACKET);
  }

  /** A packet has left its port. Its context may be gone. */
  #left(tag: number, serial: number): void {
    const context = this.#contexts[Math.floor((tag - 1) / SEND_CONTEXT_BLOCKS_MAX)];
    if (context?.serial === serial) context.finish((tag - 1) % SEND_CONTEXT_BLOCKS_MAX);
  }

  #count(context: SendContext, difference: number): void {
    this.#ready += difference;
    this.#readyOf[context.owner.number] += difference;
  }
}

/** Place of a context among those of all functions. */
function placeOf(functionNumber: number, number: number): number {
  return functionNumber * SEND_CONTEXT_MAX + number;
}
