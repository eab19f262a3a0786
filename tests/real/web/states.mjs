// Scenarios of states that people see seldom: answers that nobody works on, long lists, files that are not taken.
import assert from 'node:assert/strict';
import { answers, api, ask, box, faults, open, picture, settled } from './page.mjs';

export const states = {};
const scenarios = states;

/** Pictures of a page as it is, in both themes and both widths. */
async function pictures(page, name) {
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [1280, 390]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      await picture(page, `${name}-${colorScheme}-${width}`);
    }
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 1280, height: 800 });
}

scenarios.an_answer_that_nobody_goes_on_with_is_continued = async (context) => {
  const page = await open(context);
  while ((await api('/v1/sessions')).sessions.length === 0) {
    await page.waitForTimeout(20);
  }
  await page.evaluate(() => (location.hash = '#/s/left'));
  const answer = answers(page);
  await answer.getByText('The server stopped before the answer was done.').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Stop' }).count(), 0);
  assert.equal(await page.getByText(/Reconnecting/).count(), 0);
  assert.equal(await answer.getAttribute('aria-busy'), 'false');
  assert.deepEqual(await faults(page), []);
  await pictures(page, 'abandoned');
  const button = answer.getByRole('button', { name: 'Continue', exact: true });
  await button.focus();
  await page.keyboard.press('Enter');
  await answer.getByText('Ask again if you want the clause itself.').waitFor();
  assert.equal(await answers(page).count(), 1);
  assert.equal(await answer.getByText('The server stopped').count(), 0);
};
