// SPDX-License-Identifier: Apache-2.0
/**
 * Chromium without a window for tests of the page: each open page records its errors, and every
 * host that it contacted. Called by tests named *.long.ts.
 */
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import root, { type Test } from 'tap';
import { provideBrowser } from '../../../qemu/setup/browser.ts';

/** Longer than any wait of a test that succeeds, even on a busy host. */
const GIVEN_UP_MS = 240_000;

const WORDS = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

export interface OpenedPage {
  readonly page: Page;
  /** Errors of scripts, of the console and of its policy. */
  readonly errors: readonly string[];
  /** Origins of all requests. */
  readonly origins: ReadonlySet<string>;
}

export type Open = (address: string, options?: BrowserContextOptions) => Promise<OpenedPage>;

let running: Promise<Browser> | undefined;

/** Opens pages that end with the test, in the one browser of this process. */
export async function startBrowser(t: Test): Promise<Open> {
  running ??= launch();
  const browser = await running;
  const contexts: BrowserContext[] = [];
  t.teardown(() => Promise.all(contexts.map((context) => context.close())));
  return async (address, options) => {
    const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    contexts.push(context);
    context.setDefaultTimeout(GIVEN_UP_MS);
    const page = await context.newPage();
    const errors: string[] = [];
    const origins = new Set<string>();
    page.on('console', (message) => {
      if (message.type() === 'error') errors.push(message.text());
    });
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('request', (request) => origins.add(new URL(request.url()).origin));
    await page.goto(address);
    return { page, errors, origins };
  };
}

/** Starts a browser, which takes more than a second of a processor. It ends with the process. */
async function launch(): Promise<Browser> {
  const { program, environment } = await provideBrowser();
  const browser = await chromium.launch({
    executablePath: program,
    args: WORDS,
    env: { ...(process.env as Record<string, string>), ...environment },
  });
  root.teardown(() => browser.close());
  return browser;
}
