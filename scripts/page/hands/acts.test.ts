// SPDX-License-Identifier: Apache-2.0
/** Forms make requests that a command line can make, and none while a field is empty. */
import t from 'tap';
import { FORMS, formsFor, type Values } from './acts.ts';
import { previewLine } from './preview.ts';

const CONTROL = '/run/vuhca/control';
/** A value for each field, and the command line with all of them. */
const EXAMPLES: Readonly<Record<string, readonly [values: Values, line: string]>> = {
  down: [{ port: 'a:1' }, 'vuhca link down a:1'],
  up: [{ port: 'a:1' }, 'vuhca link up a:1'],
  faults: [
    { port: 's:3', drop: '0.01', corrupt: '1', seed: '7', delayNs: '500' },
    'vuhca link set s:3 drop=0.01 corrupt=1 delayNs=500 seed=7',
  ],
  resources: [{ words: ' function 1  vcbs=25 ' }, 'vuhca resources set function 1 vcbs=25 --adapter=a'],
  inject: [{ fault: 'lost-commands', words: 'count=2' }, 'vuhca inject lost-commands count=2 --adapter=a'],
  'trace-on': [{ qp: '5' }, 'vuhca trace on --adapter=a --qp=5'],
  'trace-new': [{}, 'vuhca trace on --adapter=a --new'],
  'trace-off': [{ qp: '5' }, 'vuhca trace off --adapter=a --qp=5'],
  'capture-start': [
    { path: '/tmp/a b', port: '1', direction: 'sent', count: '9' },
    "vuhca capture '--output=/tmp/a b' --adapter=a --port=1 --direction=sent --count=9",
  ],
  'capture-stop': [{}, '# Ctrl-C ends `vuhca capture`'],
};

t.test('each form has a command line that does the same', async (t) => {
  t.same(FORMS.map(({ id }) => id).sort(), Object.keys(EXAMPLES).sort());
  for (const form of FORMS) {
    const [values, line] = EXAMPLES[form.id];
    const act = form.act(values, 'a');
    const shown = act && previewLine(act, CONTROL);
    t.equal(shown, line.startsWith('#') ? line : `${line} --control=${CONTROL}`, form.id);
  }
});

t.test('without a field that it needs a form does nothing; what the server would refuse has no line', async (t) => {
  for (const form of FORMS) {
    const isFree = form.fields.length === 0;
    t.equal(form.act({}, 'a') === undefined, !isFree, form.id);
  }
  const faults = FORMS.find(({ id }) => id === 'faults');
  t.equal(faults?.act({ port: 'a:1' }, 'a'), undefined, 'no fault');
  const resources = FORMS.find(({ id }) => id === 'resources');
  const act = resources?.act({ words: '--json' }, undefined);
  t.equal(act && previewLine(act, CONTROL), undefined);
});

t.test('faults are injected into personalities only, and only others have shares', async (t) => {
  const idsOf = (personality?: string): string[] => formsFor(personality).map(({ id }) => id);
  t.ok(idsOf().includes('resources') && !idsOf().includes('inject'));
  t.ok(idsOf('mlx5').includes('inject') && !idsOf('mlx5').includes('resources'));
  t.ok(idsOf('mlx5').includes('down'));
});
