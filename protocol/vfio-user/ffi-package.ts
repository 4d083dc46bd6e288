// SPDX-License-Identifier: Apache-2.0
/**
 * Name of the package that calls C. Only this folder may name it; the style check reads the name
 * from here.
 */

export const FFI_PACKAGE = 'koffi';
