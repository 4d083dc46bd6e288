// SPDX-License-Identifier: Apache-2.0
/**
 * Starts the processes of a test as users start them: tap adds its own loader to every Node process
 * through NODE_OPTIONS, which makes them slower than, and different from, those of users. `.taprc`
 * loads this into each test, after tap's loader.
 */
import processOnSpawn from 'process-on-spawn';

const LOADER = / *"?--import=\S*@tapjs\S*"?/g;

processOnSpawn.addListener(({ env }) => {
  env.NODE_OPTIONS = env.NODE_OPTIONS?.replace(LOADER, '') ?? '';
});
