// SPDX-License-Identifier: Apache-2.0
/** The layers of `scripts/`: each may import what its row names. Part of the table of layers.ts. */
import type { Layer } from './layer.ts';
import { of } from './names.ts';

export const scriptLayers: readonly Layer[] = [
  { path: 'scripts/setup', holds: 'everything that a run needs, in one call or by name', uses: of('qemu/setup qemu') },
  { path: 'scripts/console', holds: 'tables as text', uses: of('') },
  {
    path: 'scripts/picture',
    holds: 'one look for all pictures: colours, text; graphs of nodes and links, laid out by elkjs',
    uses: of(''),
  },
  { path: 'scripts/picture/testing', holds: 'reads pictures for tests', uses: of('scripts/picture'), forTests: true },
  { path: 'scripts/plot', holds: 'plots as SVG by Vega-Lite', uses: of('scripts/picture') },
  { path: 'scripts/plot/testing', holds: 'reads plots for tests', uses: of(''), forTests: true },
  {
    path: 'scripts/check-style',
    holds: 'the rules of docs/CONTRIBUTING.md that a machine can check',
    uses: of('protocol/vfio-user'),
  },
  { path: 'scripts/layers', holds: 'this table, and the check of it', uses: of('qemu/setup') },
  {
    path: 'scripts/mutate',
    holds: '`npm run mutate`: which changes of the sources no test notices',
    uses: of('random.ts qemu/setup'),
  },
  {
    path: 'scripts/test-runner',
    holds: '`npm test`',
    uses: of('qemu/setup scripts/setup scripts/console scripts/mutate'),
  },
  {
    path: 'scripts/generate',
    holds: 'writes generated code and documents from the tables',
    uses: of('layout hosts qemu/setup scripts/test-runner'),
  },
  {
    path: 'scripts/ledger',
    holds: 'collects what tests say of the specification',
    uses: of('test-support qemu/setup scripts/test-runner'),
  },
  {
    path: 'scripts/simulations',
    holds: 'runs simulations over many seeds: chaos, sanitize, invariants, isolation, digests',
    uses: of('layout host.ts random.ts function fabric trace adapter hosts test-support simulations qemu/setup'),
  },
  {
    path: 'scripts/bench',
    holds: 'benchmarks',
    uses: of(
      'layout infiniband protocol/vfio-user host.ts port fabric collect adapter switch hosts test-support main qemu/setup qemu scripts/setup scripts/console',
    ),
  },
  {
    path: 'scripts/cli',
    holds: 'the command line `vuhca`',
    uses: of(
      'layout infiniband port function fabric trace adapter subnet-manager topology device/personality/mthca hosts main qemu/setup qemu guest-tests/harness scripts/setup scripts/console scripts/picture switch protocol/system',
    ),
  },
  {
    path: 'scripts/fabric',
    holds: "`npm run test:fabric`: Debian's opensm and diagnostics judge the fabric",
    uses: of('port fabric agents subnet-manager switch main qemu/setup qemu scripts/cli'),
  },
  {
    path: 'scripts/cli/testing',
    holds: 'runs the command line for tests',
    uses: of(
      'layout infiniband random.ts fabric trace adapter hosts test-support conformance main device/main/test-support scripts/cli',
    ),
    forTests: true,
  },
  {
    path: 'scripts/foreign',
    holds: 'foreign suites',
    uses: of('main qemu/setup qemu guest-tests/harness scripts/console scripts/cli'),
  },
  {
    path: 'scripts/demo',
    holds: 'demonstrations: deadlock, interrupts, quality of service, verbs',
    uses: of(
      'layout test-support simulations main qemu/setup qemu guest-tests/harness guest-tests/shares scripts/setup scripts/bench scripts/cli scripts/console scripts/picture scripts/plot scripts/foreign',
    ),
  },
  {
    path: 'scripts/pictures',
    holds: '`npm run pictures`: the pictures of docs/pictures',
    uses: of('main qemu/setup scripts/cli scripts/demo'),
  },
  { path: 'scripts/start', holds: '`npm start`', uses: of('main qemu/setup qemu scripts/setup scripts/cli') },
];
