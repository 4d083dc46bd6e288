// SPDX-License-Identifier: Apache-2.0
/**
 * The commands of `vuhca`, as a tree for commander. A command's options and help, and the code that
 * performs it, are loaded only when the command is called, so that `vuhca --help` stays quick: a
 * file with both imports that code when it performs the command. Called by main.ts and tests.
 */
import { CliCommand } from './options/cli-command.ts';
import { readVersion } from './options/version.ts';
import { describeStatuses } from './session/exit-statuses.ts';

/** Performs a command whose words have been read; resolves with the exit status. */
export type Performer = (command: CliCommand) => Promise<number>;
/** Adds arguments, options and help to a command. */
type Definer = (command: CliCommand) => void;

interface Entry {
  readonly name: string;
  /** A line for the list of commands. */
  readonly summary: string;
  define(): Promise<Definer>;
  perform(): Promise<Performer>;
}

const entries: readonly Entry[] = [
  {
    name: 'run',
    summary: 'runs a guest with an adapter: yours, or one with our driver',
    define: async () => (await import('./run/run-command.ts')).defineRun,
    perform: async () => (await import('./run/run-action.ts')).performRun,
  },
  {
    name: 'test',
    summary: 'tests kernel modules in a guest with an adapter',
    define: async () => (await import('./test/test-command.ts')).defineTest,
    perform: async () => (await import('./test/test-action.ts')).performTest,
  },
  {
    name: 'device',
    summary: 'runs an adapter that a QEMU guest can attach',
    define: async () => (await import('./commands/device-command.ts')).defineDevice,
    perform: async () => (await import('./commands/device-action.ts')).performDevice,
  },
  {
    name: 'cluster',
    summary: 'runs several guests on one fabric, by name',
    define: async () => (await import('./cluster/cluster-command.ts')).defineCluster,
    perform: async () => (await import('./cluster/cluster-action.ts')).performCluster,
  },
  {
    name: 'topology',
    summary: 'shows a topology file as text or as a picture',
    define: async () => (await import('./commands/topology.ts')).defineTopology,
    perform: async () => (await import('./commands/topology.ts')).performTopology,
  },
  {
    name: 'status',
    summary: 'shows what a running adapter is doing',
    define: async () => (await import('./commands/status-command.ts')).defineStatus,
    perform: async () => (await import('./commands/status-action.ts')).performStatus,
  },
  {
    name: 'top',
    summary: 'shows what each function of an adapter does per second',
    define: async () => (await import('./commands/status-command.ts')).defineTop,
    perform: async () => (await import('./commands/status-action.ts')).performTop,
  },
  {
    name: 'show',
    summary: 'lists what the buffers, lists and queues of an adapter hold',
    define: async () => (await import('./commands/show.ts')).defineShow,
    perform: async () => (await import('./commands/show.ts')).performShow,
  },
  {
    name: 'fabric',
    summary: 'shows the subnet: nodes, LIDs, links, states, errors, manager',
    define: async () => (await import('./commands/fabric.ts')).defineFabric,
    perform: async () => (await import('./commands/fabric.ts')).performFabric,
  },
  {
    name: 'resources',
    summary: 'shows or changes how the resources of an adapter are divided',
    define: async () => (await import('./commands/resources.ts')).defineResources,
    perform: async () => (await import('./commands/resources.ts')).performResources,
  },
  {
    name: 'capture',
    summary: 'writes the packets of an adapter to a file for Wireshark',
    define: async () => (await import('./commands/capture-command.ts')).defineCapture,
    perform: async () => (await import('./commands/capture-action.ts')).performCapture,
  },
  {
    name: 'trace',
    summary: 'traces messages of queue pairs and the steps of the adapter',
    define: async () => (await import('./trace/trace-command.ts')).defineTrace,
    perform: async () => (await import('./commands/trace-action.ts')).performTrace,
  },
  {
    name: 'explain',
    summary: 'explains errors of completions and failed queue pairs',
    define: async () => (await import('./commands/explain-command.ts')).defineExplain,
    perform: async () => (await import('./commands/explain-action.ts')).performExplain,
  },
  {
    name: 'inject',
    summary: 'plants faults in a device with a stock driver',
    define: async () => (await import('./commands/inject.ts')).defineInject,
    perform: async () => (await import('./commands/inject.ts')).performInject,
  },
  {
    name: 'link',
    summary: 'lists, cuts, plugs in and changes links of a running process',
    define: async () => (await import('./commands/link.ts')).defineLink,
    perform: async () => (await import('./commands/link.ts')).performLink,
  },
  {
    name: 'step',
    summary: 'moves an adapter that stands still, step by step',
    define: async () => (await import('./commands/step.ts')).defineStep,
    perform: async () => (await import('./commands/step.ts')).performStep,
  },
  {
    name: 'replay',
    summary: 'runs a recorded session again and checks that it is identical',
    define: async () => (await import('./commands/replay-command.ts')).defineReplay,
    perform: async () => (await import('./commands/replay-action.ts')).performReplay,
  },
  {
    name: 'view',
    summary: 'shows a running adapter and its fabric in a browser',
    define: async () => (await import('./commands/view-command.ts')).defineView,
    perform: async () => (await import('./commands/view-action.ts')).performView,
  },
  {
    name: 'setup',
    summary: 'prepares libvfio-user, QEMU and a guest ahead of time',
    define: async () => (await import('./commands/setup.ts')).defineSetup,
    perform: async () => (await import('./commands/setup.ts')).performSetup,
  },
  {
    name: 'break',
    summary: 'stops a running adapter at a line of its source',
    define: async () => (await import('./debugger/break-command.ts')).defineBreak,
    perform: async () => (await import('./debugger/break-action.ts')).performBreak,
  },
  {
    name: 'completion',
    summary: 'prints a completion script for bash or zsh',
    define: async () => (await import('./commands/completion.ts')).defineCompletion,
    perform: async () => {
      const { performCompletion } = await import('./commands/completion.ts');
      return async (command) => performCompletion(command, await defineCommands(command.parent as CliCommand));
    },
  },
  {
    name: 'help',
    summary: 'shows the help of a command',
    define: async () => (command) => command.argument('[COMMAND]'),
    perform: async () => showHelp,
  },
];

