// SPDX-License-Identifier: Apache-2.0
/**
 * The messages of a traced queue pair: pick one, and see it at both ends as a sequence diagram with
 * the sentences of `vuhca trace show`. For a running process the list is read repeatedly.
 */
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Story, StoryList } from '../../cli/view/view-protocol.ts';
import { client } from '../dom/client.ts';
import { StoryDiagram } from './story-diagram.tsx';
import { chooseQueuePair, findStory, keyOfStory, splitLine, standOf } from './story-text.ts';

interface StoryProps {
  readonly adapter: string;
  /** Of a recording: messages up to this step. */
  readonly step?: number | undefined;
  /** Adapter time of the shown state. */
  readonly timeNs: number;
}

/** Time of the adapter between two readings of a list. */
const AGAIN_NS = 1e9;

export function StoryView({ adapter, step, timeNs }: StoryProps) {
  const [wanted, setWanted] = useState(0);
  const [chosen, setChosen] = useState<string>();
  const { list, error } = useStories(adapter, wanted, step, timeNs);
  const qp = list === undefined ? wanted : chooseQueuePair(list, wanted);
  useEffect(() => setWanted(qp), [qp]);
  if (error !== undefined) return <p class="nothing">{error}</p>;
  if (list === undefined) return <p class="nothing">Reading the trace of {adapter}</p>;
  const story = findStory(list.stories, chosen);
  return (
    <div class="stories">
      <nav aria-label="Messages">
        {list.queuePairs.length > 0 && (
          <label>
            Queue pair{' '}
            <select value={qp} onChange={({ currentTarget: { value } }) => setWanted(Number(value))}>
              {list.queuePairs.map((number) => (
                <option key={number} value={number}>{`QP ${number}`}</option>
              ))}
            </select>
          </label>
        )}
        <ol>
          {list.stories.toReversed().map((one) => (
            <StoryButton key={keyOfStory(one)} story={one} isChosen={one === story} onChoose={setChosen} />
          ))}
        </ol>
      </nav>
      {story === undefined ? <p class="nothing">{list.reason}</p> : <ToldStory story={story} />}
    </div>
  );
}

interface ButtonProps {
  readonly story: Story;
  readonly isChosen: boolean;
  onChoose(key: string): void;
}

function StoryButton({ story, isChosen, onChoose }: ButtonProps) {
  return (
    <li>
      <button
        type="button"
        class={`story ${standOf(story)}`}
        aria-current={isChosen}
        onClick={() => onChoose(keyOfStory(story))}
      >
        <span>{story.title.replace(/:[^:]*$/, '')}</span>
        <b>{story.outcome}</b>
      </button>
    </li>
  );
}

function ToldStory({ story }: { readonly story: Story }) {
  // A diagram of thousands of packets is drawn once, however often the page is.
  const diagram = useMemo(() => <StoryDiagram story={story} />, [story]);
  return (
    <article aria-label={story.title}>
      <h3>{story.title}</h3>
      {diagram}
      <table class="sentences" aria-label="Steps">
        <tbody>
          {story.lines.map(splitLine).map(({ time, text }, place) => (
            <tr key={place}>
              <td>{time === undefined ? '' : `${time} us`}</td>
              <td>{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </article>
  );
}

interface Stories {
  readonly list?: StoryList;
  readonly error?: string;
}

/** The stories of a queue pair, read anew when it, the step or a second of adapter time changes. */
function useStories(adapter: string, qp: number, step: number | undefined, timeNs: number): Stories {
  const [stories, setStories] = useState<Stories>({});
  const read = useRef({ key: '', timeNs: 0, isReading: false });
  const key = `${adapter} ${qp} ${step ?? ''}`;
  useEffect(() => {
    const last = read.current;
    const isDue = last.key !== key || (!last.isReading && Math.abs(timeNs - last.timeNs) >= AGAIN_NS);
    if (!isDue) return;
    const now = { key, timeNs, isReading: true };
    read.current = now;
    const show = (next: Stories): void => {
      now.isReading = false;
      // An answer that arrives after a newer request is not shown.
      if (read.current === now) setStories(next);
    };
    client.stories({ adapter, qp, ...(step === undefined ? {} : { step }) }).then(
      (list) => show({ list }),
      (error: Error) => show({ error: error.message }),
    );
  }, [key, timeNs]);
  return stories;
}
