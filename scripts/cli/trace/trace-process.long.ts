// SPDX-License-Identifier: Apache-2.0
/**
 * The story of one `ibv_post_send` of an unmodified program, in a guest with Debian's user space:
 * traced by the number of its process, shown by the queue pair number that it prints, from the
 * store to its collect page to the completion that it polls.
 */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { asStock } from '../../../guest-tests/harness/guest-image.ts';
import { type GuestRun, runGuest } from '../../../guest-tests/harness/guest-run.ts';
import { requestProgram } from '../../../guest-tests/harness/host-requests.ts';
import { report } from '../../../guest-tests/harness/report.ts';
import { ENTER_WITH_CASE, provideDistributionParts } from '../../../qemu/distribution-guest.ts';
import { provideAdapterModules } from '../../foreign/adapter-parts.ts';
import { runCli } from '../testing/run-cli.ts';

const SCRIPT = 'process-trace.sh';
const CASES = new URL('../../../guest-tests/cases/', import.meta.url);
const MEMORY_MIB = 1024;

// The session ends a guest that falls silent; no other bound holds on a busy machine.
t.setTimeout(0);

t.test('a message of a process, from the store to the completion', async (t) => {
  const told: string[] = [];
  let control: string[] = [];
  const trace = async (...words: string[]): Promise<string> => {
    const { status, stdout, stderr } = await runCli(['trace', ...words, ...control]);
    if (status !== 0) throw new Error(stderr);
    return stdout;
  };
  const run = await runScript(
    (path) => {
      control = ['--control', path];
    },
    async ([request, ...words]) => {
      if (request === 'trace') {
        for (const process of words) told.push(await trace('on', '--process', process, '--timeline'));
        return 'traced';
      }
      const qp = `${Number.parseInt(words[1] as string, 16)}`;
      told.push(await trace('status'), await trace('show', '--qp', qp), qp);
      return 'shown';
    },
  );
  report(t, run);
  const [, both, status, story, qp] = told as [string, string, string, string, string];
  t.match(both, /^QPs to come are traced: .*\d+\nQPs to come are traced: .*\d+$/m);
  t.equal(status.match(/^QP \d+ of function 0: /gm)?.length, 2, 'both queue pairs were found by their processes');
  t.match(status, new RegExp(`^QP ${qp} of function 0: `, 'm'), 'under the number that the program prints');
  const sends = story.split('\n').flatMap((line) => / us +QP \d+ sends +(.*)$/.exec(line)?.[1] ?? []);
  const steps = [
    /^first store to VCB \d+, which gets PCB \d+$/,
    /^command \d+ is whole in VCB \d+ \(the kick\)$/,
    /^command \d+ launched from lane \d+$/,
    /^SEND, signaled/,
    /^SGE: 4096 bytes at 0x[0-9a-f]+, L_Key 0x/,
    /^packet sent: RC_SEND_/,
    /^ACK up to PSN \d+ received$/,
    /^command complete: acknowledged$/,
    /^completion written to CQ \d+/,
    /^no event: CQ \d+ is not armed/,
  ];
  const places = steps.map((step) => sends.findIndex((line) => step.test(line)));
  t.ok(
    places.every((place, at) => place >= 0 && place > (places[at - 1] ?? -1)),
    'each step is told, in this order',
    { places, story },
  );
  t.match(story, /QP \d+ receives +receive WQE \d+ taken/, 'the other process is part of the story');
});

/** Runs the script in a guest; `connect` has the path of the control socket. */
async function runScript(
  connect: (path: string) => void,
  answer: (words: readonly string[]) => Promise<string>,
): Promise<GuestRun> {
  const read = (name: string): string => readFileSync(new URL(name, CASES), 'utf8');
  const parts = await provideDistributionParts(undefined, {
    hasVerbs: true,
    caseText: read(SCRIPT),
    files: [
      requestProgram('/usr/bin/adapter'),
      { path: '/etc/vuhca/stress-library.sh', content: read('stress-library.sh'), mode: 0o644 },
    ],
  });
  const job = {
    modules: [...parts.modules.map(asStock), ...(await provideAdapterModules(['vuhca']))],
    files: parts.files,
    script: { name: SCRIPT, text: ENTER_WITH_CASE },
  };
  return runGuest(job, {
    guest: { memoryMiB: MEMORY_MIB, disk: parts.disk },
    device: { arguments: ['--fabric=switch'] },
    onDevice: ({ child }) => connect(child.controlPath),
    answer,
  });
}
