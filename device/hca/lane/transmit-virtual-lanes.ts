// SPDX-License-Identifier: Apache-2.0
/**
 * The transmit virtual lanes of the adapter (US 8,484,392 par. 41-47, 114-117): lane map, virtual
 * kick lists, credits and arbitrator. Admission and fetcher admit commands, the send pipeline
 * launches them, the transport releases their credits, `shares/` configures the lanes. A queue pair
 * stays on its lane while one of its commands is in a kick list or in the send pipeline, so its
 * commands keep their order however they arrived and however the map changes.
 * Registers: lane-registers, commands: lane-commands, report: lane-report, view: contents/commands.
 */
import { getSendCommandSequence, SEND_COMMAND_SEQUENCE_MASK } from '../../../protocol/layout/gen/send-command.gen.ts';
import { type CreditHold, CreditSource } from '../collect/credit-hold.ts';
import { type KickedCollectBuffer, PcbState, type PhysicalCollectBuffer } from '../collect/physical-collect-buffer.ts';
import { Step, type Timeline } from '../function/timeline.ts';
import type { UnderlyingFunction } from '../function/underlying-function.ts';
import type { QueuePair } from '../queues/queue-pair.ts';
import { noteCommand } from './command-steps.ts';
import { CreditAccounts } from './credit-accounts.ts';
import { divideLanes } from './default-lanes.ts';
import { KickArbitrator, type LanePort } from './kick-arbitrator.ts';
import { classOf, Lane, type LaneSettings } from './lane.ts';
import { LaneMap } from './lane-map.ts';
import type { LaneMask, LaneSet } from './lane-set.ts';
import { LaneOwners, OwnerTurns } from './owner-turns.ts';

export interface LaneOptions {
  readonly laneCount: number;
  readonly functionCount: number;
  /** Totals of the adapter, private and shared ones. */
  readonly executionCredits: number;
  readonly completionCredits: number;
  /** Maximum of a kick list per function and QoS level until it is configured. */
  readonly listSize: number;
  readonly ports: readonly LanePort[];
  /** Private part of lanes and credits; half of them by default. */
  readonly privatePercent?: number;
}

export class TransmitVirtualLanes {
  readonly lanes: readonly Lane[];
  readonly map: LaneMap;
  readonly execution: CreditAccounts;
  readonly completion: CreditAccounts;
  /** Commands launched, by function number. */
  readonly functionLaunches: Uint32Array;
  /** Commands in kick lists, by function number. */
  readonly functionWaiting: Int32Array;
  /** Set while the host attaches a timeline. */
  timeline: Timeline | undefined = undefined;
  /** Called when a kick list that refused `qp` has room again. */
  onRoom: (qp: QueuePair) => void = () => {};
  /** Lane owners and their accounts; the requester shares them for turns of packets. */
  readonly owners = new LaneOwners();
  readonly turns = new OwnerTurns(this.owners);
  readonly #arbitrator: KickArbitrator;
  /** The lane that `peek` chose. */
  #chosen!: Lane;

  constructor(options: LaneOptions) {
    const { laneCount, functionCount, executionCredits, completionCredits, listSize, ports } = options;
    this.lanes = Array.from({ length: laneCount }, (_, number) => new Lane(number, listSize));
    this.map = new LaneMap(laneCount, functionCount);
    this.execution = new CreditAccounts(executionCredits, functionCount);
    this.completion = new CreditAccounts(completionCredits, functionCount);
    this.functionLaunches = new Uint32Array(functionCount);
    this.functionWaiting = new Int32Array(functionCount);
    this.#arbitrator = new KickArbitrator(this.lanes, this.execution, this.completion, ports, this.turns);
    divideLanes(this, functionCount, options.privatePercent);
  }

  get count(): number {
    return this.lanes.length;
  }

  /** True when commands of more than one function wait or are in flight. */
  get contended(): boolean {
    const { functionWaiting, completion } = this;
    let functions = 0;
    for (let number = 0; number < functionWaiting.length; number++)
      if (functionWaiting[number] + completion.functions[number].used > 0 && ++functions > 1) return true;
    return false;
  }

  /**
   * True when the lane of the QP's next command, fetched into a dedicated buffer, has room.
   * Otherwise `onRoom` is called later.
   */
  hasRoom(qp: QueuePair): boolean {
    const { number } = qp.owner;
    const { qosLevel } = qp;
    return this.#findRoom(qp, this.map.getDedicatedLanes(number, qosLevel), qosLevel);
  }

