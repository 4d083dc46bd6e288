// SPDX-License-Identifier: Apache-2.0
/**
 * The script that runs a split cluster: a batch script of Slurm, or a shell script that starts each
 * machine by ssh. Each machine gets its part and its keys over the standard input of its step or
 * connection, and ends its part when that input ends, so nothing outlives the script.
 * Pure: a plan in, text out. plan.ts calls it.
 */
import { hostWord, keyFileOf, type MachinePart, type MachinePlan, NODE_KEY_FILE, type Trunk } from './machine-plan.ts';

export const PLAN_FORMATS = ['slurm', 'ssh'] as const;
export type PlanFormat = (typeof PLAN_FORMATS)[number];

export interface ScriptChoice {
  readonly format: PlanFormat;
  /** Of each machine; Slurm chooses them when absent. */
  readonly hosts?: readonly string[];
  /** Of the cluster; each machine's part has it with the number of the machine behind. */
  readonly name: string;
  /** The program `vuhca`, at the same place on all machines. */
  readonly program: string;
  /** Further words of `vuhca cluster up`. */
  readonly options: readonly string[];
}

const MEMORY_DEFAULT_MIB = 1024;
/** What QEMU, the supervisor and the adapter process need beside the memory of guests. */
const MEMORY_OF_NODE_MIB = 256;
const MEMORY_OF_MACHINE_MIB = 1024;

/** A secret that the script makes: its file, and the variable that has it in a program. */
interface PlanKey {
  readonly file: string;
  readonly variable: string;
}

/** The key of all nodes and those of these trunks. */
function keysOf(trunks: readonly Trunk[]): readonly PlanKey[] {
  const ofTrunks = trunks.map((trunk) => ({ file: keyFileOf(trunk), variable: `KEY${trunk.number}` }));
  return [{ file: NODE_KEY_FILE, variable: 'NODES_KEY' }, ...ofTrunks];
}

/** The name of the cluster that runs a part. */
export function partName(name: string, machine: number): string {
  return `${name}-${machine + 1}`;
}

export function writeScript(plan: MachinePlan, choice: ScriptChoice): string {
  return [
    '#!/bin/sh',
    ...(choice.format === 'slurm' ? slurmHeader(plan, choice) : []),
    ...describePlan(plan, choice),
    ...prologue(plan, choice),
    ...plan.parts.flatMap((part, machine) => writeProgram(plan, part, machine, choice)),
    ...epilogue(plan),
    '',
  ].join('\n');
}

/** A word for a shell. */
export function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}

function slurmHeader({ parts }: MachinePlan, { name, hosts }: ScriptChoice): string[] {
  const cpus = parts.map(({ nodes }) => 1 + nodes.reduce((sum, node) => sum + node.cpus, 0));
  const memory = parts.map(({ nodes }) =>
    nodes.reduce(
      (sum, { memoryMiB = MEMORY_DEFAULT_MIB }) => sum + memoryMiB + MEMORY_OF_NODE_MIB,
      MEMORY_OF_MACHINE_MIB,
    ),
  );
  return [
    `#SBATCH --job-name=vuhca-${name}`,
    `#SBATCH --nodes=${parts.length}`,
    '#SBATCH --ntasks-per-node=1',
    `#SBATCH --cpus-per-task=${Math.max(...cpus)}`,
    `#SBATCH --mem=${Math.max(...memory)}M`,
    ...(hosts === undefined ? [] : [`#SBATCH --nodelist=${hosts.join(',')}`]),
  ];
}

