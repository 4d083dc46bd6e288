// SPDX-License-Identifier: Apache-2.0
/** The state that commands about ports can change, for tests that expect no change. */
import type { Mlx5Driver } from '../driver/mlx5-driver.ts';

/** The state of the ports, and the description of the node. */
export function digestPorts({ device: { hca } }: Mlx5Driver): unknown {
  const ports = hca.ports.map((port) => ({
    settings: port.settings,
    subnet: port.subnet,
    tables: [`${port.pkeys}`, `${port.gids}`, `${port.guid}`, `${port.subnet.mKey}`],
    states: [port.state, port.physicalState, port.isEnabled, port.activeMtuCode, port.transmitQueues.operationalVls],
    addresses: [port.lid, port.lmc, port.smLid],
    violations: [port.badPkeys, port.badQkeys],
  }));
  return { ports, description: `${hca.agents.node.description}` };
}
