// SPDX-License-Identifier: Apache-2.0
/** The command line `vuhca`: performs the words it is given, and ends with their exit status. */
import { watchStandardStreams } from '../../protocol/system/standard-streams.mjs';
import { performWords } from './perform-words.ts';

watchStandardStreams();
process.exitCode = await performWords(process.argv.slice(2), (text) => void process.stderr.write(text));
