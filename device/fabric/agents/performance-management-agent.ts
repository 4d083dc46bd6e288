// SPDX-License-Identifier: Apache-2.0
/**
 * The performance management agent of a node (IBTA 16.1): counters of its external ports, one port
 * or all at once, and a sampler for each port. Counters stop at their largest value; a Set gives
 * those that it selects a new value. `Agents` calls it.
 */
import { encodeClassPortInfo, newClassPortInfo } from '../../../protocol/infiniband/mad/gen/class-port-info.gen.ts';
import { getMadHeaderAttributeId, getMadHeaderMethod } from '../../../protocol/infiniband/mad/gen/mad-header.gen.ts';
import { PORT_COUNTERS_PORT_SELECT_OFFSET } from '../../../protocol/infiniband/mad/gen/port-counters.gen.ts';
import { MadMethod, MadStatus, PerformanceAttribute } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import { MAD_BYTES } from '../../../protocol/infiniband/mad/mad-headers.ts';
import type { AdapterClock } from '../../host.ts';
import type { LinkEnd } from '../port/link.ts';
import { type AttributeRequest, DATA } from './attribute-request.ts';
import {
  type CounterBlock,
  CounterValues,
  portCounters,
  portCountersExtended,
  receiveErrorDetails,
  transmitDiscardDetails,
} from './counter-blocks.ts';
import { isSwitch, type ManagedNode } from './managed-node.ts';
import { PortSampler } from './port-sampler.ts';

const ALL_PORTS = 255;
const VERSION = 1;
/** All ports at once, wide counters, transmit wait, dropped datagrams to QP1. */
const CAPABILITIES = (1 << 8) | (1 << 9) | (1 << 12) | (1 << 15);
const RESPONSE_TIME = 18;

export class PerformanceManagementAgent {
  /** Time of the next step of a sampler. */
  nextNs = Number.POSITIVE_INFINITY;
  /** No sampler waits or counts. */
  isIdle = true;
  readonly #node: ManagedNode;
  readonly #clock: AdapterClock;
  readonly #samplers: readonly PortSampler[];
  readonly #blocks: ReadonlyMap<number, NodeCounters>;
  /** Number of the port that was sampled last. */
  #lastSampled = 1;

  constructor(node: ManagedNode, clock: AdapterClock) {
    this.#node = node;
    this.#clock = clock;
    this.#samplers = node.ports.map((end) => new PortSampler(end));
    this.#blocks = new Map<number, NodeCounters>([
      [PerformanceAttribute.PORT_COUNTERS, countersOf(portCounters, node.ports)],
      [PerformanceAttribute.PORT_COUNTERS_EXTENDED, countersOf(portCountersExtended, node.ports)],
      [PerformanceAttribute.PORT_RECEIVE_ERROR_DETAILS, countersOf(receiveErrorDetails, node.ports)],
      [PerformanceAttribute.PORT_TRANSMIT_DISCARD_DETAILS, countersOf(transmitDiscardDetails, node.ports)],
    ]);
  }

  advance(nowNs: number): void {
    if (this.isIdle) return;
    this.nextNs = Number.POSITIVE_INFINITY;
    for (const sampler of this.#samplers) {
      sampler.advance(nowNs);
      this.nextNs = Math.min(this.nextNs, sampler.nextNs);
    }
    this.isIdle = this.nextNs === Number.POSITIVE_INFINITY;
  }

  /** Serves a Get or a Set; returns the status. */
  serve(request: AttributeRequest): MadStatus {
    const attribute = getMadHeaderAttributeId(request.view, 0);
    this.advance(this.#clock.now());
    switch (attribute) {
      case PerformanceAttribute.CLASS_PORT_INFO:
        return writeClassPortInfo(request);
      case PerformanceAttribute.PORT_SAMPLES_CONTROL:
      case PerformanceAttribute.PORT_SAMPLES_RESULT:
        return this.#serveSampler(request, attribute);
      default:
        return this.#serveCounters(request, attribute);
    }
  }

  #serveCounters(request: AttributeRequest, attribute: number): MadStatus {
    const block = this.#blocks.get(attribute);
    const ports = this.#selected(request.view);
    if (block === undefined || ports === undefined) return MadStatus.INVALID_VALUE;
    if (getMadHeaderMethod(request.view, 0) === MadMethod.SET) block.set(request.view, ports);
    block.write(request, ports);
    return MadStatus.SUCCESS;
  }

  #serveSampler({ bytes, view }: AttributeRequest, attribute: number): MadStatus {
    const portSelect = view.getUint8(DATA + PORT_COUNTERS_PORT_SELECT_OFFSET);
    // The result belongs to the port of the last control; it has no selection of its own.
    const isResult = attribute === PerformanceAttribute.PORT_SAMPLES_RESULT;
    const sampler = this.#samplers[(isResult ? this.#lastSampled : portSelect) - 1];
    if (sampler === undefined) return MadStatus.INVALID_VALUE;
    if (getMadHeaderMethod(view, 0) === MadMethod.SET) {
      const status = sampler.setControl(view, this.#clock.now());
      if (status !== MadStatus.SUCCESS) return status;
      this.#lastSampled = portSelect;
      this.nextNs = Math.min(this.nextNs, sampler.nextNs);
      this.isIdle = false;
    }
    bytes.fill(0, DATA, MAD_BYTES);
    if (isResult) sampler.writeResult(view);
    else sampler.writeControl(view, portSelect);
    return MadStatus.SUCCESS;
  }

  /** Numbers of the ports that a request selects; port 0 of a switch has no counters of a link. */
  #selected(view: DataView): readonly number[] | undefined {
    const { ports } = this.#node;
    const portSelect = view.getUint8(DATA + PORT_COUNTERS_PORT_SELECT_OFFSET);
    if (portSelect === ALL_PORTS) return ports.map((_, index) => index + 1);
    if (portSelect === 0 && isSwitch(this.#node)) return [];
    return portSelect > 0 && portSelect <= ports.length ? [portSelect] : undefined;
  }
}

/** One attribute of counters at all ports of a node. */
interface NodeCounters {
  write(request: AttributeRequest, portNumbers: readonly number[]): void;
  set(view: DataView, portNumbers: readonly number[]): void;
}

function countersOf<R extends object>(block: CounterBlock<R>, ends: readonly LinkEnd[]): NodeCounters {
  const values = ends.map(() => new CounterValues(block));
  const asked = block.fresh();
  return {
    write({ bytes, view }, portNumbers) {
      const found = block.fresh() as R & { portSelect: number };
      found.portSelect = view.getUint8(DATA + PORT_COUNTERS_PORT_SELECT_OFFSET);
      for (const number of portNumbers) values[number - 1].addTo(found, ends[number - 1]);
      bytes.fill(0, DATA, MAD_BYTES);
      block.encode(view, DATA, found);
    },
    set(view, portNumbers) {
      block.decode(view, DATA, asked);
      for (const number of portNumbers) values[number - 1].set(asked, ends[number - 1]);
    },
  };
}

function writeClassPortInfo({ bytes, view }: AttributeRequest): MadStatus {
  const info = newClassPortInfo();
  info.infoBaseVersion = VERSION;
  info.infoClassVersion = VERSION;
  info.capabilityMask = CAPABILITIES;
  info.responseTime = RESPONSE_TIME;
  bytes.fill(0, DATA, MAD_BYTES);
  encodeClassPortInfo(view, DATA, info);
  return MadStatus.SUCCESS;
}
