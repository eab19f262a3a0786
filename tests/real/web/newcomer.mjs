// The first minute of somebody who has run `attache serve`: `node newcomer.mjs ADDRESS`, with the folder of the packages in
// `PACKAGES` and one for pictures in `PICTURES`. Each question that the chat offers is asked, and each citation opened.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.env.PACKAGES, 'package.json'));
const { chromium } = require('playwright-core');
const [, , address] = process.argv;

/** What each question must be answered with, where that stands, and on which page. */
const EXPECTED = [
  ['What is the total of the invoice, and when is it due?', [['EUR 20,904.97', 'invoice-2026-0417.pdf', 2], ['17 May 2026', 'invoice-2026-0417.pdf', 1]]],
  ['What happens if a delivery is late?', [['0.5% of the net value', 'supply-agreement-SA-2025-11.pdf', 1]]],
  ['How long does the agreement run?', [['runs for two years', 'supply-agreement-SA-2025-11.pdf', 2]]],
  ['How much did we spend on travel?', [['Harbour Cabs,HC-77120', 'expenses-2026-spring.csv', undefined]]],
];

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
const faults = [];

/** Waits until no answer is under way. */
const settled = (page, count) =>
  page.waitForFunction((count) => {
    const all = document.querySelector('attache-chat').shadowRoot.querySelectorAll('.answer');
    return all.length >= count && all[count - 1].getAttribute('aria-busy') === 'false';
  }, count);

async function look(width, height, colorScheme) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  page.on('pageerror', (error) => faults.push(String(error)));
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()));
  const picture = (name) => page.screenshot({ path: join(process.env.PICTURES, `newcomer-${name}-${width}-${colorScheme}.png`) });
  await page.goto(address);
  const offered = page.locator('.examples button');
  await offered.first().waitFor();
  assert.deepEqual(await offered.allInnerTexts(), EXPECTED.map(([question]) => question));
  await picture('start');
  for (const [at, [question, parts]] of EXPECTED.entries()) {
    // The start screen offers them; later ones are typed.
    if (at === 0) {
      await offered.nth(at).click();
    } else {
      await page.getByRole('textbox', { name: 'Message', exact: true }).fill(question);
      await page.keyboard.press('Enter');
    }
    await settled(page, at + 1);
    const answer = page.locator('.answer').nth(at);
    const text = await answer.innerText();
    await picture(`answer-${at}`);
    const cites = answer.locator('[data-cite]');
    const pane = page.getByRole('complementary', { name: 'Document' });
    assert.ok((await cites.count()) >= parts.length, `${question}: ${text}`);
    for (const [index, [quoted, file, number]] of parts.entries()) {
      assert.ok(text.includes(quoted), `${quoted}: ${text}`);
      await cites.nth(index).click();
      await pane.getByText(file, { exact: true }).first().waitFor();
      if (number === undefined) {
        // The cells of a row are marked one by one.
        for (const words of file.endsWith('.csv') ? quoted.split(',') : [quoted]) {
          await pane.locator('mark').getByText(words).first().waitFor();
        }
      } else {
        // The passage is marked on the picture of its page, and in sight.
        const leaf = pane.locator(`.leaf[data-page="${number}"]`);
        await leaf.locator('rect.area').first().waitFor();
        await leaf.locator('img[src]').waitFor();
        await page.waitForFunction(
          (number) => {
            const shadow = document.querySelector('attache-chat').shadowRoot;
            const body = shadow.querySelector('.pane-body').getBoundingClientRect();
            const area = shadow.querySelector(`.leaf[data-page="${number}"] rect.area`).getBoundingClientRect();
            const image = shadow.querySelector(`.leaf[data-page="${number}"] img`);
            return image.complete && image.naturalWidth > 0 && area.top >= body.top && area.bottom <= body.bottom + 1;
          },
          number,
        );
      }
      await picture(`cited-${at}-${index}`);
      await page.keyboard.press('Escape');
      await pane.waitFor({ state: 'detached' });
    }
  }
  await context.close();
}

try {
  await look(1280, 800, 'light');
  if (process.env.ALL) {
    await look(1280, 800, 'dark');
    await look(390, 844, 'light');
    await look(390, 844, 'dark');
  }
  assert.deepEqual(faults, []);
} finally {
  await browser.close();
}
