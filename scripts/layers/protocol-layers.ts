// SPDX-License-Identifier: Apache-2.0
/** The layers of `protocol/`. Part of the table of layers.ts. */
import type { Row } from './layer.ts';

export const protocolLayers: readonly Row[] = [
  {
    path: 'protocol/system',
    holds: 'folders that are private to the user; starts tsx; text of others; errors of the system',
    uses: '',
  },
  {
    path: 'protocol/layout',
    holds: 'registers, commands and queue entries as tables; `gen/` is generated from them',
    uses: '',
  },
  {
    path: 'protocol/infiniband',
    holds: 'wire headers and opcodes as tables; packet builder and parser, CRCs, captures',
    uses: 'layout',
  },
  { path: 'protocol/mthca', holds: 'mthca registers, commands and queue entries as tables', uses: 'layout' },
  { path: 'protocol/mlx5', holds: 'mlx5 commands, contexts and queue entries as tables', uses: 'layout' },
  {
    path: 'protocol/mlx5/testing',
    holds: "reads places from the Linux driver's interface header",
    uses: '',
    forTests: true,
  },
  { path: 'protocol/vfio-user', holds: 'the binding of libvfio-user; the only place with FFI', uses: '' },
  {
    path: 'protocol/testing',
    holds: 'reads generated tables bit by bit, as a second opinion',
    uses: 'layout',
    forTests: true,
  },
  { path: 'protocol/vfio-user/client', holds: 'a vfio-user client for tests', uses: 'vfio-user', forTests: true },
  {
    path: 'protocol/vfio-user/test-support',
    holds: 'servers and programs for tests of the binding',
    uses: 'vfio-user client',
    forTests: true,
  },
];
