// SPDX-License-Identifier: Apache-2.0
/**
 * `vuhca link` cuts, plugs in or changes a link of a running process, or lists its links.
 */

import type { ControlClient } from '../../../device/process/control/control-client.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { controlOption } from '../options/option-values.ts';
import { UsageError } from '../options/usage-error.ts';

/** The values of the options. */
export interface LinkArguments {
  readonly control?: string;
  readonly json?: boolean;
}

export function defineLink(command: CliCommand): void {
  command
    .argument('[VERB]', 'down, up or set; without it the links are listed')
    .argument('[PORT]', 'One end of the link, NODE:PORT; of a lone adapter the number suffices')
    .argument('[PROPERTY...]', 'For set: KEY=VALUE')
    .addOption(controlOption())
    .option('--json', 'Prints the list as JSON')
    .addNotes(
      '  down, up     pulls the cable out, and plugs it in again',
      '  drop, duplicate, reorder, corrupt, delay',
      '               probability of the fault for a packet; seed draws them',
      '  bitsPerSecond, delayNs, mtuBytes, lateNs, reorderNs, reorderWindow',
      '               as in a topology file (docs/TOPOLOGY.md)',
      'A plain cable that gets properties goes down and trains once; a link that has some stays up. Of a link to',
      'another process it is what goes out by this end. A recording has the changes, and its replay repeats them.',
    )
    .addExample('vuhca link', 'all links with their state and packets')
    .addExample('vuhca link down a:1', 'the link at port 1 of node a goes down')
    .addExample('vuhca link set leaf1:3 drop=0.01 seed=7', 'a link that loses one packet of a hundred')
    .addExample('vuhca link set a:1 bitsPerSecond=1e9 delayNs=5000', 'a slow and long one');
}

const VERBS: readonly string[] = ['down', 'up', 'set'];

export async function performLink(command: CliCommand): Promise<number> {
  const [verb, port, properties] = command.processedArgs as [string | undefined, string | undefined, string[]];
  const { control, json = false } = command.opts<LinkArguments>();
  if (verb !== undefined && !VERBS.includes(verb))
    throw new UsageError(`argument VERB is ${verb}; it must be ${VERBS.slice(0, -1).join(', ')} or ${VERBS.at(-1)}`);
  if (verb !== undefined && port === undefined) throw new UsageError(`link ${verb} needs a port: NODE:PORT`);
  const { withAdapter } = await import('../session/with-adapter.ts');
  const text = await withAdapter(control, (client) =>
    verb === undefined
      ? listLinks(client, json)
      : changeLink(client, port, [verb, ...properties.flatMap((word) => word.split(','))]),
  );
  process.stdout.write(text);
  return 0;
}

async function changeLink(client: ControlClient, port: string | undefined, words: readonly string[]): Promise<string> {
  const { text } = await client.request('link', { port, words });
  return `${text}\n`;
}

async function listLinks(client: ControlClient, json: boolean): Promise<string> {
  const { links } = await client.request('status');
  if (json) return `${JSON.stringify(links)}\n`;
  if (links.length === 0) return 'no port has a link\n';
  const { describeLink } = await import('../screens/status-screen.ts');
  const text = `${links.map(describeLink).join('\n')}\n`;
  const { isColoured } = await import('../session/with-adapter.ts');
  if (!isColoured()) return text;
  const { colour } = await import('../screens/screen-text.ts');
  return colour(text);
}
