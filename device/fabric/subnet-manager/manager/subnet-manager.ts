// SPDX-License-Identifier: Apache-2.0
/**
 * The built-in subnet manager: discovers the subnet through one port, elects a master among the
 * managers that it finds, and as master configures the subnet and watches it (IBTA 14.4). It lives
 * at port 0 of a switch or at a port of an adapter; the node's `run` calls its `run`. Time comes
 * from the adapter's clock, so a recording replays it.
 */

import { getLocalChangeNoticeHasOtherChanges } from '../../../../protocol/infiniband/mad/gen/local-change-notice.gen.ts';
import {
  getMadHeaderManagementClass,
  getMadHeaderMethod,
} from '../../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import { getNoticeTrapNumber } from '../../../../protocol/infiniband/mad/gen/notice.gen.ts';
import {
  SM_INFO_GUID_OFFSET,
  SM_INFO_SIZE,
  SM_INFO_SM_KEY_OFFSET,
  setSmInfoActivityCount,
  setSmInfoPriority,
  setSmInfoSmState,
} from '../../../../protocol/infiniband/mad/gen/sm-info.gen.ts';
import { MadClass, MadMethod, SmState, TrapNumber } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { RESPONSE_BIT } from '../../../../protocol/infiniband/mad/mad-headers.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import type { AdapterClock } from '../../../host.ts';
import type { MadAddress } from '../../agents/mad-packet.ts';
import type { MadPort } from '../../agents/mad-port.ts';
import { Administration } from '../administration/administration.ts';
import { SmStateMachine } from '../election/state-machine.ts';
import { type Guid, readGuid, writeGuid } from '../guid.ts';
import { defaultSubnetManagerOptions, type SubnetManagerOptions } from '../options.ts';
import { SmpClient } from '../smp-client.ts';
import { SmAgent } from './sm-agent.ts';
import { Sweeper } from './sweeper.ts';

/** Datagrams that wait for the next run. */
export const INBOX_MAX = 512;
const TRANSACTION_HIGH = 0x736d0000;
/** Another manager that looks for a master is itself looked for, at most this often. */
const ASKED_SWEEP_NS = 2_000_000_000;

interface Letter {
  readonly address: MadAddress;
  readonly mad: Uint8Array;
}

export class SubnetManager {
  readonly options: SubnetManagerOptions;
  readonly guid: Guid;
  readonly client: SmpClient;
  readonly stateMachine = new SmStateMachine();
  readonly administration: Administration;
  readonly sweeper: Sweeper;
  /** Datagrams sent, and datagrams dropped because too many waited. */
  sent = 0;
  overflow = 0;
  isStopped = false;
  readonly #clock: AdapterClock;
  readonly #agent: SmAgent;
  readonly #inbox: Letter[] = [];
  #activity = 0;
  #isBusy = false;

