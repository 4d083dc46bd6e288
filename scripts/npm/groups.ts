// SPDX-License-Identifier: Apache-2.0
/**
 * The npm scripts with a choice of several programs, such as `npm run simulate -- chaos`.
 * package.json has one entry for each group; main.ts starts the chosen program.
 */

/** A program of a group. */
export interface Choice {
  /** A line for the list of programs. */
  readonly purpose: string;
  /** From the root of the repository. */
  readonly file: string;
  /** Words before those of the user. */
  readonly words?: readonly string[];
}

export interface Group {
  readonly purpose: string;
  readonly choices: Readonly<Record<string, Choice>>;
  /** The choice when the user names none. */
  readonly usual?: string;
}

/** By the name in package.json. */
export const groups: Readonly<Record<string, Group>> = {
  simulate: {
    purpose: 'Runs adapters on simulated hosts over many seeds, under an oracle.',
    choices: {
      chaos: { purpose: 'connections over bad links', file: 'scripts/simulations/chaos.ts' },
      sanitize: {
        purpose: 'drivers with planted bugs on late and disordered memory',
        file: 'scripts/simulations/sanitize.ts',
      },
      invariants: {
        purpose: 'whole adapters under random load, checked after each step',
        file: 'scripts/simulations/invariants.ts',
      },
      isolation: { purpose: 'what others see beside hostile software', file: 'scripts/simulations/isolation.ts' },
      fuzz: {
        purpose: 'malformed packets, forged management datagrams, random bytes of software',
        file: 'scripts/simulations/fuzz.ts',
      },
      switches: { purpose: 'packets through switches over bad links', file: 'scripts/simulations/switches.ts' },
      digests: {
        purpose: 'a digest of each run, to compare two checkouts',
        file: 'scripts/simulations/digests.ts',
      },
    },
  },
  bench: {
    purpose: 'Measures the adapter; without a name: adapter.',
    usual: 'adapter',
    choices: {
      adapter: { purpose: 'accesses and messages, beside the same device in C', file: 'scripts/bench/main.ts' },
      transport: { purpose: 'messages and bytes per second', file: 'scripts/bench/transport.ts' },
      fabric: { purpose: 'sweeps of the subnet manager on fat trees', file: 'scripts/bench/fabric-size.ts' },
      qos: { purpose: 'the cost of a command by functions and by lanes', file: 'scripts/bench/qos.ts' },
      personalities: {
        purpose: 'messages of mlx5 beside those of mthca, and commands',
        file: 'scripts/bench/personalities.ts',
      },
      links: { purpose: 'bytes per second and ping-pongs of links between processes', file: 'scripts/bench/links.ts' },
      switch: { purpose: 'the cost of a switch between two ports', file: 'scripts/bench/switch.ts' },
      report: {
        purpose: 'figures beside their limits, as docs/PERFORMANCE.md; `--report` is the same',
        file: 'scripts/performance/main.ts',
      },
      compile: { purpose: 'how long kernel modules take to compile', file: 'scripts/bench/compile.ts' },
    },
  },
  demo: {
    purpose: 'Shows what the adapter is for.',
    choices: {
      deadlock: { purpose: 'the deadlock of doorbells, and its cure', file: 'scripts/demo/deadlock/main.ts' },
      interrupts: {
        purpose: 'what timers and summary bytes of event queues save',
        file: 'scripts/demo/interrupts/main.ts',
      },
      qos: { purpose: 'guarantees of guests that share an adapter', file: 'scripts/demo/qos/main.ts' },
      verbs: { purpose: "Debian's RDMA programs on three adapters", file: 'scripts/demo/verbs/main.ts' },
    },
  },
  check: {
    purpose: 'Checks the repository; without a name: commit.',
    usual: 'commit',
    choices: {
      commit: { purpose: 'types, lint, and the next three', file: 'scripts/check/commit.ts' },
      style: { purpose: 'the rules of docs/CONTRIBUTING.md', file: 'scripts/check-style/main.ts' },
      layers: { purpose: 'imports, and their picture', file: 'scripts/layers/main.ts', words: ['--check'] },
      generated: { purpose: 'generated files are fresh', file: 'scripts/generate/main.ts', words: ['--check'] },
      ledger: { purpose: 'each statement has a test that passes', file: 'scripts/ledger/main.ts', words: ['--check'] },
      mutation: { purpose: 'tests notice changes of new lines', file: 'scripts/mutate/main.ts', words: ['--changed'] },
      history: { purpose: 'each commit of the branch passes types', file: 'scripts/check/history.ts' },
    },
  },
};