/**
 * The program. A call of a command ends in `perform`, with the command and a function that loads
 * its code. Parsing rejects with UsageError for mistakes, and with commander's CommanderError when
 * it has printed help.
 */
export function makeProgram(perform: (command: CliCommand, load: Entry['perform']) => Promise<void>): CliCommand {
  const program = new CliCommand('vuhca')
    .description('An InfiniBand host channel adapter in user space, for QEMU guests over vfio-user')
    .usage('COMMAND [OPTION...]')
    .enablePositionalOptions()
    .helpCommand(false)
    .helpOption('-h, --help', 'Prints this help')
    .version(readVersion(), '--version', 'Prints the version')
    .exitOverride()
    .configureHelp({
      optionTerm: ({ flags, presetArg }) => (presetArg === undefined ? flags : flags.replace(' [', '[=')),
      subcommandTerm: (command) => command.name(),
    })
    .addExample('vuhca run', 'a shell in a guest with the adapter and its driver')
    .addExample('vuhca status', 'its state, from another terminal')
    .addExample('vuhca help run', 'the options of a command');
  program.addNotes('NODE_OPTIONS reaches Node. docs/DEBUGGING.md shows debuggers at work.');
  for (const entry of entries) {
    const command = program.command(entry.name).summary(entry.summary);
    command.action(() => perform(command, entry.perform));
  }
  program.hook('preSubcommand', (_program, command) => defineCommand(command as CliCommand));
  return program;
}

/** All commands of the program, with their arguments, options and help. */
export async function defineCommands(program: CliCommand): Promise<readonly CliCommand[]> {
  const commands = program.commands as readonly CliCommand[];
  for (const command of commands) await defineCommand(command);
  return commands;
}

const defined = new WeakSet<CliCommand>();

async function defineCommand(command: CliCommand): Promise<void> {
  const entry = entries.find(({ name }) => name === command.name());
  if (entry === undefined || defined.has(command)) return;
  defined.add(command);
  const define = await entry.define();
  command.description(`${entry.summary[0].toUpperCase()}${entry.summary.slice(1)}.`);
  define(command);
  command.addNotes(...describeStatuses(entry.name));
  // commander saves defaults when parsing begins, before the hook.
  command.saveStateBeforeParse();
}

/** `vuhca help COMMAND` is `vuhca COMMAND --help`. */
async function showHelp(command: CliCommand): Promise<number> {
  await command.parent?.parseAsync([...command.args, '--help'], { from: 'user' });
  return 0;
}