  /** The same for a command that was collected in a VCB of `qosLevel`. */
  hasRoomForCollected(qp: QueuePair, qosLevel: number): boolean {
    return this.#findRoom(qp, this.map.getLanes(qp.owner.number, qosLevel), qosLevel);
  }

  /**
   * Appends the command with sequence number `qp.nextSequence` to its kick list. The caller has
   * checked `hasRoom`.
   */
  admit(qp: QueuePair, buffer: PhysicalCollectBuffer): void {
    const { number } = qp.owner;
    const isDedicated = buffer.vcb < 0;
    // The level of a collected command is that of its VCB (docs/DOCUMENTS.md decision 20).
    const qosLevel = isDedicated ? qp.qosLevel : buffer.qosLevel;
    if (qosLevel !== qp.qosLevel) qp.owner.counters.levelMismatches++;
    const { map } = this;
    const lane = this.#place(
      qp,
      isDedicated ? map.getDedicatedLanes(number, qosLevel) : map.getLanes(number, qosLevel),
    );
    buffer.laneClass = classOf(number, qosLevel);
    buffer.kick(qp);
    qp.nextSequence = (qp.nextSequence + 1) & SEND_COMMAND_SEQUENCE_MASK;
    qp.inFlight++;
    qp.kicked++;
    lane.append(buffer);
    this.functionWaiting[qp.owner.number]++;
    this.#arbitrator.addWork(lane.number);
  }

  /** The lane in whose turns READ responses of the QP are sent: the lane of its own commands. */
  placeAnswer(qp: QueuePair): number {
    return this.#place(qp, this.map.getLanes(qp.owner.number, qp.qosLevel)).number;
  }

  /** The command to be launched next; both credits are available. Undefined when there is none. */
  peek(): KickedCollectBuffer | undefined {
    const number = this.#arbitrator.select();
    if (number < 0) return this.timeline === undefined ? undefined : this.#arbitrator.noteWaits(this.timeline);
    this.#chosen = this.lanes[number];
    return this.#chosen.head;
  }

  /** The command returned by `peek` must wait for room at port `index`. */
  block(index: number): void {
    this.#arbitrator.block(this.#chosen.number, index);
  }

  /** Launches the command returned by `peek`: it leaves its kick list and takes both credits. */
  launch(): KickedCollectBuffer {
    const lane = this.#chosen;
    const buffer = this.#remove(lane);
    const { hold } = buffer;
    hold.lane = lane.number;
    hold.functionNumber = buffer.queuePair.owner.number;
    hold.execution = this.execution.take(hold.lane, hold.functionNumber);
    hold.completion = this.completion.take(hold.lane, hold.functionNumber);
    if (this.timeline !== undefined) this.#noteLaunch(this.timeline, buffer, hold);
    lane.launches++;
    this.functionLaunches[hold.functionNumber]++;
    this.#arbitrator.noteLaunch(lane.number);
    buffer.state = PcbState.LAUNCHED;
    return buffer;
  }

  #noteLaunch(timeline: Timeline, { queuePair, view }: KickedCollectBuffer, hold: CreditHold): void {
    const { functionNumber, lane } = hold;
    const { number } = queuePair;
    timeline.note(Step.LAUNCH, functionNumber, number, getSendCommandSequence(view, 0), lane);
    noteCommand(timeline, functionNumber, number, view);
  }

  /** Removes the command returned by `peek` from its kick list without launching it. */
  discard(): KickedCollectBuffer {
    return this.#remove(this.#chosen);
  }

  /**
   * Called when the last packet is with the port, or none will be sent. No effect when released
   * before, so each credit returns once on every path.
   */
  releaseExecution(hold: CreditHold): void {
    if (hold.execution !== CreditSource.NONE)
      this.timeline?.note(Step.RELEASE_EXECUTION, hold.functionNumber, hold.lane);
    this.execution.give(hold.lane, hold.functionNumber, hold.execution);
    hold.execution = CreditSource.NONE;
  }

  /** Called when the command is complete. No effect when released before. */
  releaseCompletion(hold: CreditHold): void {
    if (hold.completion !== CreditSource.NONE)
      this.timeline?.note(Step.RELEASE_COMPLETION, hold.functionNumber, hold.lane);
    this.completion.give(hold.lane, hold.functionNumber, hold.completion);
    hold.completion = CreditSource.NONE;
  }

  /** The state of the QP has changed, so its commands may need no port any more. */
  reconsider(qp: QueuePair): void {
    if (qp.kicked > 0) this.#arbitrator.reconsider(qp.lane);
  }

  /** Drops the commands of a function at its reset. The order of other commands stays. */
  drop(owner: UnderlyingFunction): void {
    this.map.restart(owner.number);
    for (const lane of this.lanes)
      for (let left = lane.length; left > 0; left--) {
        const buffer = this.#remove(lane);
        if (buffer.queuePair.owner === owner) buffer.release();
        else this.#putBack(lane, buffer);
      }
  }

  setMap(functionNumber: number, qosLevel: number, mask: LaneMask): void {
    this.map.setMap(functionNumber, qosLevel, mask);
  }

  setOwned(functionNumber: number, mask: LaneMask): void {
    this.map.setOwned(functionNumber, mask);
    this.#regroup();
  }

  setDedicatedMap(mask: LaneMask): void {
    this.map.setDedicated(mask);
  }

  /** Changes a lane. Credits in use above a reduced number stay in use until they are released. */
  setLane(number: number, settings: LaneSettings): void {
    const { execution, completion } = this;
    const lane = this.lanes[number];
    execution.set(
      number,
      settings.executionCredits ?? execution.lanes[number].private,
      settings.sharedExecution ?? execution.lanes[number].mayShare,
    );
    completion.set(
      number,
      settings.completionCredits ?? completion.lanes[number].private,
      settings.sharedCompletion ?? completion.lanes[number].mayShare,
    );
    lane.listSize = settings.listSize ?? lane.listSize;
    if (settings.weight !== undefined) {
      lane.weight = Math.max(1, settings.weight);
      this.#regroup();
    }
    for (let index = 0; lane.waiting > 0 && index < lane.lengths.length; index++) this.#wakeWaiters(lane, index);
  }

  #regroup(): void {
    this.owners.recompute(this.lanes, (lane) => this.map.getOwner(lane));
  }

  /** A command of another level than its QP's waits for no room: its doorbell does. */
  #findRoom(qp: QueuePair, set: LaneSet, qosLevel: number): boolean {
    const isPlaced = qp.kicked > 0 || qp.staged > 0;
    // While the table entry of its function is read, a command waits in its send queue.
    if (this.map.invalidCount > 0 && !isPlaced && !this.map.validate(qp.owner.number)) return false;
    const lane = this.#place(qp, set);
    if (lane.hasRoomFor(classOf(qp.owner.number, qosLevel))) return true;
    if (qosLevel !== qp.qosLevel) return false;
    if (!qp.waitsForRoom) lane.wait(qp);
    qp.waitsForRoom = true;
    return false;
  }

  /** The lane of the QP's next command: one of `set`, unless commands of it are on a lane. */
  #place(qp: QueuePair, set: LaneSet): Lane {
    const { map } = this;
    if (qp.kicked > 0 || qp.staged > 0) return this.lanes[qp.lane];
    if (map.invalidCount > 0) map.validate(qp.owner.number);
    if (qp.laneGeneration !== map.generation || !set.has(qp.lane)) {
      qp.laneGeneration = map.generation;
      qp.lane = set.takeNext();
    }
    return this.lanes[qp.lane];
  }

  #remove(lane: Lane): KickedCollectBuffer {
    const buffer = lane.shift();
    const qp = buffer.queuePair;
    qp.kicked--;
    this.functionWaiting[qp.owner.number]--;
    this.#arbitrator.reconsider(lane.number);
    if (lane.length === 0) this.#arbitrator.removeWork(lane.number);
    if (lane.waiting > 0) this.#wakeWaiters(lane, buffer.laneClass);
    return buffer;
  }

  #putBack(lane: Lane, buffer: KickedCollectBuffer): void {
    const qp = buffer.queuePair;
    qp.kicked++;
    this.functionWaiting[qp.owner.number]++;
    lane.append(buffer);
    this.#arbitrator.addWork(lane.number);
  }

  #wakeWaiters(lane: Lane, index: number): void {
    for (let woken = 0; ; woken++) {
      const qp = lane.takeWaiter(index, woken);
      if (qp === undefined) return;
      qp.waitsForRoom = false;
      if (!qp.destroyed) this.onRoom(qp);
    }
  }
}
