// SPDX-License-Identifier: Apache-2.0
/**
 * Performs `vuhca link`: has a running process change a link and prints what it says, or lists its
 * links.
 */
import type { ControlClient } from '../../../device/process/control/control-client.ts';
import type { CliCommand } from '../options/cli-command.ts';
import { UsageError } from '../options/usage-error.ts';
import { colour } from '../screens/screen-text.ts';
import { describeLink } from '../screens/status-screen.ts';
import { withAdapter } from '../session/with-adapter.ts';
import type { LinkArguments } from './link-command.ts';

const VERBS: readonly string[] = ['down', 'up', 'set'];

export async function performLink(command: CliCommand): Promise<number> {
  const [verb, port, properties] = command.processedArgs as [string | undefined, string | undefined, string[]];
  const { control, json = false } = command.opts<LinkArguments>();
  if (verb !== undefined && !VERBS.includes(verb))
    throw new UsageError(`argument VERB is ${verb}; it must be ${VERBS.slice(0, -1).join(', ')} or ${VERBS.at(-1)}`);
  if (verb !== undefined && port === undefined) throw new UsageError(`link ${verb} needs a port: NODE:PORT`);
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
  const text = `${links.map(describeLink).join('\n')}\n`;
  const isColoured = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
  return isColoured ? colour(text) : text;
}
