// SPDX-License-Identifier: Apache-2.0
/**
 * The options and the help of `vuhca cluster`: several guests on one fabric, by name. program.ts
 * loads them when the command is called; cluster-action.ts performs it.
 */
import { Option } from 'commander';
import type { TcgThread } from '../../../qemu/guest-options.ts';
import { adapterOption } from '../options/adapter-arguments.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { actionArgument, doorOption, packagesOption, wholeNumber } from '../options/option-values.ts';
import { type Personality, personalityWords } from '../options/personality.ts';
import { PLAN_FORMATS, type PlanFormat } from './machine-script.ts';

const ACTIONS = [
  ...['up', 'list', 'exec', 'copy', 'shell', 'log'],
  ...['stop', 'start', 'cut', 'mend', 'fault', 'down', 'test', 'plan'],
] as const;
export type ClusterAction =
  | 'up'
  | 'list'
  | 'exec'
  | 'copy'
  | 'shell'
  | 'log'
  | 'stop'
  | 'start'
  | 'cut'
  | 'mend'
  | 'fault'
  | 'down'
  | 'test'
  | 'plan';

/** The values of the options. */
export interface ClusterArguments {
  readonly name?: string;
  readonly nodes?: number;
  readonly fabric?: string;
  readonly personality: Personality;
  readonly packages?: readonly string[];
  readonly disk?: string;
  /** In MiB. */
  readonly memory?: number;
  readonly cpus: number;
  readonly tcgThread: TcgThread;
  readonly kernel?: string;
  readonly record?: string;
  readonly ibsim?: number;
  readonly spin: string;
  /** In seconds. */
  readonly timeout: number;
  readonly all?: boolean;
  readonly json?: boolean;
  readonly junit?: string;
  readonly logs?: string;
  readonly machines?: number;
  readonly nodesPerMachine?: number;
  readonly format?: PlanFormat;
  readonly hosts?: string;
  readonly port: number;
}

const NODES_MAX = 1000;
const MEMORY_MIN_MIB = 256;
const MEMORY_MAX_MIB = 1 << 20;
const CPUS_MAX = 64;
const PORT_MAX = 65_535;
const SECONDS_MAX = 86_400;
/** A booting guest that says nothing for so long does not boot. */
const SILENCE_SECONDS = 600;

export function defineCluster(command: CliCommand): void {
  command
    .addArgument(actionArgument(ACTIONS))
    .argument('[WORD...]', 'up, test, plan: a FILE; copy: SOURCE TARGET; cut, mend, fault: a link; others: nodes')
    .takeRest('COMMAND')
    .usage('ACTION [WORD...] [options] [-- COMMAND...]')
    .option('--name <NAME>', 'The cluster (default: $VUHCA_CLUSTER, or default)')
    .option('--json', 'list: prints JSON')
    .option('--all', 'exec: in all nodes at once; copy: to all of them')
    .optionsGroup('Options of up, test and plan:')
    .addOption(wholeNumber('--nodes <N>', 'Nodes node1, node2, ... (default: 2)', 1, NODES_MAX))
    .option('--fabric <RULE>', 'star, ring, fat-tree, or a topology file; see docs/TOPOLOGY.md (default: star)')
    .addOption(
      new Option('--personality <NAME>', 'Which adapter nodes have; see docs/verbs/PERSONALITIES.md')
        .choices(personalityWords)
        .default('mlx5'),
    )
    .addOption(packagesOption())
    .option('--disk <FILE>', 'A disk image that nodes boot from and leave as it is; docs/CLUSTER.md says what it needs')
    .addOption(wholeNumber('--memory <MIB>', 'Memory of a node (default: 1024)', MEMORY_MIN_MIB, MEMORY_MAX_MIB))
    .addOption(wholeNumber('--cpus <N>', 'Processors of a node', 1, CPUS_MAX).default(1))
    .addOption(adapterOption('--tcg-thread'))
    .option('--kernel <FILE>', "Debian's trixie, bookworm, backports (default: trixie)")
    .option('--record <FILE>', 'Records the adapters, for `vuhca replay`')
    .addOption(doorOption())
    .addOption(adapterOption('--spin'))
    .addOption(
      wholeNumber('--timeout <S>', 'Seconds without a sign of life that end a booting node', 1, SECONDS_MAX).default(
        SILENCE_SECONDS,
      ),
    )
    .optionsGroup('Options of test:')
    .option('--junit <FILE>', 'Writes the results as JUnit XML')
    .option('--logs <FOLDER>', 'Keeps the logs of all nodes')
    .optionsGroup('Options of plan:')
    .addOption(wholeNumber('--machines <M>', 'Machines that run the cluster together', 1, NODES_MAX))
    .addOption(wholeNumber('--nodes-per-machine <N>', 'Nodes on each of them', 1, NODES_MAX))
    .addOption(new Option('--format <FORMAT>', 'What starts them').choices(PLAN_FORMATS))
    .option('--hosts <LIST>', 'Their names, with commas between; Slurm chooses machines without it')
    .addOption(wholeNumber('--port <N>', 'TCP port of the first link between machines', 1, PORT_MAX).default(7471))
    .addNotes(
      'up         starts nodes and their fabric in the background, and returns when they reach each other',
      'list       nodes with their states, addresses, LIDs, GUIDs, sockets and logs',
      'exec       runs a command in nodes; one word is a line for the shell, several are a program and its words',
      'copy       carries files and folders: NODE:PATH is a place in a node',
      'shell      a terminal in a node',
      'log        what a node, or without one the cluster, has said',
      'stop       powers nodes off; start starts them again',
      'cut, mend  pulls out a cable, and plugs it in: NODE, NODE:PORT or SWITCH:PORT',
      'fault      gives a link faults and properties, as `vuhca link set`',
      'down       ends all of it',
      'test       up, the command behind -- on this machine, down; the status is that of the command',
      'plan       prints a script that runs the cluster on several machines, by Slurm or ssh',
      '',
      'Nodes have Debian with its RDMA programs and know each other by name; ssh leads from one to another.',
      '`vuhca status`, `view`, `fabric`, `capture` and others show the adapters. docs/CLUSTER.md is an introduction.',
    )
    .addExample('vuhca cluster up --nodes 4', 'four nodes at a switch')
    .addExample('vuhca cluster exec --all -- ibstat', 'a command in all of them')
    .addExample('vuhca cluster exec node1 -- ibping -c 3 -L 5', 'and in one')
    .addExample('vuhca cluster copy program node1:/root/', 'a file for a node')
    .addExample('vuhca cluster fault node1 drop=0.01', 'a bad cable')
    .addExample('vuhca cluster stop node2', 'a node fails')
    .addExample('vuhca cluster down', 'the end of all')
    .addExample('vuhca cluster plan c.json --machines 2 --nodes-per-machine 2 --format slurm >job', 'for two machines')
    .addExample('vuhca cluster test cluster.json -- ./my-test.sh', 'the whole of it, for CI');
}
