// SPDX-License-Identifier: Apache-2.0
/**
 * State of the function behind the command queue: what has been started, pages that the firmware
 * holds, numbers and objects of software, ports, health. Commands read and change it; a reset
 * returns it to power-on.
 */
import { BAR_BYTES, FIRST_UAR, UAR_PAGE_BYTES } from '../../../../protocol/mlx5/gen/constants.gen.ts';
import type { HealthSyndrome } from '../../../../protocol/mlx5/gen/values.gen.ts';
import type { Agents } from '../../../fabric/agents/agents.ts';
import { SOFTWARE_CAPABILITIES } from '../../../fabric/port/end-port.ts';
import { ObjectTable } from '../../../hca/function/object-table.ts';
import type { UnderlyingFunction } from '../../../hca/function/underlying-function.ts';
import { EventModeration } from '../../../hca/queues/event-moderation.ts';
import type { AdapterClock } from '../../../host.ts';
import { Firmware } from '../../shared/firmware.ts';
import type { FaultyDevice } from '../../shared/injected-faults.ts';
import { ObjectEvents } from '../../shared/object-events.ts';
import type { PersonalityPort } from '../../shared/personality-port.ts';
import { PlantedFaults } from '../../shared/planted-faults.ts';
import { MemoryKeys } from '../memory/memory-keys.ts';
import type { CompletionIdentity } from '../queues/completion-encoder.ts';
import type { Mlx5CompletionQueue } from '../queues/completion-queue.ts';
import type { Mlx5QueuePair } from '../queues/queue-pair.ts';
import type { Mlx5SharedReceiveQueue } from '../queues/shared-receive-queue.ts';
import {
  CapabilityKind,
  hasUserIndices,
  LOG_COMPLETION_QUEUES,
  LOG_DOMAINS,
  LOG_QUEUE_PAIRS,
  LOG_SHARED_QUEUES,
  LOG_TRANSPORT_DOMAINS,
  LOG_XRC_DOMAINS,
  makeCapabilities,
} from './capabilities.ts';
import { Domains } from './domains.ts';
import { Events } from './events.ts';
import { fatalCauses, Health } from './health.ts';
import { MulticastMembers } from './multicast-members.ts';
import { Numbers } from './numbers.ts';
import { objectEvents } from './object-events.ts';
import type { QueuePairUnit } from './queue-pair-plan.ts';

/** What has been started; each includes those before it. */
export const HcaState = { DISABLED: 0, ENABLED: 1, RUNNING: 2 } as const;
export type HcaState = (typeof HcaState)[keyof typeof HcaState];

/** Versions of the interface that the adapter knows, a bit for each. */
export const SUPPORTED_ISSI = 0b11;

/** Pages that the firmware asks for before it can boot, and before it starts. */
export const BOOT_PAGES = 16;
export const START_PAGES = 64;

/** Zeros in a context name no domain. */
const FIRST_DOMAIN = 1;

const NO_USER_INDEX = 0xffffff;
/** QPNs 0 and 1 have their meaning in packets. */
const FIRST_QUEUE_PAIR = 2;

export class Hca implements FaultyDevice {
  readonly underlying: UnderlyingFunction;
  readonly ports: readonly PersonalityPort[];
  readonly agents: Agents;
  /** The clock of the timer in the initialising segment, and of times in completions. */
  readonly clock: AdapterClock;
  state: HcaState = HcaState.DISABLED;
  /** Version of the interface in use. */
  issi = 0;
  /** Bus addresses of pages that software has given; the newest last. */
  readonly pages: number[] = [];
  /** Pages of capabilities by kind: what the function can do, and what software wants of it. */
  readonly capabilities: ReadonlyMap<number, Uint8Array>;
  readonly current: Map<number, Uint8Array>;
  readonly events = new Events();
  /** Asynchronous events of QPs, as the transport reports them. */
  readonly objectEvents = new ObjectEvents(objectEvents, (type, number) => this.events.postObject(type, number));
  readonly groups = new MulticastMembers();
  /** UAR pages; a number is that of the page in BAR 0. */
  readonly uars = new Numbers(FIRST_UAR, BAR_BYTES / UAR_PAGE_BYTES - FIRST_UAR);
  readonly domains = new Numbers(FIRST_DOMAIN, 2 ** LOG_DOMAINS);
  readonly transportDomains = new Numbers(FIRST_DOMAIN, 2 ** LOG_TRANSPORT_DOMAINS);
  readonly xrcDomains = new Numbers(FIRST_DOMAIN, 2 ** LOG_XRC_DOMAINS);
  readonly keys: MemoryKeys;
  readonly completionQueues = new ObjectTable<Mlx5CompletionQueue>(2 ** LOG_COMPLETION_QUEUES, 1, 1, (queue) =>
    this.#retire(queue),
  );
  readonly sharedReceiveQueues = new ObjectTable<Mlx5SharedReceiveQueue>(2 ** LOG_SHARED_QUEUES, 1, 1, (queue) =>
    queue.release(),
  );
  readonly queuePairs = new ObjectTable<Mlx5QueuePair>(2 ** LOG_QUEUE_PAIRS, FIRST_QUEUE_PAIR, 1, (qp) => qp.release());
  /** Domains as the transport knows them. */
  readonly transport: Domains;
  /** The unit that works for QPs. */
  unit: QueuePairUnit | undefined = undefined;
  readonly moderation: EventModeration;
  /** Entries of CQs that no longer exist, for reports. */
  readonly retired = { completions: 0 };
  readonly health = new Health();
  readonly planted = new PlantedFaults();
  readonly fatalCauses = fatalCauses;
  /** As in a real device no command ends after a failure, unless a host wants it otherwise. */
  readonly firmwares: readonly Firmware[] = [Firmware.SILENT, Firmware.REFUSES];

