// SPDX-License-Identifier: Apache-2.0
/**
 * The reference captures against which tests compare. They are not part of the repository:
 * `VUHCA_CAPTURES` names their folder, by default `shared/data` beside the repository. A test
 * without its capture is skipped and says so.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type PcapFile, readPcap } from '../pcap.ts';

const REPOSITORY = join(import.meta.dirname, '../../..');
const FOLDER = process.env.VUHCA_CAPTURES ?? join(REPOSITORY, '..', 'shared', 'data');

/** Capture of 43 packets between real channel adapters, as ERF records. */
export const REAL_HCA_CAPTURE = 'real-hca-infiniband.pcap';

/** Capture of 158 RoCEv2 packets between two soft-RoCE peers, as Ethernet frames. */
export const RXE_CAPTURE = 'rxe-rocev2-golden.pcap';

/** False, or the reason to skip a test that needs the capture. */
export function captureMissing(name: string): string | false {
  const path = join(FOLDER, name);
  return existsSync(path) ? false : `${path} is absent; VUHCA_CAPTURES names another folder`;
}

/** Bytes and records of a capture. */
export function readCapture(name: string): { view: DataView; file: PcapFile } {
  const bytes = readFileSync(join(FOLDER, name));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return { view, file: readPcap(view) };
}
