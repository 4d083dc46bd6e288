// SPDX-License-Identifier: Apache-2.0
/**
 * Records that wrap what the sweep knows: nodes, ports, switches, tables, links, managers (IBTA
 * 15.2.5.2 to 15.2.5.13 and 15.2.5.18). Each function lists all records of a kind; `Administration`
 * keeps those that match a query.
 */

import {
  GUID_INFO_RECORD_SIZE,
  setGuidInfoRecordBlockNumber,
} from '../../../../protocol/infiniband/mad/gen/guid-info-record.gen.ts';
import {
  LINEAR_FORWARDING_TABLE_RECORD_SIZE,
  setLinearForwardingTableRecordBlockNumber,
} from '../../../../protocol/infiniband/mad/gen/linear-forwarding-table-record.gen.ts';
import { encodeLinkRecord, LINK_RECORD_SIZE } from '../../../../protocol/infiniband/mad/gen/link-record.gen.ts';
import {
  MULTICAST_FORWARDING_TABLE_RECORD_SIZE,
  setMulticastForwardingTableRecordBlockNumber,
  setMulticastForwardingTableRecordPosition,
} from '../../../../protocol/infiniband/mad/gen/multicast-forwarding-table-record.gen.ts';
import {
  NODE_INFO_PORT_GUID_OFFSET,
  setNodeInfoLocalPort,
} from '../../../../protocol/infiniband/mad/gen/node-info.gen.ts';
import {
  NODE_RECORD_DESCRIPTION_OFFSET,
  NODE_RECORD_SIZE,
} from '../../../../protocol/infiniband/mad/gen/node-record.gen.ts';
import {
  P_KEY_TABLE_RECORD_SIZE,
  setPKeyTableRecordBlockNumber,
  setPKeyTableRecordRecordPort,
} from '../../../../protocol/infiniband/mad/gen/p-key-table-record.gen.ts';
import {
  PORT_INFO_RECORD_SIZE,
  setPortInfoRecordRecordPort,
} from '../../../../protocol/infiniband/mad/gen/port-info-record.gen.ts';
import {
  SL_TO_VL_TABLE_RECORD_SIZE,
  setSlToVlTableRecordInputPort,
  setSlToVlTableRecordOutputPort,
} from '../../../../protocol/infiniband/mad/gen/sl-to-vl-table-record.gen.ts';
import { SM_INFO_SIZE } from '../../../../protocol/infiniband/mad/gen/sm-info.gen.ts';
import { SM_INFO_RECORD_SIZE } from '../../../../protocol/infiniband/mad/gen/sm-info-record.gen.ts';
import { SWITCH_INFO_RECORD_SIZE } from '../../../../protocol/infiniband/mad/gen/switch-info-record.gen.ts';
import {
  setVlArbitrationTableRecordBlockNumber,
  setVlArbitrationTableRecordOutputPort,
  VL_ARBITRATION_TABLE_RECORD_SIZE,
} from '../../../../protocol/infiniband/mad/gen/vl-arbitration-table-record.gen.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { writeGuid } from '../guid.ts';
import type { Subnet, SubnetNode, SubnetPort } from '../subnet.ts';
import { POSITION_SHIFT } from '../sweep/forwarding.ts';

/** A subnet manager as subnet administration shows it. */
export interface KnownManager {
  readonly lid: number;
  readonly info: Uint8Array;
}

/** Every record of the tables begins with a LID. */
function record(
  size: number,
  lid: number,
  data: Uint8Array,
  offset: number,
  fill: (view: DataView) => void,
): Uint8Array {
  const bytes = new Uint8Array(size);
  const view = viewOf(bytes);
  bytes.set(data.subarray(0, size - offset), offset);
  view.setUint16(0, lid);
  fill(view);
  return bytes;
}

const INFO_OFFSET = 4;
const BLOCK_OFFSET = 8;
const nothing = () => {};

function allPorts(subnet: Subnet): SubnetPort[] {
  return [...subnet.nodes.values()].flatMap((node) => node.knownPorts);
}

function lidOf(node: SubnetNode): number {
  return node.ports[0].lid;
}

export function nodeRecords(subnet: Subnet): Uint8Array[] {
  return subnet.endPorts.map((port) =>
    record(NODE_RECORD_SIZE, port.lid, port.node.nodeInfo, INFO_OFFSET, (view) => {
      // NodeInfo of a node with several ports names the port that answered.
      writeGuid(view, INFO_OFFSET + NODE_INFO_PORT_GUID_OFFSET, port.guid);
      if (!port.node.isSwitch) setNodeInfoLocalPort(view, INFO_OFFSET, port.number);
      new Uint8Array(view.buffer).set(port.node.description, NODE_RECORD_DESCRIPTION_OFFSET);
    }),
  );
}

