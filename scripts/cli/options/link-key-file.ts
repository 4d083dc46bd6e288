// SPDX-License-Identifier: Apache-2.0
/**
 * Reads the key of a link (docs/TOPOLOGY.md) from a file that a user names, and that no other user
 * may be able to read. Called for the option `--link-key` and for topology files.
 */
import { type Stats, statSync } from 'node:fs';
import { errnoWords } from '../../../protocol/system/errno-words.mjs';
import { type LinkKey, parseLinkKey } from '../../../protocol/system/link-key.ts';
import { readNamedFile } from './named-files.ts';
import { UsageError } from './usage-error.ts';

const OPEN_TO_OTHERS = 0o077;
const ROOT_USER = 0;

/** `what` names the file at the beginning of the sentence. Throws UsageError or SetupError. */
export function readLinkKey(what: string, path: string): LinkKey {
  const objection = objectToOwner(what, path);
  if (objection !== undefined) throw new UsageError(`${what} names ${path}, ${objection}`);
  const key = parseLinkKey(readNamedFile(`${what} names ${path}, which`, path));
  if (typeof key === 'string') throw new UsageError(`${what} names ${path}, which ${key}`);
  return key;
}

function objectToOwner(what: string, path: string): string | undefined {
  let status: Stats;
  try {
    status = statSync(path);
  } catch (error) {
    throw new UsageError(`${what} names ${path}, which cannot be read ${errnoWords(error)}`);
  }
  const { uid, mode } = status;
  if (uid !== process.getuid?.() && uid !== ROOT_USER) return 'which belongs to another user; make a copy of your own';
  return (mode & OPEN_TO_OTHERS) === 0 ? undefined : `which others may use; close it to them: chmod 600 ${path}`;
}
