// SPDX-License-Identifier: Apache-2.0
export async function measureInProcess(_print: (text: string) => void): Promise<string[]> {
  return [];
}
