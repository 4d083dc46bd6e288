// SPDX-License-Identifier: Apache-2.0
/**
 * Starts the processes of a test as users start them: tap adds its own loader to every Node process
 * through NODE_OPTIONS, which makes them slower and others than those under test. `.taprc` loads
 * this into each test, behind tap's loader.
 */
import processOnSpawn from 'process-on-spawn';

const LOADER = / *"?--import=\S*@tapjs\S*"?/g;

processOnSpawn.addListener(({ env }) => {
  env.NODE_OPTIONS = env.NODE_OPTIONS?.replace(LOADER, '') ?? '';
});