  constructor(port: MadPort, clock: AdapterClock, options: Partial<SubnetManagerOptions> = {}) {
    this.options = { ...defaultSubnetManagerOptions, ...options };
    this.#clock = clock;
    this.guid = readGuid(viewOf(port.portGuid), 0);
    const counted = this.#countSends(port);
    this.client = new SmpClient(counted, this.options, TRANSACTION_HIGH);
    this.administration = new Administration(counted, this.options);
    const own = { guid: this.guid, priority: this.options.priority, info: () => this.ownInfo() };
    this.sweeper = new Sweeper(own, this.stateMachine, this.options, this.administration, clock);
    this.#agent = new SmAgent(counted, {
      mKey: this.options.mKey,
      ownInfo: () => this.ownInfo(),
      noteAsked: () => this.#noteAsked(),
      control: (modifier, guid) => this.#control(modifier, guid),
      isMaster: () => this.isMaster,
      noteTrap: (lid, notice) => this.#noteTrap(lid, notice),
    });
    port.onMad = (address, mad) => this.#take(address, mad);
    port.claims = (mad) => this.#claims(viewOf(mad));
  }

  get isMaster(): boolean {
    return this.stateMachine.state === SmState.MASTER;
  }

  /** True when the subnet is configured and nothing is left to do for now. */
  get isSettled(): boolean {
    return this.#isAtRest() && !this.#isDue(this.#clock.now());
  }

  /** As `isSettled`, at a time that the caller knows: a recording has each reading of the clock. */
  isSettledAt(nowNs: number): boolean {
    return this.#isAtRest() && !this.#isDue(nowNs);
  }

  #isAtRest(): boolean {
    const { stateMachine } = this;
    if (this.#isBusy || this.#inbox.length > 0) return false;
    return stateMachine.state === SmState.STANDBY || (this.isMaster && !stateMachine.isNew);
  }

  #isDue(nowNs: number): boolean {
    return this.stateMachine.state !== SmState.STANDBY && this.sweeper.dueNs <= nowNs;
  }

  /** Takes the datagrams that came in, and sends what is due. Returns true while more is ready. */
  run(budget: number): boolean {
    if (this.isStopped) return false;
    const now = this.#clock.now();
    const sentBefore = this.sent;
    for (let left = budget; left > 0 && this.#inbox.length > 0; left--) this.#dispatch(this.#inbox.shift() as Letter);
    this.client.run(now);
    this.#schedule(now);
    this.client.run(now);
    this.administration.run(now);
    const next = Math.min(this.client.nextNs, this.administration.nextNs, this.#isBusy ? Infinity : this.#dueNs());
    if (next > now && next !== Infinity) this.#clock.setAlarm(next);
    // A datagram to the own node arrives in its next run.
    return this.#inbox.length > 0 || next <= now || this.sent !== sentBefore;
  }

  /** The manager dies: it sends and answers nothing any more. */
  stop(): void {
    this.isStopped = true;
    this.#interrupt();
    this.#inbox.length = 0;
  }

  /** Another manager takes the port of this one, which is silent until `wake`. */
  sleep(): void {
    this.stop();
    this.stateMachine.discover();
  }

  /** The port is free again: the subnet is discovered anew. */
  wake(): void {
    this.isStopped = false;
    this.sweeper.restart();
    this.#clock.setAlarm(this.#clock.now());
  }

  /** SMInfo as of now. */
  ownInfo(): Uint8Array {
    const info = new Uint8Array(SM_INFO_SIZE);
    const view = viewOf(info);
    writeGuid(view, SM_INFO_GUID_OFFSET, this.guid);
    // Others take a manager without their key for one of another administration.
    writeGuid(view, SM_INFO_SM_KEY_OFFSET, this.options.smKey);
    this.#activity = (this.#activity + 1) >>> 0;
    setSmInfoActivityCount(view, 0, this.#activity);
    setSmInfoPriority(view, 0, this.options.priority);
    setSmInfoSmState(view, 0, this.stateMachine.state);
    return info;
  }

  #countSends(port: MadPort): MadPort {
    const send = (address: Readonly<MadAddress>, mad: Uint8Array) => {
      this.sent++;
      return port.send(address, mad);
    };
    const { portGuid, portNumber } = port;
    return {
      ...{ portGuid, portNumber, send, onMad: undefined },
      get lid() {
        return port.lid;
      },
    };
  }

  /** A master answers requests to subnet administration; QP1 of its port must not see them. */
  #claims(mad: DataView): boolean {
    const isRequest = !isResponse(getMadHeaderMethod(mad, 0));
    return this.isMaster && isRequest && getMadHeaderManagementClass(mad, 0) === MadClass.SUBNET_ADMINISTRATION;
  }

  #take(address: Readonly<MadAddress>, mad: Uint8Array): void {
    if (this.isStopped) return;
    if (this.#inbox.length >= INBOX_MAX) {
      this.overflow++;
      return;
    }
    this.#inbox.push({ address: { ...address }, mad: mad.slice() });
    // The node may have run its software already in this pass.
    this.#clock.setAlarm(this.#clock.now());
  }

  #dispatch({ address, mad }: Letter): void {
    const view = viewOf(mad);
    switch (getMadHeaderManagementClass(view, 0)) {
      case MadClass.SUBNET:
      case MadClass.SUBNET_DIRECTED_ROUTE:
        if (!address.isVl15) return;
        if (isResponse(getMadHeaderMethod(view, 0))) this.client.take(mad);
        else this.#agent.take(address, mad);
        return;
      case MadClass.SUBNET_ADMINISTRATION:
        if (!address.isVl15 && this.isMaster && !this.stateMachine.isNew)
          this.administration.take(address, mad, this.#clock.now());
        return;
      default:
    }
  }

  /** Time of the next job, while none runs. */
  #dueNs(): number {
    const { state } = this.stateMachine;
    if (state === SmState.NOT_ACTIVE) return Infinity;
    return this.#hasJob() ? 0 : this.sweeper.dueNs;
  }

  #hasJob(): boolean {
    return this.isMaster && !this.stateMachine.isNew && this.administration.hasJob;
  }

  #schedule(now: number): void {
    if (this.#isBusy || this.#dueNs() > now) return;
    const request = this.#hasJob() ? this.administration.nextJob() : undefined;
    this.#isBusy = true;
    this.client.start(request ?? this.sweeper.next(now), () => {
      this.#isBusy = false;
    });
  }

  /** Ends the job in progress: what it was about has changed. */
  #interrupt(): void {
    this.client.abandon();
    this.#isBusy = false;
  }

  #noteAsked(): void {
    if (this.isMaster && this.sweeper.peers.length === 0) this.sweeper.sweepWithin(ASKED_SWEEP_NS);
  }

  #control(modifier: number, guid: Guid): number {
    const { stateMachine } = this;
    const before = stateMachine.state;
    const status = stateMachine.control(modifier, guid);
    const isHandover = stateMachine.toAcknowledge === guid;
    if (stateMachine.state !== before || isHandover) {
      this.#interrupt();
      this.sweeper.restart();
    }
    return status;
  }

  #noteTrap(issuerLid: number, notice: Uint8Array): void {
    const view = viewOf(notice);
    const trap = getNoticeTrapNumber(view, 0);
    const isNarrow = trap === TrapNumber.LOCAL_CHANGE && getLocalChangeNoticeHasOtherChanges(view, 0) === 0;
    if (trap === TrapNumber.LINK_STATE_CHANGE) this.sweeper.lookNow();
    else if (isNarrow || (trap === TrapNumber.BAD_M_KEY && this.options.mKeyLease > 0))
      this.sweeper.readPort(issuerLid);
    else if (trap === TrapNumber.LOCAL_CHANGE || trap === TrapNumber.SYSTEM_GUID_CHANGE) this.sweeper.sweepNow();
    this.administration.forward(issuerLid, notice, this.#clock.now());
  }
}

/** TRAP_REPRESS is a request without the bit of responses, and it has no answer. */
function isResponse(method: number): boolean {
  return (method & RESPONSE_BIT) !== 0 || method === MadMethod.TRAP_REPRESS;
}
