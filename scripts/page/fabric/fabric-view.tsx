// SPDX-License-Identifier: Apache-2.0
/**
 * The fabric: its picture, and beside it the part that the reader points at or has chosen, the
 * route between two chosen nodes, or otherwise the fabric as a whole with its subnet managers.
 */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { RouteReport } from '../../../device/process/reports/route-report.ts';
import type { ViewState } from '../../cli/view/view-protocol.ts';
import { client } from '../dom/client.ts';
import type { TabContext } from '../shell/tab.tsx';
import { modelFabric } from './fabric-model.ts';
import { LinkPanel, NodePanel, Overview, RoutePanel } from './fabric-panels.tsx';
import { FabricPicture, type Part } from './fabric-picture.tsx';
import { linksOfRoute } from './route-links.ts';
import { useLayout } from './use-layout.tsx';

export function FabricView({ view }: TabContext) {
  const { moments } = view;
  const state = moments.at(-1) as ViewState;
  const { step } = state;
  const { layout, error } = useLayout(state);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [pointed, setPointed] = useState<Part>();
  const model = useMemo(
    () => (layout === undefined ? undefined : modelFabric(state, moments[0], layout)),
    [layout, state, moments],
  );
  const route = useRoute(chosen, model === undefined ? 0 : state.timeNs, step);
  useEffect(() => {
    const forget = ({ key }: KeyboardEvent): void => (key === 'Escape' ? setChosen([]) : undefined);
    addEventListener('keydown', forget);
    return () => removeEventListener('keydown', forget);
  }, []);
  if (layout === undefined || model === undefined) return <p class="empty">{error ?? 'Placing nodes and links ...'}</p>;
  const choose = (name: string): void =>
    setChosen((before) => {
      if (before.includes(name)) return before.filter((one) => one !== name);
      return [...before, name].slice(-2);
    });
  const way = new Set(route === undefined ? [] : linksOfRoute(route, model));
  return (
    <div class="fabric">
      <FabricPicture
        {...{ layout, model, chosen, way }}
        label="The fabric: switches, adapters and links"
        onChoose={choose}
        onPoint={setPointed}
      />
      <aside class="panel" aria-label="Details">
        <Details {...{ model, chosen, pointed, route, state }} onForget={() => setChosen([])} />
      </aside>
    </div>
  );
}

function Details({
  model,
  chosen,
  pointed,
  route,
  state,
  onForget,
}: {
  model: NonNullable<ReturnType<typeof modelFabric>>;
  chosen: readonly string[];
  pointed: Part | undefined;
  route: RouteReport | undefined;
  state: ViewState;
  onForget: () => void;
}) {
  if (pointed !== undefined && 'link' in pointed) {
    const link = model.links.find(({ id }) => id === pointed.link);
    if (link !== undefined) return <LinkPanel link={link} />;
  }
  const [first, second] = chosen;
  if (second !== undefined && (pointed === undefined || !('node' in pointed)))
    return <RoutePanel from={first} to={second} route={route} onForget={onForget} />;
  const name = pointed !== undefined && 'node' in pointed ? pointed.node : first;
  const node = name === undefined ? undefined : model.nodes.get(name);
  return node === undefined ? <Overview model={model} state={state} /> : <NodePanel node={node} model={model} />;
}

const ROUTE_AGE_NS = 1e9;

/** The way between the chosen nodes; asked for again as time goes on, because tables change. */
function useRoute(chosen: readonly string[], timeNs: number, step: number | undefined): RouteReport | undefined {
  const [route, setRoute] = useState<RouteReport>();
  const [from, to] = chosen;
  const age = Math.floor(timeNs / ROUTE_AGE_NS);
  useEffect(() => {
    if (to === undefined) return setRoute(undefined);
    let isWanted = true;
    client.route({ from, to, ...(step === undefined ? {} : { step }) }).then(
      (answer) => {
        if (isWanted) setRoute(answer);
      },
      () => setRoute(undefined),
    );
    return () => {
      isWanted = false;
    };
  }, [from, to, age, step]);
  return to === undefined ? undefined : route;
}
