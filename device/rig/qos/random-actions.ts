// SPDX-License-Identifier: Apache-2.0
/**
 * The random actions of `AdapterLoad`, one for each step: posts by every way, single stores of
 * half-written commands, stale copies and doorbells, share requests, QP errors, function resets,
 * writes to ADAPTER_CONTROL.
 */
import {
  CSR,
  CSR_ADAPTER_CONTROL_DISABLE_MASK,
  CSR_ADAPTER_CONTROL_LEND_IDLE_MASK,
} from '../../../protocol/layout/gen/registers.gen.ts';
import { ManagementStatus } from '../../../protocol/layout/gen/values.gen.ts';
import type { Random } from '../../random.ts';
import { type CollectStore, planStores, storeCollected } from '../driver/collect-writer.ts';
import { encodeChanges } from '../driver/resources.ts';
import type { InProcessMachine } from '../machine/machine.ts';
import { drawShareChange } from './draw-change.ts';
import { type Flow, LONGEST } from './flow.ts';
import { floodUntilSpilling } from './forced-spill.ts';
import { type LaneTableOracle, markEntry } from './lane-table-oracle.ts';
import type { PolicyOracle } from './policy-oracle.ts';
import type { Tenant } from './tenant.ts';

const KEPT_COPIES = 64;
/** The adapter under load that the actions disturb. */
interface LoadedAdapter {
  readonly machine: InProcessMachine;
  readonly tenants: readonly Tenant[];
  readonly flows: readonly Flow[];
  /** `shrinking`: shares may be smaller than their use from now on. */
  readonly watch: { shrinking: boolean };
  /** The oracles of doorbell policies and of the lane table. */
  readonly policies: PolicyOracle;
  readonly laneTable: LaneTableOracle;
  readonly laneCount: number;
  /** Takes and checks the completions of a flow. */
  reap(flow: Flow): void;
}

/** A command whose stores are made one by one, in several steps. */
interface HalfWritten {
  readonly flow: Flow;
  readonly bytes: DataView;
  readonly stores: CollectStore[];
}

/** The actions and their counts. */
export class RandomActions {
  readonly counts = { requests: 0, granted: 0, errors: 0, resets: 0, switched: 0, halfWritten: 0, stale: 0 };
  readonly #load: LoadedAdapter;
  readonly #random: Random;
  /** By page of a function: the command that is being written there. */
  readonly #halfWritten = new Map<string, HalfWritten>();
  readonly #copies: { flow: Flow; bytes: Uint8Array }[] = [];
  /** Flows with commands of which the adapter may not know, because no doorbell followed. */
  readonly #unannounced = new Set<Flow>();

  constructor(load: LoadedAdapter, random: Random) {
    this.#load = load;
    this.#random = random;
  }

  /** Performs one action. */
  perform(): void {
    const random = this.#random;
    const draw = random.below(1000);
    if (draw < 690) this.#postMessages(random.pick(this.#load.flows));
    else if (draw < 700) this.#flood(random.pick(this.#load.tenants));
    else if (draw < 880) this.#storeHalfWritten();
    else if (draw < 940) this.#repeatStale();
    else if (draw < 980) this.#request();
    else if (draw < 990) this.#switch();
    else if (draw < 994) this.#advanceTime();
    else if (draw < 998) this.#failFlow();
    else if (random.oneIn(4)) this.#resetFunction();
  }

