// SPDX-License-Identifier: Apache-2.0
/**
 * Payloads of management commands as byte arrays, one function for each object class. Used by the
 * driver, and by tests that change the bytes.
 */
import {
  CQ_ATTRIBUTES_SIZE,
  type CqAttributes,
  encodeCqAttributes,
  newCqAttributes,
} from '../../../protocol/layout/gen/cq-attributes.gen.ts';
import {
  EQ_ATTRIBUTES_SIZE,
  type EqAttributes,
  encodeEqAttributes,
  newEqAttributes,
} from '../../../protocol/layout/gen/eq-attributes.gen.ts';
import {
  encodeMadRequest,
  MAD_REQUEST_SIZE,
  type MadRequest,
  newMadRequest,
} from '../../../protocol/layout/gen/mad-request.gen.ts';
import {
  encodeMrAttributes,
  MR_ATTRIBUTES_SIZE,
  type MrAttributes,
  newMrAttributes,
} from '../../../protocol/layout/gen/mr-attributes.gen.ts';
import {
  encodeMulticastAttributes,
  MULTICAST_ATTRIBUTES_MGID_OFFSET,
  MULTICAST_ATTRIBUTES_SIZE,
  newMulticastAttributes,
} from '../../../protocol/layout/gen/multicast-attributes.gen.ts';
import {
  encodeMwAttributes,
  MW_ATTRIBUTES_SIZE,
  type MwAttributes,
  newMwAttributes,
} from '../../../protocol/layout/gen/mw-attributes.gen.ts';
import {
  encodePdAttributes,
  newPdAttributes,
  PD_ATTRIBUTES_SIZE,
  type PdAttributes,
} from '../../../protocol/layout/gen/pd-attributes.gen.ts';
import {
  encodePortChanges,
  newPortChanges,
  PORT_CHANGES_SIZE,
  type PortChanges,
} from '../../../protocol/layout/gen/port-changes.gen.ts';
import {
  encodeQpAttributes,
  newQpAttributes,
  QP_ATTRIBUTES_SIZE,
  type QpAttributes,
} from '../../../protocol/layout/gen/qp-attributes.gen.ts';
import {
  encodeQpCreation,
  newQpCreation,
  QP_CREATION_SIZE,
  type QpCreation,
} from '../../../protocol/layout/gen/qp-creation.gen.ts';
import {
  encodeSendContextAttributes,
  newSendContextAttributes,
  SEND_CONTEXT_ATTRIBUTES_SIZE,
  type SendContextAttributes,
} from '../../../protocol/layout/gen/send-context-attributes.gen.ts';
import {
  encodeSrqAttributes,
  newSrqAttributes,
  SRQ_ATTRIBUTES_SIZE,
  type SrqAttributes,
} from '../../../protocol/layout/gen/srq-attributes.gen.ts';

import {
  encodeTraceAttributes,
  newTraceAttributes,
  TRACE_ATTRIBUTES_SIZE,
  type TraceAttributes,
} from '../../../protocol/layout/gen/trace-attributes.gen.ts';

/** Builds a payload with the given fields; the others are zero. */
type PayloadOf<T> = (fields: Partial<T>) => Uint8Array;

function payloadOf<T>(
  sizeBytes: number,
  blank: () => T,
  encode: (view: DataView, base: number, from: Readonly<T>) => void,
): PayloadOf<T> {
  return (fields) => {
    const payload = new Uint8Array(sizeBytes);
    encode(new DataView(payload.buffer), 0, { ...blank(), ...fields });
    return payload;
  };
}

export const pdPayload = payloadOf<PdAttributes>(PD_ATTRIBUTES_SIZE, newPdAttributes, encodePdAttributes);
export const mrPayload = payloadOf<MrAttributes>(MR_ATTRIBUTES_SIZE, newMrAttributes, encodeMrAttributes);
export const cqPayload = payloadOf<CqAttributes>(CQ_ATTRIBUTES_SIZE, newCqAttributes, encodeCqAttributes);
export const eqPayload = payloadOf<EqAttributes>(EQ_ATTRIBUTES_SIZE, newEqAttributes, encodeEqAttributes);
export const qpCreationPayload = payloadOf<QpCreation>(QP_CREATION_SIZE, newQpCreation, encodeQpCreation);
export const qpPayload = payloadOf<QpAttributes>(QP_ATTRIBUTES_SIZE, newQpAttributes, encodeQpAttributes);
export const srqPayload = payloadOf<SrqAttributes>(SRQ_ATTRIBUTES_SIZE, newSrqAttributes, encodeSrqAttributes);
export const mwPayload = payloadOf<MwAttributes>(MW_ATTRIBUTES_SIZE, newMwAttributes, encodeMwAttributes);
export const sendContextPayload = payloadOf<SendContextAttributes>(
  SEND_CONTEXT_ATTRIBUTES_SIZE,
  newSendContextAttributes,
  encodeSendContextAttributes,
);
export const tracePayload = payloadOf<TraceAttributes>(
  TRACE_ATTRIBUTES_SIZE,
  newTraceAttributes,
  encodeTraceAttributes,
);

export const madPayload = payloadOf<MadRequest>(MAD_REQUEST_SIZE, newMadRequest, encodeMadRequest);
export const portChangesPayload = payloadOf<PortChanges>(PORT_CHANGES_SIZE, newPortChanges, encodePortChanges);

/** A multicast group; the GID has 16 bytes. */
export function multicastPayload(mgid: Uint8Array, mlid: number): Uint8Array {
  const payload = new Uint8Array(MULTICAST_ATTRIBUTES_SIZE);
  encodeMulticastAttributes(new DataView(payload.buffer), 0, { ...newMulticastAttributes(), mlid });
  payload.set(mgid, MULTICAST_ATTRIBUTES_MGID_OFFSET);
  return payload;
}
