// SPDX-License-Identifier: Apache-2.0
/**
 * TLS 1.3 of links to other processes, by node:tls: each end proves to the other that it has the
 * shared secret, or a certificate that an authority of the other has signed. Names in certificates
 * do not count, because either end may be the one that connects. `link-listener.ts` and
 * `link-dialer.ts` use it.
 */
import type { ConnectionOptions, TLSSocket, TlsOptions } from 'node:tls';
import type { LinkKey } from '../../../protocol/system/link-key.ts';

/** A name of the secret, which TLS asks for; both ends have one secret for a link. */
const IDENTITY = 'vuhca link';
/** The one of TLS 1.3 that a secret of any length may be used with. */
const SHARED_CIPHER = 'TLS_AES_128_GCM_SHA256';

export function listeningOptions(key: LinkKey, handshakeTimeout: number): TlsOptions {
  const common = { minVersion: 'TLSv1.3', handshakeTimeout } as const;
  if (key.kind === 'shared')
    return {
      ...common,
      ciphers: SHARED_CIPHER,
      pskCallback: (_, identity) => (identity === IDENTITY ? key.secret : null),
    };
  // A peer that is not authorized is named before it is refused.
  return { ...common, ...certified(key), requestCert: true, rejectUnauthorized: false };
}

export function connectingOptions(key: LinkKey): ConnectionOptions {
  const common = { minVersion: 'TLSv1.3', checkServerIdentity: () => undefined } as const;
  if (key.kind === 'certified') return { ...common, ...certified(key) };
  return {
    ...common,
    ciphers: SHARED_CIPHER,
    // Without a list, Node would take a certificate of any public authority instead of the secret.
    ca: [],
    pskCallback: () => ({ psk: key.secret, identity: IDENTITY }),
  };
}

/** Why the peer behind a finished handshake is not to be trusted, or undefined. */
export function findDistrust(socket: TLSSocket, key: LinkKey): string | undefined {
  const hasCertificate = Object.keys(socket.getPeerCertificate() ?? {}).length > 0;
  if (key.kind === 'shared') return hasCertificate ? UNLIKE : undefined;
  if (!hasCertificate) return 'the peer shows no certificate; give it a key with one';
  return socket.authorized ? undefined : wordsOf(`${socket.authorizationError}`, key);
}

/** What an error of a handshake means, and how to go on; undefined for one of the socket. */
export function handshakeWords(error: NodeJS.ErrnoException, key: LinkKey): string | undefined {
  const code = error.code ?? '';
  if (code === 'ERR_TLS_HANDSHAKE_TIMEOUT') return 'the peer did not finish the handshake in time';
  return /^(ERR_SSL|ERR_TLS|CERT_|UNABLE_TO|SELF_SIGNED|DEPTH_ZERO|INVALID_)/.test(code)
    ? wordsOf(code, key)
    : undefined;
}

const UNLIKE = 'one end has a shared key, and the other certificates; give both the same kind';
const MEANINGS: readonly (readonly [RegExp, string])[] = [
  [/WRONG_VERSION_NUMBER|HTTP_REQUEST|PACKET_LENGTH/, 'the peer does not encrypt; give it the key'],
  [/BINDER|ALERT_ILLEGAL_PARAMETER|BAD_RECORD_MAC|DECRYPT/, 'the peer has another key; give both the same one'],
  [/SIGNATURE_ALGORITHM|HANDSHAKE_FAILURE|NO_SHARED_CIPHER|NO_CERTIFICATE/, UNLIKE],
  [/PROTOCOL_VERSION|UNSUPPORTED_PROTOCOL/, 'the peer has no TLS 1.3; run the same version of vuhca at both ends'],
  [/EXPIRED/, 'the certificate of the peer has expired; give it a new one'],
  [/NOT_YET_VALID/, 'the certificate of the peer is not valid yet; set the clocks right'],
  [
    /SELF_SIGNED|UNABLE_TO|DEPTH_ZERO|UNKNOWN_CA|CERT_|INVALID_/,
    'no authority of this end has signed the certificate of the peer',
  ],
];

function wordsOf(code: string, key: LinkKey): string {
  const [, meaning] = MEANINGS.find(([codes]) => codes.test(code)) ?? [];
  const isUnlike = key.kind === 'shared' && /SELF_SIGNED|UNABLE_TO|DEPTH_ZERO/.test(code);
  return `${isUnlike ? UNLIKE : (meaning ?? 'the handshake failed')} (${code})`;
}

function certified({ privateKey, certificates, authorities }: LinkKey & { readonly kind: 'certified' }) {
  return { key: privateKey, cert: certificates.join('\n'), ca: [...authorities] };
}