/** The split, for readers of the script. */
function describePlan({ parts, trunks }: MachinePlan, { format }: ScriptChoice): string[] {
  const call = format === 'slurm' ? 'sbatch SCRIPT' : 'sh SCRIPT';
  return [
    '#',
    `# A cluster on ${parts.length} machines, written by \`vuhca cluster plan\`. \`${call} COMMAND...\` brings it up,`,
    '# runs the command, and ends the cluster; without a command the cluster lasts until the script ends.',
    '# In the command, `on-node NODE COMMAND...` runs a command in a node, as `vuhca cluster exec` does.',
    '#',
    ...parts.map(({ nodes, free, switches }, machine) => {
      const names = (what: string, list: readonly string[]) =>
        list.length === 0 ? '' : `; ${what} ${list.join(', ')}`;
      const all = `nodes ${nodes.map((node) => node.name).join(', ')}${names('free', free)}${names('switches', switches)}`;
      return `# machine ${machine + 1}: ${all}`;
    }),
    ...trunks.map(({ number, tcpPort, listens, connects }) => {
      const [near, far] = [listens, connects].map(({ machine, port }) => `${port} of machine ${machine + 1}`);
      return `# trunk ${number}: ${near} listens at TCP port ${tcpPort}, ${far} connects`;
    }),
    '',
  ];
}

/** Functions that the script and `on-node` have in common, then the hosts and the keys. */
function prologue(plan: MachinePlan, choice: ScriptChoice): string[] {
  const count = plan.parts.length;
  return [
    'set -eu',
    `VUHCA=\${VUHCA:-${quote(choice.program)}}`,
    'folder=$(mktemp -d)',
    'trap \'rm -rf "$folder"\' EXIT',
    'export VUHCA folder',
    'say() { printf "vuhca plan: %s\\n" "$*" >&2; }',
    ...(choice.format === 'slurm' ? slurmHosts : sshHosts(choice.hosts ?? [])),
    `[ "$(wc -l <"$folder/hosts")" -eq ${count} ] || { say ${quote(`the plan is for ${count} machines`)}; exit 1; }`,
    '',
    `cat >"$folder/common" <<'END_OF_COMMON'`,
    `quote() { for word; do printf "'%s' " "$(printf '%s' "$word" | sed "s/'/'\\\\\\\\''/g")"; done; }`,
    '# A line for the shell of a machine.',
    'remote() {',
    '  host=$(sed -n "$1p" "$folder/hosts" | cut -d" " -f1)',
    `  line='[ -w "\${XDG_RUNTIME_DIR-}" ] || unset XDG_RUNTIME_DIR; '$2`,
    choice.format === 'slurm'
      ? '  srun --quiet --overlap --nodes=1 --ntasks=1 --nodelist="$host" sh -c "$line"'
      : '  ssh -o BatchMode=yes "$host" "$line"',
    '}',
    'END_OF_COMMON',
    '. "$folder/common"',
    '',
    'mkdir "$folder/bin"',
    `cat >"$folder/bin/on-node" <<'END_OF_COMMAND'`,
    '#!/bin/sh',
    '. "$folder/common"',
    'node=$1',
    'case $node in',
    ...plan.parts.map(
      ({ nodes }, machine) =>
        `  ${nodes.map((node) => node.name).join(' | ')}) machine=${machine + 1} cluster=${partName(choice.name, machine)};;`,
    ),
    '  *) echo "on-node: there is no node $node" >&2; exit 2;;',
    'esac',
    'shift',
    '[ "$1" != -- ] || shift',
    'remote "$machine" "exec $(quote "$VUHCA" cluster exec "$node" --name "$cluster" -- "$@")"',
    'END_OF_COMMAND',
    'chmod +x "$folder/bin/on-node"',
    ...keysOf(plan.trunks).map(
      ({ file }) => `od -An -N32 -tx1 /dev/urandom | tr -d ' \\n' >"$folder/${file}"; echo >>"$folder/${file}"`,
    ),
    '',
  ];
}

/** Lines `HOST ADDRESS`: the name for srun, and what other machines connect to. */
const slurmHosts = [
  'for host in $(scontrol show hostnames "$SLURM_JOB_NODELIST"); do',
  '  address=$(scontrol show node "$host" | sed -n "s/.*NodeAddr=\\([^ ]*\\).*/\\1/p")',
  `  echo "$host \${address:-$host}"`,
  'done >"$folder/hosts"',
];

function sshHosts(hosts: readonly string[]): string[] {
  const lines = hosts.map((host) => quote(`${host} ${host.replace(/^.*@/, '')}`));
  return [`printf '%s\\n' ${lines.join(' ')} >"$folder/hosts"`];
}

