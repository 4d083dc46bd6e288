// SPDX-License-Identifier: Apache-2.0
/**
 * Tables of the UDP protocol of ibsim, the InfiniBand simulator of OpenFabrics: its client library
 * `libumad2sim` lets opensm and the diagnostics reach a fabric without /dev/infiniband. Control
 * messages are in the byte order of the host, which is little endian; datagrams are big endian. The
 * host door (device/process/ibsim, docs/FABRIC.md) reads and writes them.
 */
import type { StructTable, ValueTable } from '../layout/table.ts';

const IBSIM_CONTROL: StructTable = {
  name: 'ibsim-control',
  doc: 'Control message of a client, and its answer of the same size.',
  endian: 'little',
  sizeBytes: 80,
  fields: [
    { name: 'magic', bits: 32, doc: 'Always 0xdeadbeef.' },
    { name: 'client', bits: 32, doc: 'Number of the client, as the answer to its CONNECT gave it.' },
    {
      name: 'type',
      bits: 32,
      doc: 'Request of the client; ERROR in the answer to a refused request.',
      values: 'ibsim-type',
    },
    { name: 'lengthBytes', bits: 32, doc: 'Bytes of data in use.' },
    { name: 'data', bytes: 64, at: 16, doc: 'Data of the request or of the answer.' },
  ],
};

const IBSIM_CLIENT: StructTable = {
  name: 'ibsim-client',
  doc: 'Data of CONNECT.',
  endian: 'little',
  sizeBytes: 44,
  fields: [
    { name: 'id', bits: 32, doc: 'UDP port of the client for datagrams; in the answer the number of the client.' },
    { name: 'qpn', bits: 32, doc: 'Queue pair of the client; 0: all.' },
    { name: 'isManager', bits: 32, doc: 'Not 0: the client is a subnet manager.' },
    { name: 'host', bytes: 32, at: 12, doc: 'Name of the host to attach to, ended by a zero; empty: any host.' },
  ],
};

const IBSIM_VENDOR: StructTable = {
  name: 'ibsim-vendor',
  doc: 'Data of the answer to GET_VENDOR.',
  endian: 'little',
  sizeBytes: 24,
  fields: [
    { name: 'vendorId', bits: 32, doc: 'OUI of the vendor.' },
    { name: 'deviceId', bits: 32, doc: "The vendor's number of the device." },
    { name: 'hardwareVersion', bits: 32, doc: 'Revision of the device.' },
    { bits: 32 },
    { name: 'firmwareVersion', bits: 64, at: 16, opaque: true, doc: 'Version of the firmware.' },
  ],
};

const IBSIM_PORT: StructTable = {
  name: 'ibsim-port',
  doc: 'Data of the answer to GET_PORT.',
  endian: 'little',
  sizeBytes: 4,
  fields: [
    { name: 'lid', bits: 16, doc: 'Base LID.' },
    { name: 'state', bits: 8, doc: 'Logical state of the port.' },
    { bits: 8 },
  ],
};

const IBSIM_DATAGRAM: StructTable = {
  name: 'ibsim-datagram',
  doc: 'A management datagram between a client and the fabric.',
  endian: 'big',
  sizeBytes: 288,
  fields: [
    { name: 'dlid', bits: 16, doc: 'LID of the destination.' },
    { bits: 16 },
    { name: 'slid', bits: 16, doc: 'LID of the source; 0 from a client: that of its port.' },
    { bits: 16 },
    { name: 'destQpn', bits: 32, doc: 'Queue pair of the destination.' },
    { name: 'sourceQpn', bits: 32, doc: 'Queue pair of the source.' },
    { name: 'status', bits: 32, doc: 'To a client: not 0 when its own datagram returns because it has no answer.' },
    { bits: 32 },
    { name: 'lengthBytes', bits: 64, at: 24, doc: 'Bytes of the datagram.' },
    { name: 'mad', bytes: 256, at: 32, doc: 'The datagram.' },
  ],
};

const IBSIM_TYPE: ValueTable = {
  name: 'ibsim-type',
  doc: 'Type of a control message.',
  values: [
    { name: 'error', value: 0, doc: 'The request is refused.' },
    { name: 'connect', value: 1, doc: 'Attaches a client to a host.' },
    { name: 'disconnect', value: 2, doc: 'The client leaves.' },
    { name: 'get-port', value: 3, doc: 'LID and state of the port.' },
    { name: 'get-vendor', value: 4, doc: 'Vendor, device and revisions.' },
    { name: 'get-gid', value: 5, doc: 'The first GID.' },
    { name: 'get-guid', value: 6, doc: 'GUID of the node.' },
    { name: 'get-node-info', value: 7, doc: 'The attribute NodeInfo.' },
    {
      name: 'get-port-info',
      value: 8,
      doc: 'The attribute PortInfo of the port in the first byte; 0: of the own port.',
    },
    { name: 'set-manager', value: 9, doc: 'The client is a subnet manager from now on (1), or no longer (0).' },
    { name: 'get-p-keys', value: 10, doc: 'The first 32 partition keys.' },
  ],
};

export const ibsimHeaders: readonly StructTable[] = [
  IBSIM_CONTROL,
  IBSIM_CLIENT,
  IBSIM_VENDOR,
  IBSIM_PORT,
  IBSIM_DATAGRAM,
];
export const ibsimValues: readonly ValueTable[] = [IBSIM_TYPE];
