// SPDX-License-Identifier: Apache-2.0
/**
 * Selective trace (IPCOM000010133D par. 1 and 4) by management commands, as a driver uses it, with
 * a buffer for the blocks. Used by the tests of `trace/`.
 */
import {
  decodeTraceAttributes,
  newTraceAttributes,
  type TraceAttributes,
} from '../../protocol/layout/gen/trace-attributes.gen.ts';
import { ManagementOpcode } from '../../protocol/layout/gen/values.gen.ts';
import type { ManagementResult } from '../hosts/in-process/driver/management-channel.ts';
import { tracePayload } from '../hosts/in-process/driver/payloads.ts';
import { decodeMessages, type TracedMessage } from '../trace/traced-message.ts';
import type { AdapterFixture } from './adapter-fixture.ts';

const BUFFER_BYTES = 65536;

/** The result of a read: messages, and attributes with the position after them. */
export interface TraceRead {
  readonly messages: TracedMessage[];
  readonly attributes: TraceAttributes;
}

/** The trace commands of one function. */
export class TraceFixture {
  readonly #fixture: AdapterFixture;
  readonly #buffer: { readonly address: number; readonly bytes: Uint8Array };

  constructor(fixture: AdapterFixture) {
    this.#fixture = fixture;
    this.#buffer = fixture.createBuffer(BUFFER_BYTES);
  }

  /** Starts a trace of 16 blocks with 4 KiB of payload, unless `attributes` differ. */
  modify(qpn: number, attributes: Partial<TraceAttributes> = {}): ManagementResult {
    const payload = tracePayload({ enable: 1, blocksLog2: 4, snapLength: 4096, ...attributes });
    return this.#execute(ManagementOpcode.MODIFY_TRACE, qpn, payload);
  }

  query(qpn: number): TraceAttributes {
    return decode(this.#execute(ManagementOpcode.QUERY_TRACE, qpn));
  }

  /** Reads blocks from `position` on, as many as fit the buffer. */
  read(qpn: number, position = 0, bufferLength = BUFFER_BYTES): TraceRead {
    const attributes = decode(this.readInto(qpn, { position, bufferLength }));
    return { attributes, messages: decodeMessages(this.#buffer.bytes, attributes.count) };
  }

  /** The read command with any fields. */
  readInto(qpn: number, fields: Partial<TraceAttributes>): ManagementResult {
    const payload = tracePayload({ bufferAddress: this.#buffer.address, bufferLength: BUFFER_BYTES, ...fields });
    return this.#execute(ManagementOpcode.READ_TRACE, qpn, payload);
  }

  #execute(opcode: number, objectNumber: number, payload?: Uint8Array): ManagementResult {
    return this.#fixture.driver.management.execute({ opcode, objectNumber, ...(payload && { payload }) });
  }
}

function decode({ payload }: ManagementResult): TraceAttributes {
  return decodeTraceAttributes(payload, 0, newTraceAttributes());
}