/** The program of a machine, with words for the addresses and keys, which its script fills in. */
function writeProgram(plan: MachinePlan, part: MachinePart, machine: number, choice: ScriptChoice): string[] {
  const name = partName(choice.name, machine);
  const keys = keysOf(
    plan.trunks.filter(({ listens, connects }) => [listens, connects].some((end) => end.machine === machine)),
  );
  const up = ['cluster', 'up', 'cluster.json', '--name', name, ...choice.options].map(quote).join(' ');
  const words = plan.parts.map(
    (_, number) => `-e "s/${hostWord(number)}/$(sed -n '${number + 1}s/.* //p' "$folder/hosts")/g"`,
  );
  return [
    `cat >"$folder/part${machine + 1}" <<'END_OF_PART'`,
    'set -eu',
    'umask 077',
    'folder=$(mktemp -d)',
    'up= watch=',
    'end() {',
    "  trap '' HUP INT PIPE TERM",
    '  kill $up $watch 2>/dev/null || :',
    '  wait',
    `  "$VUHCA" cluster down --name ${name} >/dev/null 2>&1 || :`,
    '  rm -rf "$folder"',
    '}',
    'trap end EXIT',
    "trap 'exit 1' HUP INT PIPE TERM",
    'cd "$folder"',
    ...keys.map(({ file, variable }) => `echo "$${variable}" >${file}`),
    "cat >cluster.json <<'END_OF_FILE'",
    JSON.stringify(part.file, undefined, 2),
    'END_OF_FILE',
    'exec 3<&0',
    `"$VUHCA" ${up} </dev/null >&2 3<&- &`,
    'up=$!',
    '# The end of the input is that of the script which has started this.',
    '{ read -r word; kill $$; } <&3 >/dev/null 2>&1 &',
    'watch=$!',
    'wait $up',
    'up=',
    'echo up',
    'wait',
    'END_OF_PART',
    '{',
    '  echo "VUHCA=$(quote "$VUHCA")"',
    ...keys.map(({ file, variable }) => `  echo "${variable}=$(cat "$folder/${file}")"`),
    `  sed ${words.join(' ')} "$folder/part${machine + 1}"`,
    `} >"$folder/program${machine + 1}"`,
    '',
  ];
}

/** Starts all machines, waits until all are up, runs the command, and ends all. */
function epilogue({ parts, trunks }: MachinePlan): string[] {
  const machines = parts.map((_, machine) => machine + 1);
  return [
    'mkfifo "$folder/hold" "$folder/said"',
    '# Machines wait for the end of `hold`, which has no writer but this shell.',
    'exec 9<>"$folder/hold" 8<>"$folder/said" 7<"$folder/hold"',
    'finish() {',
    '  exec 9>&- 7<&-',
    '  wait',
    '  rm -rf "$folder"',
    '}',
    'trap finish EXIT',
    "trap 'exit 130' INT",
    "trap 'exit 143' HUP TERM",
    'start() {',
    '  length=$(wc -c <"$folder/program$1")',
    '  # A redirection of the whole group would keep what it closes.',
    '  { exec 8>&- 9>&-; cat "$folder/program$1"; cat <&7; } |',
    `    { exec 7<&- 8>&- 9>&-; remote "$1" "exec sh -c 'eval \\"\\$(head -c $length)\\"'"; } |`,
    '    {',
    '      exec 7<&- 9>&-',
    '      read -r word && echo "up $1" >&8',
    '      cat >/dev/null',
    '      echo "lost $1" >&8',
    '    } &',
    '}',
    `for machine in ${machines.join(' ')}; do start "$machine"; done`,
    `for machine in ${machines.join(' ')}; do`,
    '  read -r word number <&8',
    '  [ "$word" = up ] || { say "machine $number has not come up"; exit 1; }',
    'done',
    `say ${quote(`all ${parts.length} machines are up, with ${trunks.length} trunks`)}`,
    'PATH=$folder/bin:$PATH',
    'export PATH',
    'if [ $# -gt 0 ]; then',
    '  status=0',
    '  "$@" 7<&- 8>&- 9>&- || status=$?',
    '  exit "$status"',
    'fi',
    'read -r word number <&8',
    'say "machine $number has ended"',
    'exit 1',
  ];
}
