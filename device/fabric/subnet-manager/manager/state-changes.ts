// SPDX-License-Identifier: Apache-2.0
/**
 * Clears the flags of switches that say that a port has changed its state (IBTA 14.2.5.4). A port
 * may change between the sweep's look at it and the end of the flag, so ports are looked at again
 * behind that. The sweep calls it before it writes anything else.
 */
import { getPortInfoPortState } from '../../../../protocol/infiniband/mad/gen/port-info.gen.ts';
import {
  getSwitchInfoPortStateChange,
  setSwitchInfoPortStateChange,
} from '../../../../protocol/infiniband/mad/gen/switch-info.gen.ts';
import { MadStatus, SubnetAttribute } from '../../../../protocol/infiniband/mad/gen/values.gen.ts';
import { PortState } from '../../../../protocol/layout/gen/values.gen.ts';
import { viewOf } from '../../../../protocol/layout/view.ts';
import { get, type SmpJob, set } from '../smp-client.ts';
import type { Subnet, SubnetPort } from '../subnet.ts';

/** Returns true when a link has come up or gone down since the ports were read. */
export function* settleStateChanges({ switches }: Subnet): SmpJob<boolean> {
  const flagged = switches.filter(({ switchInfo }) => getSwitchInfoPortStateChange(viewOf(switchInfo), 0) === 1);
  if (flagged.length === 0) return false;
  // Writing 1 clears the flag.
  const cleared = yield flagged.map((node) => set(node.ports[0].path, SubnetAttribute.SWITCH_INFO, 0, node.switchInfo));
  const settled = flagged.filter((_, index) => cleared[index].status === MadStatus.SUCCESS);
  for (const { switchInfo } of settled) setSwitchInfoPortStateChange(viewOf(switchInfo), 0, 0);
  const ports = settled.flatMap((node) => node.ports.filter(({ number }) => number > 0));
  const answers = yield ports.map((port) => get(port.path, SubnetAttribute.PORT_INFO, port.number));
  return answers.some(({ status, view }, index) => status === MadStatus.SUCCESS && hasMoved(view, ports[index]));
}

function hasMoved(now: DataView, { view }: SubnetPort): boolean {
  return isUp(now) !== isUp(view);
}

function isUp(info: DataView): boolean {
  return getPortInfoPortState(info, 0) !== PortState.DOWN;
}
