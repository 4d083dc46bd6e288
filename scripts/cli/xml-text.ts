// SPDX-License-Identifier: Apache-2.0
/** Words in SVG. Called by the writers of pictures. */
import { printable } from '../../protocol/system/printable.mjs';

/** The text without characters that mean something in XML, or that cannot be shown. */
export function escapeXml(words: string): string {
  return printable(words)
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
