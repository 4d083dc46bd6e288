// SPDX-License-Identifier: Apache-2.0
/**
 * Keys of encrypted links to other processes (docs/TOPOLOGY.md): one secret that both ends share,
 * or a private key with certificates. Readers of options and topology files call it with the
 * content of a user's file; `device/process/host/link-tls.ts` uses the keys.
 */
import { createPrivateKey, X509Certificate } from 'node:crypto';

/** Both ends have the same secret. */
export interface SharedKey {
  readonly kind: 'shared';
  readonly secret: Buffer;
}

/**
 * Each end has its own certificate, and knows the authority that must have signed that of the other
 * end.
 */
export interface CertifiedKey {
  readonly kind: 'certified';
  /** PEM. The first certificate is this end's; the others are those of authorities. */
  readonly privateKey: string;
  readonly certificates: readonly string[];
  readonly authorities: readonly string[];
}

export type LinkKey = SharedKey | CertifiedKey;

const SHARED = /^(?:[\da-f]{2}){16,64}$/i;
const SHARED_SYNTAX = 'a line of 32 to 128 hex digits, as `openssl rand -hex 32` prints it';
const PEM_BLOCK = /-----BEGIN ([A-Z\d ]+)-----[^-]+-----END \1-----/g;

/** The key in a file, or the end of a sentence that tells why the file has none. */
export function parseLinkKey(bytes: Buffer): LinkKey | string {
  const text = bytes.toString('latin1').trim();
  if (SHARED.test(text)) return { kind: 'shared', secret: Buffer.from(text, 'hex') };
  const blocks = [...text.matchAll(PEM_BLOCK)].map(([block, label]) => ({ block, label }));
  if (blocks.length === 0) return `holds no key; it must be ${SHARED_SYNTAX}, or PEM`;
  const keys = blocks.filter(({ label }) => label.endsWith('PRIVATE KEY'));
  const certificates = blocks.filter(({ label }) => label === 'CERTIFICATE').map(({ block }) => block);
  if (keys.length !== 1) return `holds ${keys.length} private keys; it must be one, and certificates`;
  const [{ block: privateKey }] = keys;
  if (certificates.length < 2)
    return 'lacks certificates; behind the private key it must have its certificate, and that of the authority of its peer';
  const objection = objectTo(privateKey, certificates);
  return objection ?? { kind: 'certified', privateKey, certificates, authorities: certificates.slice(1) };
}

function objectTo(privateKey: string, certificates: readonly string[]): string | undefined {
  let part = 'private key';
  try {
    const key = createPrivateKey(privateKey);
    part = 'certificate';
    const [own] = certificates.map((certificate) => new X509Certificate(certificate));
    return own.checkPrivateKey(key)
      ? undefined
      : 'has a first certificate that is not of its private key; put it first';
  } catch {
    return `has a ${part} that cannot be read; write it again, without a password`;
  }
}
