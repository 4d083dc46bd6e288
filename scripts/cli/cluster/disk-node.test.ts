// SPDX-License-Identifier: Apache-2.0
/** The credentials by which the systemd of a disk gets the service of a node. */
import t from 'tap';
import { credentialArguments } from './disk-node.ts';

const WORD = /^type=11,value=io\.systemd\.credential\.binary:([\w.-]+)=([\w+/]+=*)$/;

t.test('a unit that is wanted, and the scripts that it loads', async (t) => {
  const words = credentialArguments().filter((word) => word !== '-smbios');
  const contents = new Map(
    words.map((word) => {
      const [, name, bytes] = WORD.exec(word) ?? [];
      return [name, Buffer.from(bytes, 'base64').toString()];
    }),
  );
  const units = [...contents].filter(([name]) => name.startsWith('systemd.extra-unit.'));
  t.equal(units.length, 1);
  const [[name, unit]] = units;
  const service = name.replace('systemd.extra-unit.', '');
  t.match(contents.get('systemd.unit-dropin.multi-user.target'), `[Unit]\nWants=${service}\n`);
  const loaded = [...unit.matchAll(/^LoadCredential=(.*)$/gm)].map(([, one]) => one);
  t.same(
    loaded,
    [...contents.keys()].filter((one) => one.startsWith('vuhca.')),
  );
  const [, started] = /^ExecStart=\/bin\/sh %d\/(.*)$/m.exec(unit) ?? [];
  const script = contents.get(started) ?? '';
  // The script calls the others where systemd has put them.
  for (const [, called] of script.matchAll(/\$CREDENTIALS_DIRECTORY\/([\w.-]+)/g))
    t.ok(loaded.includes(called), called);
  t.ok(loaded.every((one) => one === started || script.includes(`/${one}"`)));
});
