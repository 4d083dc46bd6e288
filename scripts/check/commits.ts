// SPDX-License-Identifier: Apache-2.0
/**
 * Checks out each commit of a range into a worktree of its own, and checks its types with the
 * compiler: a commit with an import that only a later commit adds does not pass, and a bisection
 * could not use it. Called by history.ts and its test.
 */
import { existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { run, tryRun } from '../../qemu/setup/tools/command.ts';

const TSC = fileURLToPath(new URL('../../node_modules/.bin/tsc', import.meta.url));

export interface Commit {
  readonly id: string;
  readonly subject: string;
}

/** The first commit that does not pass, and the compiler's messages about it. */
export interface BadCommit extends Commit {
  readonly output: string;
}

/**
 * The first of the commits of `range`, a word for `git rev-list`, that does not pass; undefined if
 * all do. `root` is the repository, whose node_modules serve all commits. Throws SetupError when
 * git fails.
 */
export async function findBadCommit(
  root: string,
  range: string,
  onPass: (commit: Commit) => void,
): Promise<BadCommit | undefined> {
  const git = (...words: string[]): Promise<string> => run('git', words, { cwd: root, env: plainEnvironment() });
  const list = await git('log', '--reverse', '--format=%h %s', range, '--');
  const commits = list
    .split('\n')
    .filter((line) => line !== '')
    .map(readCommit);
  if (commits.length === 0) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'vuhca-history-'));
  const copy = join(folder, 'copy');
  try {
    await git('worktree', 'add', '--quiet', '--detach', copy, commits[0].id);
    if (existsSync(join(root, 'node_modules'))) symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    for (const commit of commits) {
      await git('-C', copy, 'checkout', '--quiet', '--detach', commit.id);
      const output = await checkTypes(copy, join(folder, 'state'));
      if (output !== undefined) return { ...commit, output };
      onPass(commit);
    }
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await git('worktree', 'prune');
  }
}

function readCommit(line: string): Commit {
  const [id, ...words] = line.split(' ');
  return { id, subject: words.join(' ') };
}

/** The compiler's messages, or undefined. With the file `state` it skips unchanged files. */
async function checkTypes(copy: string, state: string): Promise<string | undefined> {
  const words = [TSC, '--noEmit', '--incremental', '--tsBuildInfoFile', state, '--pretty', 'false'];
  const { status, stdout, stderr } = await tryRun(process.execPath, words, { cwd: copy });
  return status === 0 ? undefined : `${stdout}${stderr}`;
}

/** Without the variables by which git tells a hook where the repository is. */
function plainEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('GIT_')));
}
