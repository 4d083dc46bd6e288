// SPDX-License-Identifier: Apache-2.0
/** The layers of `qemu/`, `guest-tests/` and `scripts/`. Part of the table of layers.ts. */
import type { Row } from './layer.ts';

export const scriptLayers: readonly Row[] = [
  { path: 'qemu/setup/tools', holds: 'errors for users, command lines of scripts, commands of the host', uses: '' },
  { path: 'qemu/setup', holds: 'makes QEMU, guest kernel, libvfio-user, toolchain; their cache', uses: 'tools' },
  {
    path: 'qemu',
    holds: 'launching guests and adapter processes, initramfs images, QMP',
    uses: 'system tools qemu/setup',
  },
  { path: 'guest-tests/harness', holds: 'runs guests with tests; reads KTAP', uses: 'qemu/setup qemu' },
  {
    path: 'guest-tests/shares',
    holds: "measures the Oracle document's worked example with three guests",
    uses: 'reports control qos tools harness',
  },
  {
    path: 'guest-tests',
    holds: 'driver and kernel tests (C), and the tests that run them in guests',
    uses: 'personality/mthca reports control tools qemu/setup qemu harness guest-tests/shares',
  },
  {
    path: 'scripts/setup',
    holds: 'everything that a run needs, in one call or by name; compiled programs',
    uses: 'tools qemu/setup qemu',
  },
  { path: 'scripts/console', holds: 'tables as text; results as JUnit XML; shares of work', uses: '' },
  { path: 'scripts/shards', holds: 'results of shards, joined', uses: 'tools console' },
  {
    path: 'scripts/picture',
    holds: 'one look for all pictures: colours, text; graphs of nodes and links, laid out by elkjs',
    uses: '',
  },
  { path: 'scripts/picture/testing', holds: 'reads pictures for tests', uses: 'picture', forTests: true },
  { path: 'scripts/plot', holds: 'plots as SVG by Vega-Lite', uses: 'picture' },
  { path: 'scripts/plot/testing', holds: 'reads plots for tests', uses: '', forTests: true },
  {
    path: 'scripts/check-style',
    holds: 'the rules of docs/CONTRIBUTING.md that a machine can check',
    uses: 'vfio-user',
  },
  { path: 'scripts/npm', holds: 'npm scripts with several programs: groups, old names', uses: 'tools' },
  { path: 'scripts/layers', holds: 'this table, and the check of it', uses: 'tools' },
  {
    path: 'scripts/mutate',
    holds: '`npm run mutate`: which changes of the sources no test notices',
    uses: 'random.ts tools console shards',
  },
  {
    path: 'scripts/check',
    holds: '`npm run check`: what a commit passes, and each commit of a range',
    uses: 'tools mutate',
  },
  { path: 'scripts/test-runner', holds: '`npm test`', uses: 'tools scripts/setup console shards mutate' },
  { path: 'scripts/package/testing', holds: 'packs the package for tests', uses: '', forTests: true },
  {
    path: 'scripts/generate',
    holds: 'writes generated code and documents from the tables',
    uses: 'layout machine tools test-runner',
  },
  {
    path: 'scripts/generate/testing',
    holds: 'compares tables with the headers of kernels',
    uses: 'layout protocol/mlx5 mlx5/testing qemu/setup generate',
    forTests: true,
  },
  { path: 'scripts/ledger', holds: 'collects what tests say of the specification', uses: 'fixtures tools test-runner' },
  {
    path: 'scripts/simulations',
    holds: 'runs simulations over many seeds: chaos, sanitize, invariants, isolation, digests',
    uses: 'layout host.ts random.ts link function hca/trace adapter hosts ordering rig/driver machine fixtures chaos qos sanitize fuzz processes rig/mthca rig/mlx5 tools console shards',
  },
  {
    path: 'scripts/bench',
    holds: 'benchmarks',
    uses: 'system layout infiniband protocol/mthca protocol/mlx5 vfio-user host.ts link collect adapter shared device/topology host rig/driver machine fixtures mthca/driver mlx5/driver tools qemu/setup qemu scripts/setup console',
  },
  {
    path: 'scripts/cli/options',
    holds: 'options and arguments of all commands, adapter options, files that a user names',
    uses: 'system layout link function adapter shared device/topology hosts ordering host tools',
  },
  {
    path: 'scripts/cli/session',
    holds: 'a run of a command: way to an adapter, signals, terminal, exit statuses',
    uses: 'host control tools qemu/setup qemu harness options',
  },
  {
    path: 'scripts/cli/topology',
    holds: 'topology files and generated topologies; their text and picture',
    uses: 'system link subnet-manager adapter device/topology host tools console picture options',
  },
  {
    path: 'scripts/cli/screens',
    holds: 'readable screens of reports',
    uses: 'layout adapter reports console picture options cli/topology',
  },
  {
    path: 'scripts/cli/trace',
    holds: 'stories and ladders of messages from a trace',
    uses: 'layout infiniband port link switch function hca/trace state adapter device/topology hosts process/trace control tools console picture options screens',
  },
  {
    path: 'scripts/page/build',
    holds: 'the page of `vuhca view` as one script and one style sheet',
    uses: 'picture',
  },
  {
    path: 'scripts/cli/view',
    holds: 'the server of `vuhca view`, what it says to its page, and the replay of a recording',
    uses: 'system layout vfio-user host.ts hca/trace scheduler adapter shared device/topology hosts reports process/trace control tools picture options cli/trace',
  },
  { path: 'scripts/page', holds: 'the page of `vuhca view`, in a browser', uses: 'reports picture cli/view' },
  {
    path: 'scripts/page/inside/testing',
    holds: 'states of adapters of the rig for the picture of an adapter',
    uses: 'layout random.ts adapter personality/shared reports rig/driver machine fixtures qos cli/view scripts/page',
    forTests: true,
  },
  {
    path: 'scripts/page/testing',
    holds: 'fabrics of the rig for the page, and a server without a process',
    uses: 'random.ts device/topology reports fixtures qemu/setup page/build cli/view inside/testing',
    forTests: true,
  },
  {
    path: 'scripts/lessons',
    holds: 'the lessons of `vuhca view`: recordings made in process, and what to see in them',
    uses: 'layout link switch events pio transport/state adapter hosts device/topology rig/driver machine fixtures cli/view',
  },
  { path: 'scripts/cli/completion', holds: 'completion for bash and zsh', uses: 'options' },
  { path: 'scripts/cli/debugger', holds: '`vuhca break`: breakpoints in the device process', uses: 'options' },
  {
    path: 'scripts/cli/commands',
    holds: 'a file for each command: its words and what it does; long ones have a file for each',
    uses: 'layout hca/trace adapter hosts host reports control tools qemu/setup scripts/setup console options session cli/topology screens cli/trace page/build cli/view completion',
  },
  {
    path: 'scripts/cli/test',
    holds: '`vuhca test`',
    uses: 'layout function host control tools qemu/setup qemu harness scripts/setup options session screens cli/trace cli/commands console',
  },
  {
    path: 'scripts/cli/cluster-client',
    holds: 'the way to a running cluster: its folder, the messages of its supervisor, a place for a guest',
    uses: 'system control tools qemu/setup qemu options',
  },
  {
    path: 'scripts/cli/run',
    holds: '`vuhca run`',
    uses: 'device/topology tools qemu/setup qemu harness scripts/setup options session cli/topology test cluster-client',
  },
  {
    path: 'scripts/cli/cluster',
    holds: '`vuhca cluster`: several guests on one fabric, their supervisor, and the ways to them',
    uses: 'system device/topology host reports control tools qemu harness scripts/setup console options session cli/topology cluster-client run',
  },
  {
    path: 'scripts/cli',
    holds: 'the command line `vuhca`: program, entry, compiled copy',
    uses: 'options session cli/trace cli/view debugger cli/commands test run cluster',
  },
  {
    path: 'scripts/fabric',
    holds: "`npm run test:fabric`: Debian's opensm and diagnostics judge the fabric",
    uses: 'port link agents switch manager device/topology ibsim host reports control tools qemu/setup qemu session',
  },
  {
    path: 'scripts/cli/testing',
    holds: 'runs the command line for tests',
    uses: 'layout infiniband random.ts link hca/trace adapter device/topology host reports process/trace control rig/driver machine fixtures conformance live options session cli/trace cli',
    forTests: true,
  },
  {
    path: 'scripts/foreign',
    holds: 'foreign suites',
    uses: 'control tools qemu/setup qemu harness console session cli/commands test',
  },
  {
    path: 'scripts/demo',
    holds: 'demonstrations: deadlock, interrupts, quality of service, verbs',
    uses: 'layout reports control fixtures qos tools qemu/setup qemu harness guest-tests/shares scripts/setup console picture plot bench options session foreign',
  },
  {
    path: 'scripts/performance',
    holds: '`npm run bench -- --report`: figures beside their limits, their page and plots',
    uses: 'tools scripts/setup console picture plot bench foreign',
  },
  {
    path: 'scripts/pictures',
    holds: '`npm run pictures`: the pictures of docs/pictures',
    uses: 'reports tools cli/topology screens plot bench foreign demo performance',
  },
  {
    path: 'scripts/start',
    holds: '`npm start`',
    uses: 'control tools qemu scripts/setup options session screens cli/commands',
  },
];
