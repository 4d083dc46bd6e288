// SPDX-License-Identifier: Apache-2.0
/** The frame of the page: what is looked at, its time, and the state of the connection. */
import { useEffect, useState } from 'preact/hooks';
import type { ViewSession } from '../../cli/view/view-protocol.ts';
import { client } from '../dom/client.ts';

export function Shell() {
  const [session, setSession] = useState<ViewSession>();
  useEffect(() => void client.session().then(setSession), []);
  return <h1>{session?.title}</h1>;
}
