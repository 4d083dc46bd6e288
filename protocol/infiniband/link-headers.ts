// SPDX-License-Identifier: Apache-2.0
/**
 * Tables of link traffic other than data packets: the flow control packet (IBTA 7.9.4), and the
 * frames that carry packets over a stream socket between two processes. Ports, cables and socket
 * links of the device use the accessors.
 */
import type { StructTable, ValueTable } from '../layout/table.ts';

const FLOW_CONTROL_PACKET: StructTable = {
  name: 'flow-control-packet',
  doc: 'Flow control packet: blocks of 64 bytes sent and granted on one virtual lane, modulo 4096.',
  source: 'IBTA 7.9.4',
  endian: 'big',
  sizeBytes: 6,
  fields: [
    { name: 'operand', bits: 4, doc: 'Normal, or initialization of the link.', values: 'flow-control-operand' },
    { name: 'totalBlocksSent', bits: 12, doc: 'FCTBS: blocks that the sender of this packet has sent on the lane.' },
    { name: 'virtualLane', bits: 4, doc: 'The data lane; VL15 has no flow control.' },
    {
      name: 'creditLimit',
      bits: 12,
      doc: 'FCCL: total of blocks that the receiver of this packet may send on the lane.',
    },
    { name: 'lpcrc', bits: 16, doc: 'Link packet CRC: the polynomial of the VCRC over the four bytes before it.' },
  ],
};

const LINK_FRAME: StructTable = {
  name: 'link-frame',
  doc: 'Header of every frame on the stream of a socket link.',
  endian: 'big',
  sizeBytes: 8,
  fields: [
    { name: 'lengthBytes', bits: 32, doc: 'Bytes after this header.' },
    { name: 'type', bits: 8, doc: 'Type of the frame.', values: 'link-frame-type' },
    { name: 'virtualLane', bits: 8, doc: 'Lane of a data packet.' },
    { bits: 16 },
  ],
};

const LINK_HELLO: StructTable = {
  name: 'link-hello',
  doc: 'First frame of each side of a socket link: identity and capabilities of its port.',
  endian: 'big',
  sizeBytes: 24,
  fields: [
    { name: 'magic', bits: 32, doc: 'Always 0x56554c4b, "VULK" in ASCII.' },
    { name: 'version', bits: 16, doc: 'Version of the framing; both sides must agree.' },
    { name: 'mtuCode', bits: 8, doc: 'Largest payload that the port accepts.', values: 'mtu-code' },
    { name: 'virtualLanes', bits: 8, doc: 'Number of data lanes; both sides must agree.' },
    { name: 'portGuid', bytes: 8, at: 8, doc: 'GUID of the port.' },
    { name: 'portNumber', bits: 8, at: 16, doc: 'Number of the port in its node.' },
    { bits: 24 },
    { bits: 32 },
  ],
};

const FLOW_CONTROL_OPERAND: ValueTable = {
  name: 'flow-control-operand',
  doc: 'Kind of a flow control packet.',
  source: 'IBTA 7.9.4',
  values: [
    { name: 'normal', value: 0, doc: 'The link is up.' },
    { name: 'initialize', value: 1, doc: 'The link is being initialized.' },
  ],
};

const LINK_FRAME_TYPE: ValueTable = {
  name: 'link-frame-type',
  doc: 'Frames on the stream of a socket link.',
  values: [
    { name: 'hello', value: 1, doc: 'A link-hello; the first frame, once.' },
    { name: 'packet', value: 2, doc: 'A data packet, LRH to VCRC.' },
    { name: 'flow-control', value: 3, doc: 'A flow control packet.' },
    { name: 'keepalive', value: 4, doc: 'No content; shows that the sender is alive.' },
  ],
};

export const linkHeaders: readonly StructTable[] = [FLOW_CONTROL_PACKET, LINK_FRAME, LINK_HELLO];
export const linkValues: readonly ValueTable[] = [FLOW_CONTROL_OPERAND, LINK_FRAME_TYPE];
