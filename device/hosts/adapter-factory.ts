// SPDX-License-Identifier: Apache-2.0
/** How hosts build an adapter: in the in-process machine the real one, or one a test has tampered with; in a replay from the options of the recording. */

import type { AdapterOptions } from '../adapter/options.ts';
import type { AdapterClock, AdapterPort, HostPort } from '../host.ts';

/** Builds an adapter with one function per host. */
export type AdapterFactory = (options: AdapterOptions, clock: AdapterClock, hosts: HostPort[]) => AdapterPort;