  /** Called when software has changed the description of the node: subnet managers hear of it. */
  onDescription: () => void = () => {};
  /** Description of the node at power-on. */
  readonly #description: Uint8Array;

  constructor(underlying: UnderlyingFunction, ports: readonly PersonalityPort[], agents: Agents, clock: AdapterClock) {
    this.underlying = underlying;
    this.ports = ports;
    this.agents = agents;
    this.clock = clock;
    this.keys = new MemoryKeys(underlying, this.domains);
    this.transport = new Domains(underlying, this.sharedReceiveQueues);
    this.moderation = new EventModeration(clock);
    this.capabilities = makeCapabilities(ports.length);
    this.current = new Map(this.capabilities);
    this.#description = agents.node.description.slice();
  }

  /**
   * The objects that the device has for drivers and processes: what is left when all of them are
   * gone was leaked.
   */
  get objectCounts() {
    return {
      eqs: this.events.size,
      qps: this.queuePairs.size,
      srqs: this.sharedReceiveQueues.size,
      cqs: this.completionQueues.size,
      keys: this.keys.size,
      pds: this.domains.size,
      xrcds: this.xrcDomains.size,
      uars: this.uars.size,
      pages: this.pages.length,
    };
  }

  /**
   * A fatal error: the health buffer shows it, and nothing completes any more until a reset. EQs
   * stay, and tell that commands are refused.
   */
  fail(syndrome: HealthSyndrome, firmware: Firmware): void {
    this.#stopTraffic();
    this.health.fail(syndrome, firmware);
  }

  portAt(number: number): PersonalityPort | undefined {
    return this.ports[number - 1];
  }

  /** Software describes the node. */
  describe(text: Uint8Array): void {
    const { description } = this.agents.node;
    if (description.every((byte, at) => byte === text[at])) return;
    description.set(text);
    this.onDescription();
  }

  /**
   * What completions of a queue carry beside its QPN. A user index of all ones asks for the form of
   * version 0, in which they carry the number of the SRQ.
   */
  identify(userIndex: number): CompletionIdentity {
    const isMeant = userIndex !== NO_USER_INDEX && hasUserIndices(this.current.get(CapabilityKind.GENERAL));
    return isMeant ? { userIndex } : {};
  }

  /** The function starts: links of its ports train. */
  start(): void {
    this.state = HcaState.RUNNING;
    this.underlying.asynchronousQueue = this.objectEvents;
    for (const port of this.ports) port.enable();
  }

  /**
   * The function stops: all objects are gone, and so is what software offered by its ports; pages
   * stay until software takes them back.
   */
  close(): void {
    this.#stopTraffic();
    this.events.reset();
    this.keys.reset();
    this.transport.reset();
    this.groups.reset();
    for (const port of this.ports) port.setCapabilities((port.subnet.capabilityMask & ~SOFTWARE_CAPABILITIES) >>> 0);
    this.describe(this.#description);
    for (const numbers of [this.uars, this.domains, this.transportDomains, this.xrcDomains]) numbers.reset();
    if (this.state === HcaState.RUNNING) this.state = HcaState.ENABLED;
  }

  reset(): void {
    this.close();
    this.pages.length = 0;
    for (const [kind, page] of this.capabilities) this.current.set(kind, page);
    this.issi = 0;
    this.planted.reset();
    this.health.reset();
    this.state = HcaState.DISABLED;
  }

  /** All queues with work of processes are gone, and the ports are down. */
  #stopTraffic(): void {
    this.unit?.reset();
    for (const queue of this.sharedReceiveQueues.values()) this.sharedReceiveQueues.remove(queue);
    for (const queue of this.completionQueues.values()) this.completionQueues.remove(queue);
    for (const port of this.ports) port.disable();
  }

  /** A CQ goes. */
  #retire(queue: Mlx5CompletionQueue): void {
    queue.close();
    this.uars.release(queue.context.uarPage);
    this.retired.completions += queue.producerCount;
  }
}
