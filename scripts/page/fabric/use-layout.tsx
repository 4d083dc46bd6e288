// SPDX-License-Identifier: Apache-2.0
/** The places of nodes and links, which the server gives once for each wiring. */
import { useEffect, useState } from 'preact/hooks';
import type { FabricLayout, ViewState } from '../../cli/view/view-protocol.ts';
import { client } from '../dom/client.ts';
import { hasPlaces } from './fabric-model.ts';

export interface Places {
  readonly layout: FabricLayout | undefined;
  /** Reason why there is none. */
  readonly error: string | undefined;
}

/** The places for a state; requested again when a node or a link has none. */
export function useLayout(state: ViewState): Places {
  const [layout, setLayout] = useState<FabricLayout>();
  const [error, setError] = useState<string>();
  const isPlaced = layout !== undefined && hasPlaces(state, layout);
  const { step } = state;
  useEffect(() => {
    if (isPlaced) return undefined;
    let isWanted = true;
    client.layout(step === undefined ? {} : { step }).then(
      (answer) => {
        if (isWanted) setLayout(answer);
      },
      (failure: Error) => setError(failure.message),
    );
    return () => {
      isWanted = false;
    };
  }, [isPlaced, step]);
  return { layout, error };
}
