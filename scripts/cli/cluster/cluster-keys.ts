// SPDX-License-Identifier: Apache-2.0
/**
 * The ssh keys of a run of a cluster, all made of one secret, so that parts of a plan have the same
 * ones without a message between them. cluster.ts makes them, node-words.ts gives them to nodes.
 */
import { createPrivateKey, createPublicKey, hkdfSync, randomBytes } from 'node:crypto';
import { SetupError } from '../../../qemu/setup/tools/errors.ts';
import { readLinkKey } from '../options/link-key-file.ts';
import { UsageError } from '../options/usage-error.ts';

/** A pair of keys, in the format of OpenSSH. */
export interface KeyPair {
  readonly private: string;
  readonly public: string;
}

/** That of all nodes, and that of the user root on each. */
export interface ClusterKeys {
  readonly host: KeyPair;
  readonly user: KeyPair;
}

const KEY_BYTES = 32;
/** A private key of Ed25519 in PKCS #8 is this and its bytes (RFC 8410). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
const KIND = 'ssh-ed25519';
/** The cipher `none` pads to a multiple of this. */
const BLOCK_BYTES = 8;
const LINE = /.{1,70}/g;

/** `secret`: random when absent. */
export function makeKeys(secret: Buffer = randomBytes(KEY_BYTES)): ClusterKeys {
  const derive = (use: string): KeyPair => {
    const bytes = hkdfSync('sha256', secret, '', `vuhca cluster ${use}`, KEY_BYTES);
    return encodePair(Buffer.from(bytes));
  };
  return { host: derive('host'), user: derive('user') };
}

/** The secret in a file of hex digits, which is closed to others. Throws UsageError. */
export function readSecret(path: string): Buffer {
  const key = readLinkKey('part: keys', path);
  if (key.kind !== 'shared') throw new UsageError(`part: keys names ${path}, which must hold a line of hex digits`);
  return key.secret;
}

/** The pair of a private key (PROTOCOL.key of OpenSSH). */
function encodePair(privateKey: Buffer): KeyPair {
  const key = createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, privateKey]), format: 'der', type: 'pkcs8' });
  const { x } = createPublicKey(key).export({ format: 'jwk' });
  if (x === undefined) throw new SetupError('this Node.js has no keys of Ed25519');
  const point = Buffer.from(x, 'base64url');
  const open = Buffer.concat([field(KIND), field(point)]);
  // Two equal check words, the key, no comment; then 1, 2, 3 and so on.
  const closed = Buffer.concat([Buffer.alloc(8), open, field(Buffer.concat([privateKey, point])), field('')]);
  const padding = Buffer.from(Array.from({ length: -closed.length & (BLOCK_BYTES - 1) }, (_, index) => index + 1));
  const count = Buffer.of(0, 0, 0, 1);
  const none = [field('none'), field('none'), field('')];
  const all = [Buffer.from('openssh-key-v1\0'), ...none, count, field(open), field(Buffer.concat([closed, padding]))];
  const lines = Buffer.concat(all).toString('base64').match(LINE) ?? [];
  const [begin, end] = ['BEGIN', 'END'].map((word) => `-----${word} OPENSSH PRIVATE KEY-----`);
  return { private: `${[begin, ...lines, end].join('\n')}\n`, public: `${KIND} ${open.toString('base64')}` };
}

/** Bytes with their length before them. */
function field(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}
