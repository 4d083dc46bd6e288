// SPDX-License-Identifier: Apache-2.0
/**
 * Hands: the actions of the control socket, as forms. Each shows the command line that does the
 * same, before and after. Only shown where the page may act.
 */
import { useState } from 'preact/hooks';
import type { ActAnswer, ViewState } from '../../cli/view/view-protocol.ts';
import { client } from '../dom/client.ts';
import type { TabContext } from '../shell/tab.tsx';
import { type Field, type Form, formsFor, type Values } from './acts.ts';
import { previewLine } from './preview.ts';

/** Of fields for numbers; the process checks the rest. */
const NUMBER = '[0-9.]+(e[0-9]+)?';

export function HandsView({ view, session, adapter }: TabContext) {
  const { personality } = session.adapters.find(({ name }) => name === adapter) ?? {};
  const links = listLinks(view.moments.at(-1) as ViewState);
  return (
    <div class="hands">
      {formsFor(personality).map((form) => (
        <ActForm key={form.id} {...{ form, links, adapter }} control={session.title} />
      ))}
    </div>
  );
}

function ActForm({
  form,
  links,
  adapter,
  control,
}: {
  form: Form;
  links: readonly string[];
  adapter: string | undefined;
  control: string;
}) {
  const [values, setValues] = useState<Values>({});
  const [answer, setAnswer] = useState<ActAnswer>();
  const [isBusy, setBusy] = useState(false);
  const act = form.act(values, adapter);
  const preview = act === undefined ? undefined : previewLine(act, control);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (act === undefined) return;
    setBusy(true);
    try {
      setAnswer(await client.act(act));
    } catch (error) {
      setAnswer({ line: '', error: (error as Error).message });
    }
    setBusy(false);
  };
  return (
    <form class="act" aria-labelledby={`act-${form.id}`} onSubmit={submit}>
      <h2 id={`act-${form.id}`}>{form.title}</h2>
      <p class="muted">{form.purpose}</p>
      <div class="fields">
        {form.fields.map((field) => (
          <Input
            key={field.name}
            {...{ field, links }}
            value={values[field.name] ?? ''}
            onChange={(text) => setValues((before) => ({ ...before, [field.name]: text }))}
          />
        ))}
      </div>
      {preview !== undefined && <code class="command">{preview}</code>}
      <button type="submit" class="primary" disabled={act === undefined || isBusy}>
        {form.verb}
      </button>
      <output aria-live="polite">{answer !== undefined && <Answer answer={answer} />}</output>
    </form>
  );
}

function Answer({ answer }: { answer: ActAnswer }) {
  if ('error' in answer) return <p class="alarm">{answer.error}</p>;
  return <p class="done">{sentenceOf(answer.result)}</p>;
}

/** Results of some requests have a sentence; of others it is enough that there is one. */
function sentenceOf(result: unknown): string {
  const { text, path, packets } = (result ?? {}) as { text?: unknown; path?: unknown; packets?: unknown };
  if (typeof text === 'string') return text;
  if (typeof path === 'string') return `${path}: ${packets} packets`;
  return 'done';
}

function Input({
  field: { name, label, kind, choices = [], hint = '' },
  links,
  value,
  onChange,
}: {
  field: Field;
  links: readonly string[];
  value: string;
  onChange: (text: string) => void;
}) {
  if (kind === 'link' || kind === 'choice') {
    const options = kind === 'link' ? links : choices;
    return (
      <label>
        {label}
        <select name={name} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
          <option value="" />
          {options.map((option) => (
            <option key={option} value={option.split(' – ')[0]}>
              {option}
            </option>
          ))}
        </select>
      </label>
    );
  }
  const isNumber = kind === 'number';
  return (
    <label class={isNumber ? 'short' : 'long'}>
      {label}
      <input
        name={name}
        inputMode={isNumber ? 'decimal' : 'text'}
        pattern={isNumber ? NUMBER : undefined}
        value={value}
        placeholder={hint}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </label>
  );
}

/** `a:1 – s:2`; those that are cut are in the list of links only. */
function listLinks({ links, fabric }: ViewState): string[] {
  if (links !== undefined) return links.map(({ ends }) => ends.join(' – '));
  return fabric.nodes.flatMap(({ name, ports }) =>
    ports.flatMap(({ number, link }) =>
      link?.peer !== undefined && (link.peer === 'elsewhere' || `${name}:${number}` < link.peer)
        ? [`${name}:${number} – ${link.peer}`]
        : [],
    ),
  );
}