  /** Ends all disturbances that would keep a message from completing. */
  endDisturbances(): void {
    this.#control(0);
    for (const { flow } of this.#halfWritten.values()) flow.sender.cancel();
    this.#halfWritten.clear();
    // Stores made while a share was smaller are lost: software must cancel their commands.
    if (this.#load.watch.shrinking) for (const { sender } of this.#load.flows) sender.cancel();
    // Only where a doorbell is due: an additional one would hide a lost one.
    for (const flow of this.#load.flows) if (flow.failed || this.#unannounced.has(flow)) this.#ring(flow, 'register');
    for (const flow of this.#load.flows) if (flow.failed) this.#restart(flow);
  }

  #postMessages(flow: Flow): void {
    const random = this.#random;
    if (flow.failed) return;
    for (let count = Math.min(flow.room, random.between(1, 6)); count > 0; count--) {
      const by = random.pick(['collect', 'collect', 'doorbell', 'register', 'slot'] as const);
      const size = random.oneIn(6) ? random.between(257, LONGEST) : random.below(257);
      if (by === 'collect') this.#collect(flow, size);
      else {
        flow.post(size, 'slot');
        this.#unannounced.add(flow);
        if (by !== 'slot') this.#ring(flow, by);
      }
    }
    if (random.oneIn(2)) this.#ring(flow, random.pick(['doorbell', 'register']));
  }

  /** Makes one function spill, then posts a command by collect buffer to a QP without others. */
  #flood(tenant: Tenant): void {
    const flows = this.#load.flows.filter(({ from, failed }) => from === tenant && !failed);
    const last = flows.find((flow) => flow.posted === flow.completed && !this.#halfWritten.has(placeOf(flow)));
    if (last === undefined) return;
    const others = flows.filter((flow) => flow !== last);
    floodUntilSpilling(this.#load.machine, tenant.index, () => {
      for (const flow of others) this.#ring(flow, 'register');
    });
    this.#unannounced.add(last);
    last.sender.collect(last.post(this.#random.below(257), 'slot'));
  }

  /** A doorbell by register always arrives; a page may lie beyond the function's present share. */
  #ring(flow: Flow, by: 'doorbell' | 'register'): void {
    flow.sender.ring(undefined, by);
    if (by === 'register') this.#unannounced.delete(flow);
  }

  /** Posts by collect buffer: at once, or store by store over several steps. */
  #collect(flow: Flow, size: number): void {
    const random = this.#random;
    const place = placeOf(flow);
    const bytes = flow.post(size, 'slot');
    this.#unannounced.add(flow);
    this.#copies[random.below(KEPT_COPIES)] = { flow, bytes: bytes.slice() };
    if (this.#halfWritten.has(place)) return;
    if (random.oneIn(2)) return flow.sender.collect(bytes, { random, storeBytes: 0 });
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#halfWritten.set(place, { flow, bytes: view, stores: planStores(bytes.length, { random, storeBytes: 8 }) });
    this.counts.halfWritten++;
  }

  #storeHalfWritten(): void {
    const places = [...this.#halfWritten.keys()];
    if (places.length === 0) return;
    const place = this.#random.pick(places);
    const { flow, bytes, stores } = this.#halfWritten.get(place) as HalfWritten;
    for (let count = this.#random.between(1, 8); count > 0 && stores.length > 0; count--)
      storeCollected(flow.from.access, flow.sender.parts.page, bytes, stores.pop() as CollectStore);
    if (stores.length > 0 && !this.#random.oneIn(16)) return;
    if (stores.length > 0) flow.sender.cancel();
    this.#halfWritten.delete(place);
  }

  /** Repeats an old copy, or rings with a random sequence number: neither may have an effect. */
  #repeatStale(): void {
    const random = this.#random;
    this.counts.stale++;
    const copy = this.#copies[random.below(KEPT_COPIES)];
    const flow = random.pick(this.#load.flows);
    if (copy !== undefined && !this.#halfWritten.has(placeOf(copy.flow)) && random.oneIn(2))
      copy.flow.sender.collect(copy.bytes);
    else flow.sender.ring(random.below(0x10000), random.pick(['doorbell', 'register']));
  }

  /**
   * Requests a share change by the host, the physical function, or a function for its own levels.
   * About half of the requests are refused.
   */
  #request(): void {
    const random = this.#random;
    const { machine, tenants, watch } = this.#load;
    const target = random.below(tenants.length);
    watch.shrinking = true;
    this.counts.requests++;
    const changes = [random.oneIn(6) ? this.#drawMark(target) : drawShareChange(random, target, this.#load.laneCount)];
    const status = random.oneIn(2)
      ? machine.functionAt(0).requestResources(encodeChanges(changes)).status
      : random.pick(tenants).driver.resources.request(changes).status;
    if (status === ManagementStatus.OK) this.counts.granted++;
  }

  /** Writes an entry of the lane table and marks it; sometimes takes a mark back. */
  #drawMark(target: number) {
    this.#load.laneTable.store(target, this.#random);
    return markEntry(target, this.#random.oneIn(8) ? 0 : 1);
  }

  #switch(): void {
    this.counts.switched++;
    this.#control(this.#random.pick([0, 0, CSR_ADAPTER_CONTROL_DISABLE_MASK, CSR_ADAPTER_CONTROL_LEND_IDLE_MASK]));
  }

  #control(value: number): void {
    const { tenants, watch } = this.#load;
    if (value !== 0) watch.shrinking = true;
    tenants[0].access.writeRegister(CSR.ADAPTER_CONTROL, 4, value, 0);
  }

  /** Advances time: timers fire, functions become idle. */
  #advanceTime(): void {
    this.#load.machine.clock.advance(this.#random.below(12_000_000));
  }

  #failFlow(): void {
    const flow = this.#random.pick(this.#load.flows);
    if (flow.failed) return;
    this.counts.errors++;
    flow.fail();
    flow.sender.ring();
  }

  #restart(flow: Flow): void {
    const { machine } = this.#load;
    const isFlushed = (): boolean => {
      this.#load.reap(flow);
      return flow.completed === flow.posted;
    };
    machine.runUntil(isFlushed, 'flushed completions');
    this.#forget(flow);
    flow.restart();
  }

  /** Resets a function; its guest and all flows from and to it start again. */
  #resetFunction(): void {
    const { machine, tenants, flows } = this.#load;
    const tenant = this.#random.pick(tenants);
    this.counts.resets++;
    const hit = flows.filter(({ from, to }) => from === tenant || to === tenant);
    for (const flow of hit) this.#forget(flow);
    for (const { from, to, sender, receiver } of hit) {
      if (from !== tenant) sender.destroy();
      if (to !== tenant) receiver.destroy();
    }
    machine.reset(tenant.index, 'function');
    this.#load.policies.noteReset(tenant.index);
    if (tenant.index === 0) this.#load.laneTable.noteReset();
    machine.step();
    machine.resume(tenant.index);
    tenant.bringUp();
    if (tenant.index === 0) this.#load.laneTable.install();
    for (const flow of hit) flow.create();
  }

  /** Discards the half-written command and the copies of a flow. */
  #forget(flow: Flow): void {
    if (this.#halfWritten.delete(placeOf(flow))) flow.sender.cancel();
    this.#unannounced.delete(flow);
    for (const [at, copy] of this.#copies.entries()) if (copy?.flow === flow) delete this.#copies[at];
  }
}

function placeOf({ from, sender }: Flow): string {
  return `${from.index}:${sender.parts.page}`;
}
