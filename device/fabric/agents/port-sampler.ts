// SPDX-License-Identifier: Apache-2.0
/**
 * The sampler of a port (IBTA 16.1.3.2 to 16.1.3.4): counts chosen counters over an interval that
 * begins some ticks after the request. The performance management agent has one for each port.
 */
import {
  decodePortSamplesControl,
  encodePortSamplesControl,
  getPortSamplesControlCounterSelect,
  newPortSamplesControl,
  PORT_SAMPLES_CONTROL_COUNTER_SELECT_COUNT,
  setPortSamplesControlCounterSelect,
} from '../../../protocol/infiniband/mad/gen/port-samples-control.gen.ts';
import {
  encodePortSamplesResult,
  newPortSamplesResult,
  PORT_SAMPLES_RESULT_COUNTER_COUNT,
  setPortSamplesResultCounter,
} from '../../../protocol/infiniband/mad/gen/port-samples-result.gen.ts';
import { MadStatus, SampleStatus } from '../../../protocol/infiniband/mad/gen/values.gen.ts';
import type { LinkEnd } from '../port/link.ts';
import { DATA } from './attribute-request.ts';
import { sampled } from './counter-blocks.ts';

const TICK_NS = 1000;
/** Code of counters of 32 bits. */
const WIDTH_32 = 4;
const COUNTER_MAX = 0xffffffff;
const COUNTERS = PORT_SAMPLES_CONTROL_COUNTER_SELECT_COUNT;
/** Each counter can count anything that the agent can sample: 3 bits of ones for each. */
const MASKS_0_TO_9 = 0x3fffffff;
const MASKS_10_TO_12 = 0x7fc0;

const result = newPortSamplesResult();

export class PortSampler {
  readonly #end: LinkEnd;
  readonly #control = newPortSamplesControl();
  readonly #asked = newPortSamplesControl();
  readonly #kinds = new Uint16Array(COUNTERS);
  /** Values at the begin of the interval, then what was counted. */
  readonly #values = new Float64Array(COUNTERS);
  #startNs = Number.POSITIVE_INFINITY;
  #endNs = Number.POSITIVE_INFINITY;
  #status: number = SampleStatus.DONE;

  constructor(end: LinkEnd) {
    this.#end = end;
  }

  /** Time at which the sampler must be advanced. */
  get nextNs(): number {
    return this.#status === SampleStatus.WAITING ? this.#startNs : this.#endNs;
  }

  /** Begins and ends the interval when it is time. */
  advance(nowNs: number): void {
    if (this.#status === SampleStatus.WAITING && nowNs >= this.#startNs) {
      this.#status = SampleStatus.RUNNING;
      for (let index = 0; index < COUNTERS; index++) this.#values[index] = this.#read(index);
    }
    if (this.#status === SampleStatus.RUNNING && nowNs >= this.#endNs) {
      this.#status = SampleStatus.DONE;
      this.#endNs = Number.POSITIVE_INFINITY;
      for (let index = 0; index < COUNTERS; index++) this.#values[index] = this.#read(index) - this.#values[index];
    }
  }

  writeControl(view: DataView, portSelect: number): void {
    const control = this.#control;
    control.portSelect = portSelect;
    control.tick = 0;
    control.counterWidth = WIDTH_32;
    control.counterMasks0To9 = MASKS_0_TO_9;
    control.counterMasks10To14 = MASKS_10_TO_12;
    control.sampleMechanisms = 1;
    control.sampleStatus = this.#status;
    encodePortSamplesControl(view, DATA, control);
    for (let index = 0; index < COUNTERS; index++)
      setPortSamplesControlCounterSelect(view, DATA, index, this.#kinds[index]);
  }

  /** Begins a sampling, unless one goes on: that one then stays. */
  setControl(view: DataView, nowNs: number): MadStatus {
    const asked = decodePortSamplesControl(view, DATA, this.#asked);
    const kinds = kindsOf(view);
    if (kinds.some((kind) => kind >= sampled.length)) return MadStatus.INVALID_VALUE;
    if (this.#status !== SampleStatus.DONE) return MadStatus.SUCCESS;
    Object.assign(this.#control, asked);
    this.#kinds.set(kinds);
    this.#status = SampleStatus.WAITING;
    this.#startNs = nowNs + asked.sampleStart * TICK_NS;
    this.#endNs = this.#startNs + asked.sampleInterval * TICK_NS;
    this.advance(nowNs);
    return MadStatus.SUCCESS;
  }

  writeResult(view: DataView): void {
    result.tag = this.#control.tag;
    result.sampleStatus = this.#status;
    encodePortSamplesResult(view, DATA, result);
    for (let index = 0; index < PORT_SAMPLES_RESULT_COUNTER_COUNT; index++) {
      const value = this.#status === SampleStatus.DONE && index < COUNTERS ? this.#values[index] : 0;
      setPortSamplesResultCounter(view, DATA, index, Math.min(COUNTER_MAX, value));
    }
  }

  #read(index: number): number {
    return sampled[this.#kinds[index]](this.#end);
  }
}

/** Kinds of the counters that a request asks for. */
function kindsOf(view: DataView): number[] {
  return Array.from({ length: COUNTERS }, (_, index) => getPortSamplesControlCounterSelect(view, DATA, index));
}
