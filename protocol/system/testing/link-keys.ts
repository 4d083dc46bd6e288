// SPDX-License-Identifier: Apache-2.0
/** Keys of links for tests: shared ones, and certificates that openssl makes. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A shared key as text. */
export const sharedKeyText = (digit: string): string => digit.repeat(64);

/** An authority and its certificates, in a folder of the test. */
export class TestAuthority {
  readonly #folder: string;
  readonly #name: string;

  constructor(folder: string, name: string) {
    this.#folder = folder;
    this.#name = name;
    this.#openssl('req', '-x509', ...this.#newKey(name), '-days', '2', '-out', this.#path(name, 'pem'));
  }

  /**
   * PEM: a private key, its certificate, and that of the authority. `more`: further arguments of
   * openssl.
   */
  issue(name: string, ...more: readonly string[]): string {
    const [ca, caKey] = [this.#path(this.#name, 'pem'), this.#path(this.#name, 'key')];
    this.#openssl('req', ...this.#newKey(name), '-out', this.#path(name, 'csr'));
    const days = more.length === 0 ? ['-days', '2'] : more;
    const sign = ['x509', '-req', '-in', this.#path(name, 'csr'), '-CA', ca, '-CAkey', caKey, '-CAcreateserial'];
    this.#openssl(...sign, ...days, '-out', this.#path(name, 'pem'));
    return this.#read(name, 'key') + this.#read(name, 'pem') + this.#read(this.#name, 'pem');
  }

  /** PEM of the authority itself, which has signed its own certificate. */
  get privateKey(): string {
    return this.#read(this.#name, 'key');
  }

  get certificate(): string {
    return this.#read(this.#name, 'pem');
  }

  #newKey(name: string): string[] {
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', this.#path(name, 'key')];
    return [...key, '-subj', `/CN=${name}`];
  }

  #openssl(...words: readonly string[]): void {
    execFileSync('openssl', words, { stdio: 'pipe' });
  }

  #read(name: string, suffix: string): string {
    return readFileSync(this.#path(name, suffix), 'utf8');
  }

  #path(name: string, suffix: string): string {
    return join(this.#folder, `${name}.${suffix}`);
  }
}