export function portInfoRecords(subnet: Subnet): Uint8Array[] {
  return allPorts(subnet).map((port) =>
    record(PORT_INFO_RECORD_SIZE, port.lid, port.info, INFO_OFFSET, (view) =>
      setPortInfoRecordRecordPort(view, 0, port.number),
    ),
  );
}

export function switchInfoRecords(subnet: Subnet): Uint8Array[] {
  return subnet.switches.map((node) =>
    record(SWITCH_INFO_RECORD_SIZE, lidOf(node), node.switchInfo, INFO_OFFSET, nothing),
  );
}

export function linearTableRecords(subnet: Subnet): Uint8Array[] {
  return subnet.switches.flatMap((node) =>
    [...node.linear].map(([number, block]) =>
      record(LINEAR_FORWARDING_TABLE_RECORD_SIZE, lidOf(node), block, BLOCK_OFFSET, (view) =>
        setLinearForwardingTableRecordBlockNumber(view, 0, number),
      ),
    ),
  );
}

export function multicastTableRecords(subnet: Subnet): Uint8Array[] {
  return subnet.switches.flatMap((node) =>
    [...node.multicast].map(([modifier, block]) =>
      record(MULTICAST_FORWARDING_TABLE_RECORD_SIZE, lidOf(node), block, BLOCK_OFFSET, (view) => {
        setMulticastForwardingTableRecordPosition(view, 0, modifier >>> POSITION_SHIFT);
        setMulticastForwardingTableRecordBlockNumber(view, 0, modifier & 0x1ff);
      }),
    ),
  );
}

export function partitionRecords(subnet: Subnet): Uint8Array[] {
  return allPorts(subnet).flatMap((port) =>
    [...port.pKeys].map(([number, block]) =>
      record(P_KEY_TABLE_RECORD_SIZE, port.lid, block, BLOCK_OFFSET, (view) => {
        setPKeyTableRecordBlockNumber(view, 0, number);
        setPKeyTableRecordRecordPort(view, 0, port.number);
      }),
    ),
  );
}

export function guidInfoRecords(subnet: Subnet): Uint8Array[] {
  return subnet.endPorts.flatMap((port) =>
    [...port.guids].map(([number, block]) =>
      record(GUID_INFO_RECORD_SIZE, port.lid, block, BLOCK_OFFSET, (view) =>
        setGuidInfoRecordBlockNumber(view, 0, number),
      ),
    ),
  );
}

/** Ports of channel adapters have number 0 in these records. */
export function vlMapRecords(subnet: Subnet): Uint8Array[] {
  return allPorts(subnet).flatMap((port) =>
    [...port.vlMaps].map(([input, map]) =>
      record(SL_TO_VL_TABLE_RECORD_SIZE, port.lid, map, BLOCK_OFFSET, (view) => {
        setSlToVlTableRecordInputPort(view, 0, input);
        setSlToVlTableRecordOutputPort(view, 0, port.node.isSwitch ? port.number : 0);
      }),
    ),
  );
}

export function arbitrationRecords(subnet: Subnet): Uint8Array[] {
  return allPorts(subnet).flatMap((port) =>
    [...port.arbitration].map(([number, block]) =>
      record(VL_ARBITRATION_TABLE_RECORD_SIZE, port.lid, block, BLOCK_OFFSET, (view) => {
        setVlArbitrationTableRecordOutputPort(view, 0, port.number);
        setVlArbitrationTableRecordBlockNumber(view, 0, number);
      }),
    ),
  );
}

export function linkRecords(subnet: Subnet): Uint8Array[] {
  return allPorts(subnet).flatMap((port) => {
    const { peer } = port;
    if (peer === undefined) return [];
    const bytes = new Uint8Array(LINK_RECORD_SIZE);
    const ends = { fromLid: port.lid, fromPort: port.number, toPort: peer.number, toLid: peer.lid };
    encodeLinkRecord(viewOf(bytes), 0, ends);
    return [bytes];
  });
}

export function managerRecords(managers: readonly KnownManager[]): Uint8Array[] {
  return managers.map(({ lid, info }) =>
    record(SM_INFO_RECORD_SIZE, lid, info.subarray(0, SM_INFO_SIZE), INFO_OFFSET, nothing),
  );
}
