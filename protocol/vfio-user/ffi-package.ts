// SPDX-License-Identifier: Apache-2.0
/** The package through which C is called. Its name stands in this folder alone: the style check reads it from here. */
export const FFI_PACKAGE = 'koffi';
