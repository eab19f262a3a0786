// What all scenarios of the chat do with a page: they open it, ask, wait for the end of an answer.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.env.PACKAGES, 'package.json'));
export const { chromium } = require('playwright-core');
export const [, , name, address] = process.argv;

/** A page on the chat, whose faults fail the scenario. */
export async function open(context, path = '/', { mayFail = false, width } = {}) {
  const page = await context.newPage();
  if (width) {
    await page.setViewportSize({ width, height: 800 });
  }
  page.setDefaultTimeout(30_000);
  page.faults = [];
  page.on('pageerror', (error) => page.faults.push(String(error)));
  page.on('console', (message) => {
    const isExpected = mayFail && /Failed to load resource|net::ERR|policy directive: "img-src/i.test(message.text());
    const isConfig = message.location().url.includes('/v1/chat/config');
    if (message.type() === 'error' && !isExpected && !isConfig) {
      page.faults.push(`${message.text()} ${message.location().url}`);
    }
  });
  opened.push(page);
  await page.goto(address + path);
  return page;
}
export const opened = [];

export const box = (page) => page.getByRole('textbox', { name: 'Message', exact: true });
export const log = (page) => page.getByRole('log');
export const answers = (page) => page.locator('.answer');

/** Asks, and waits for the answer if it comes to an end by itself. */
export async function ask(page, text, { ends = true } = {}) {
  const count = await answers(page).count();
  await box(page).fill(text);
  await box(page).press('Enter');
  await answers(page).nth(count).waitFor();
  if (ends) {
    await settled(page);
  }
  return answers(page).nth(count);
}

/** Waits until no answer is under way. */
export const settled = (page) => page.waitForFunction(() => {
  const last = [...document.querySelector('attache-chat').shadowRoot.querySelectorAll('.answer')].at(-1);
  return last?.getAttribute('aria-busy') === 'false';
});

/** Waits until a chat whose messages are seen is shown as a whole, and has the focus if it takes it. */
export const shown = (page) => page.locator('attache-chat').evaluate((chat) => chat.updateComplete);

/** A word of the answer that comes word by word: slowly if it is to be under way for long, steadily if its end is waited for. */
export const word = (at) => `word${String(at).replace(/\d/g, (digit) => 'abcdefghij'[digit])}`;

export const session = (page) => page.locator('attache-chat').evaluate((chat) => chat.session);
export const api = async (path, init) => (await fetch(address + path, init)).json();

/** The results of calls that the session has. */
export const results = async (page) => (await api(`/v1/sessions/${await session(page)}`)).messages.filter((message) => message.role === 'tool').flatMap((message) => message.results);

/** A page of somebody else's on the server's own origin. */
export async function host(context, body, { policy, script = '' } = {}) {
  await context.route(`${address}/host.js`, (route) => route.fulfill({ contentType: 'text/javascript', body: script }));
  await context.route(`${address}/host`, (route) => route.fulfill({
    contentType: 'text/html',
    headers: policy ? { 'content-security-policy': policy } : {},
    body: `<!doctype html><html lang="en"><title>A shop</title>${body}`,
  }));
  return open(context, '/host');
}

export const STRICT = "default-src 'none'; script-src 'self'; style-src 'self'; img-src data: blob:; connect-src 'self'";

/** Everything that the rules of WCAG 2.2 AA find. */
export async function faults(page) {
  await page.evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8'));
  const found = await page.evaluate(() => window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  return found.violations.map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map((node) => node.html.slice(0, 160)).join(' | ')}`);
}

/** A picture for people to look at. */
export const picture = (page, name) => page.screenshot({ path: join(process.env.PICTURES, `${name}.png`), animations: 'disabled' });
