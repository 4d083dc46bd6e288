// SPDX-License-Identifier: Apache-2.0
/** What apt says about packages that cannot be had becomes one sentence. */
import t from 'tap';
import { describeRefusal } from './apt-refusals.ts';

const LISTS = 'Reading package lists...\nBuilding dependency tree...\n';
const HELD = 'E: Unable to correct problems, you have held broken packages.\n';

t.test('names that do not exist', async (t) => {
  const output = `${LISTS}E: Unable to locate package nosuch\nE: Unable to locate package other\nE: Couldn't find any package by glob 'x.y'\n`;
  t.match(describeRefusal(output, 'trixie'), /^Debian trixie has no package nosuch, other; correct the name, or /);
  const gone = `${LISTS}Package gone is not available, but is referred to by another package.\n\nE: Package 'gone' has no installation candidate\n`;
  t.match(describeRefusal(gone, 'trixie'), /^Debian trixie has no package gone; /);
});

t.test('a name that stands for others', async (t) => {
  const output = `${LISTS}Package mail-transport-agent is a virtual package provided by:\n  postfix 3.10\n  exim4 4.98\nYou should explicitly select one to install.\n\nE: Package 'mail-transport-agent' has no installation candidate\n`;
  t.equal(
    describeRefusal(output, 'trixie'),
    'mail-transport-agent stands for several packages of Debian trixie; name one of them: postfix, exim4.',
  );
});

t.test('packages that exclude each other', async (t) => {
  const older = `${LISTS}The following packages have unmet dependencies:\n exim4-config : Conflicts: postfix but 3.10.13 is to be installed\n postfix : Conflicts: mail-transport-agent\n${HELD}`;
  t.equal(
    describeRefusal(older, 'trixie'),
    'these packages cannot be installed together: exim4-config conflicts with postfix; postfix conflicts with mail-transport-agent; leave one of them out.',
  );
  const newer = `${LISTS}E: Unable to satisfy dependencies. Reached two conflicting assignments:\n   1. exim4-config:amd64=4.98 is not selected for install because:\n      1. postfix:amd64=3.10 is selected for install\n   2. exim4-config:amd64=4.98 is selected for install\n`;
  t.match(
    describeRefusal(newer, 'trixie'),
    /together: exim4-config:amd64=4\.98 is not selected .*; postfix:amd64=3\.10 /,
  );
});

t.test('anything else is left to the caller', async (t) => {
  t.equal(
    describeRefusal('E: Could not open lock file /x - open (28: No space left on device)\n', 'trixie'),
    undefined,
  );
});
