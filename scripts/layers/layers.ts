// SPDX-License-Identifier: Apache-2.0
/**
 * The layers of the repository, lowest first: the folders from which each may import. Types count.
 * The tables and pictures of docs/ARCHITECTURE.md are written from this one, and `npm run check --
 * layers` enforces it.
 */
import { deviceLayers } from './device-layers.ts';
import { resolveNames } from './names.ts';
import { protocolLayers } from './protocol-layers.ts';
import { scriptLayers } from './script-layers.ts';

export const layers = resolveNames([...protocolLayers, ...deviceLayers, ...scriptLayers]);
