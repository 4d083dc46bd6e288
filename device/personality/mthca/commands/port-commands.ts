// SPDX-License-Identifier: Apache-2.0
/** Commands of ports. The input modifier is the number of the port. */
import { decodePortChange, newPortChange, PORT_CHANGE_SIZE } from '../../../../protocol/mthca/gen/port-change.gen.ts';
import { decodePortSetup, newPortSetup, PORT_SETUP_SIZE } from '../../../../protocol/mthca/gen/port-setup.gen.ts';
import { CommandStatus } from '../../../../protocol/mthca/gen/values.gen.ts';
import type { MthcaCommandContext } from './command-context.ts';

/**
 * INIT_IB enables a port, unless the device has failed. Its GUIDs are options of the device:
 * software cannot set them.
 */
export function enablePort(context: MthcaCommandContext): CommandStatus {
  const { hca, modifier } = context;
  const port = hca.portAt(modifier);
  if (port === undefined) return CommandStatus.BAD_INDEX;
  const read = context.readInput(PORT_SETUP_SIZE);
  if (read !== CommandStatus.OK) return read;
  const setup = decodePortSetup(context.inputView, 0, newPortSetup());
  if (setup.setPortGuid || setup.setNodeGuid || setup.setSystemImageGuid) return CommandStatus.BAD_PARAM;
  if (setup.mtu < 1 || setup.virtualLanes < 1 || setup.width < 1) return CommandStatus.BAD_PARAM;
  const { limits } = hca;
  if (
    setup.mtu > limits.mtu ||
    setup.virtualLanes > limits.virtualLanes ||
    setup.width > limits.width ||
    setup.gids > 2 ** limits.logGids ||
    setup.pkeys > 2 ** limits.logPkeys
  )
    return CommandStatus.EXCEED_LIMIT;
  if (port.isEnabled) return CommandStatus.BAD_SYS_STATE;
  if (hca.hasFailed) return CommandStatus.INTERNAL_ERROR;
  port.enable();
  return CommandStatus.OK;
}

/** CLOSE_IB: drivers close ports that are closed already. */
export function disablePort({ hca, modifier }: MthcaCommandContext): CommandStatus {
  const port = hca.portAt(modifier);
  if (port === undefined) return CommandStatus.BAD_INDEX;
  if (port.isEnabled) port.disable();
  return CommandStatus.OK;
}

/** SET_IB. */
export function changePort(context: MthcaCommandContext): CommandStatus {
  const { hca, modifier } = context;
  const port = hca.portAt(modifier);
  if (port === undefined) return CommandStatus.BAD_INDEX;
  const read = context.readInput(PORT_CHANGE_SIZE);
  if (read !== CommandStatus.OK) return read;
  const change = decodePortChange(context.inputView, 0, newPortChange());
  if (change.setSystemImageGuid) return CommandStatus.BAD_PARAM;
  if (change.resetQkeyViolations) port.badQkeys = 0;
  port.setCapabilities(change.capabilityMask);
  return CommandStatus.OK;
}
