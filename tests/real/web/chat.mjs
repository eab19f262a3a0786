// Scenarios of the chat in a real browser: `node chat.mjs SCENARIO ADDRESS`, with the folder of the packages in `PACKAGES`
// and one for pictures in `PICTURES`. The server answers what the question names: see `crates/server/tests/browser/stage.rs`.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { details } from './details.mjs';
import { embedding } from './embedding.mjs';
import { kept } from './kept.mjs';
import { looks } from './looks.mjs';
import { STRICT, address, answers, api, ask, box, chromium, faults, host, log, name, open, opened, results, session, settled, word } from './page.mjs';
import { states } from './states.mjs';

const scenarios = { ...details, ...embedding, ...kept, ...looks, ...states };

scenarios.answers_stream_and_stay_in_sight = async (context) => {
  const page = await open(context);
  await page.getByText('What would you like to know?').waitFor();
  const answer = await ask(page, 'a long one');
  assert.equal(await answer.locator('strong').innerText(), 'five years');
  assert.equal(await answer.locator('li').count(), 3);
  assert.equal(await answer.locator('tbody tr').count(), 2);
  assert.match(await answer.locator('pre code').innerText(), /^fn rent/);
  await answer.locator('.hljs-keyword').first().waitFor();
  const atEnd = () => log(page).evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight < 5);
  await page.setViewportSize({ width: 900, height: 420 });
  await ask(page, 'another long one');
  assert.ok(await atEnd());
  // A dot says that something came which the reader has not seen.
  const latest = page.getByRole('button', { name: 'Jump to the latest' });
  await log(page).evaluate((log) => (log.scrollTop = 0));
  await latest.waitFor();
  assert.equal(await latest.locator('.dot').count(), 0);
  const slow = await ask(page, 'word by word, slowly', { ends: false });
  await slow.getByText(word(1)).waitFor();
  await log(page).evaluate((log) => (log.scrollTop = 0));
  await latest.locator('.dot').waitFor();
  await slow.getByText(word(12)).waitFor();
  assert.equal(await log(page).evaluate((log) => log.scrollTop), 0);
  await latest.click();
  assert.ok(await atEnd());
};

scenarios.an_answer_is_stopped = async (context) => {
  const page = await open(context);
  const answer = await ask(page, 'word by word, slowly', { ends: false });
  await answer.getByText(word(5)).waitFor();
  await page.keyboard.press('Escape');
  await answer.getByText('Stopped').waitFor();
  assert.equal(await page.getByRole('button', { name: 'Answer again' }).count(), 1);
  const said = await answer.locator('.markdown').innerText();
  assert.ok(said.includes(word(5)) && !said.includes(word(119)));
  const run = (await api(`/v1/sessions/${await session(page)}`)).runs.at(-1);
  assert.ok(run.ended);
  await ask(page, 'once more');
  const next = await ask(page, 'word by word, slowly', { ends: false });
  await next.getByText(word(3)).waitFor();
  // The list says that it is at work, in a later run, too.
  await page.locator('.session').getByRole('img', { name: 'Working…' }).waitFor();
  await page.getByRole('button', { name: 'Stop' }).click();
  await next.getByText('Stopped').waitFor();
  await page.locator('.session').getByRole('img', { name: 'Working…' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Send' }).waitFor();
};

scenarios.a_reload_in_mid_stream_goes_on = async (context) => {
  const page = await open(context);
  const answer = await ask(page, 'word by word, steadily', { ends: false });
  await answer.getByText(word(8)).waitFor();
  await page.reload();
  await answers(page).getByText(word(12)).waitFor();
  assert.equal(await answers(page).count(), 1);
  await settled(page);
  const words = (await answers(page).locator('.markdown').innerText()).trim().split(/\s+/);
  assert.deepEqual(words, Array.from({ length: 120 }, (_, at) => word(at)));
};

scenarios.a_second_tab_sees_the_same = async (context) => {
  const first = await open(context);
  await ask(first, 'word by word, steadily', { ends: false });
  const second = await open(context, `/#/s/${await session(first)}`);
  await answers(second).getByText(word(9)).waitFor();
  await Promise.all([settled(first), settled(second)]);
  const said = (page) => answers(page).locator('.markdown').innerText();
  assert.equal(await said(first), await said(second));
  await ask(first, 'a long one');
  await second.getByText('Ask again if you want the clause itself.').waitFor();
};

scenarios.approvals_survive_a_reload_and_are_decided = async (context) => {
  const page = await open(context);
  await ask(page, 'please pay');
  const card = page.getByRole('alertdialog');
  // The question in words comes before the arguments.
  await card.getByText('Pay Harbour Road GmbH?').waitFor();
  await card.getByText('1845').waitFor();
  assert.ok(await box(page).evaluate((box) => box.getRootNode().activeElement === box), 'whoever may be writing stays in the box');
  await page.reload();
  await card.getByText('Harbour Road GmbH', { exact: true }).waitFor();
  const other = await open(context, `/#/s/${await session(page)}`);
  await other.getByRole('alertdialog').waitFor();
  await card.getByRole('button', { name: 'Edit' }).click();
  await card.getByRole('spinbutton', { name: 'Amount' }).fill('1');
  // A value that was edited is marked, with what it was.
  await card.locator('tr.edited').getByText('before: 1845').waitFor();
  assert.equal(await card.locator('tr.edited').count(), 1);
  await card.screenshot({ path: join(process.env.PICTURES, 'approval-edited.png') });
  await card.getByRole('button', { name: 'Approve with changes' }).click();
  await page.getByText('It is settled.').waitFor();
  await other.getByText('It is settled.').waitFor();
  await other.locator('.counts').waitFor();
  assert.equal(await other.getByRole('alertdialog').count(), 0);
  const messages = (await api(`/v1/sessions/${await session(page)}`)).messages;
  assert.match(JSON.stringify(messages), /"paid/);
  // It folds to one line with who and when.
  await page.getByText(/^Pay: Approved with changes by local · .*\d/).waitFor();
  await page.locator('.call summary', { hasText: 'Pay' }).click();
  const amount = async () => assert.match(await page.locator('.call .value').first().innerText(), /"amount": 1\b(?!\d)/);
  await amount();
  await page.reload();
  await page.getByText(/^Pay: Approved with changes by local · .*\d/).waitFor();
  await page.locator('.call summary', { hasText: 'Pay' }).click();
  await amount();
  // Denied by the keyboard, with a reason.
  await ask(page, 'pay again');
  await card.focus();
  await page.keyboard.press('d');
  await page.keyboard.type('too much');
  await card.getByRole('button', { name: 'Deny' }).click();
  await page.getByText('It is settled.').nth(1).waitFor();
  assert.match(JSON.stringify((await api(`/v1/sessions/${await session(page)}`)).messages), /too much/);
  // Approved by the keyboard, and for all of this chat.
  await ask(page, 'pay once more');
  await card.focus();
  await page.keyboard.press('a');
  await page.getByText('It is settled.').nth(2).waitFor();
  await ask(page, 'pay and go on');
  await card.getByRole('button', { name: 'Always in this chat' }).click();
  await page.getByText('It is settled.').nth(3).waitFor();
  await ask(page, 'pay the rest');
  await page.getByText('It is settled.').nth(4).waitFor();
  assert.equal(await card.count(), 0);
};

scenarios.a_decision_is_taken_once = async (context) => {
  const first = await open(context, '/', { mayFail: true });
  await ask(first, 'please pay');
  const second = await open(context, `/#/s/${await session(first)}`, { mayFail: true });
  const pages = [first, second];
  await Promise.all(pages.map((page) => page.getByRole('alertdialog').waitFor()));
  // Two tabs that wait do not tell each other so for ever.
  let asked = 0;
  const count = (request) => (asked += request.url().includes('/events') ? 1 : 0);
  context.on('request', count);
  await first.waitForTimeout(800);
  context.off('request', count);
  assert.ok(asked < 3, `${asked} looks at a run that waits`);
  const buttons = pages.map((page) => page.getByRole('alertdialog').getByRole('button', { name: 'Approve', exact: true }));
  const handles = await Promise.all(buttons.map((button) => button.elementHandle()));
  await Promise.all(handles.map((handle) => handle.evaluate((button) => button.click())));
  for (const page of pages) {
    await page.getByText('It is settled.').first().waitFor();
    await settled(page);
  }
  // All that the tabs tell each other is there.
  await first.waitForTimeout(500);
  for (const page of pages) {
    assert.equal(await answers(page).count(), 1);
    assert.equal((await answers(page).locator('.markdown').allInnerTexts()).join('').trim(), 'It is settled.');
    assert.equal(await page.getByRole('alertdialog').count(), 0);
    // Whichever of them was slower is told who has decided; and so is whoever looks later.
    await page.getByText('Pay: Approved by local').waitFor();
    await page.reload();
    await page.getByText('Pay: Approved by local').waitFor();
  }
  assert.equal((await results(first)).length, 1);
};

scenarios.tools_of_the_page_are_called_once = async (context) => {
  const register = (page, ends = true) => page.evaluate((ends) => {
    window.calls = 0;
    window.attache.registerTool({ name: 'page_title', description: 'The title' }, async () => {
      window.calls += 1;
      await new Promise((next) => ends && setTimeout(next, 300));
      return { title: document.title };
    });
  }, ends);
  const first = await open(context);
  await ask(first, 'hello');
  const second = await open(context, `/#/s/${await session(first)}`);
  await answers(second).first().waitFor();
  await register(first);
  await register(second);
  await ask(first, 'ask the page', { ends: false });
  // Either of them makes the call.
  const called = (page) => page.waitForFunction(() => window.calls > 0).then(() => page);
  const maker = await Promise.any([first, second].map(called));
  const other = maker === first ? second : first;
  await other.reload();
  await first.getByText('The page told me.').waitFor();
  await second.getByText('The page told me.').waitFor();
  const calls = await Promise.all([first, second].map((page) => page.evaluate(() => window.calls ?? 0)));
  assert.equal(calls[0] + calls[1], 1);
  assert.deepEqual((await results(first)).at(-1).content, { title: 'attache' });
  // A tab that is closed while it is at it leaves the answer to the other one, which does not make the call again.
  await register(first, false);
  await register(second, false);
  await ask(first, 'ask the page', { ends: false });
  const next = await Promise.any([first, second].map(called));
  const left = next === first ? second : first;
  await next.reload();
  await left.getByText('The page told me.').nth(1).waitFor();
  assert.equal(await left.evaluate(() => window.calls), 0);
  assert.match(JSON.stringify((await results(left)).at(-1)), /closed while the tool ran/);
  // A page over plain HTTP has no locks.
  await context.addInitScript(() => delete Navigator.prototype.locks);
  for (const page of [first, second]) {
    await page.reload();
    await answers(page).first().waitFor();
    await register(page);
  }
  await ask(first, 'ask the page', { ends: false });
  for (const page of [first, second]) {
    await page.getByText('The page told me.').nth(2).waitFor();
  }
  const made = await Promise.all([first, second].map((page) => page.evaluate(() => window.calls)));
  assert.equal(made[0] + made[1], 1);
  assert.deepEqual((await results(first)).at(-1).content, { title: 'attache' });
};

scenarios.a_tool_of_the_page_may_ask_be_skipped_and_fail = async (context) => {
  const page = await open(context);
  await page.evaluate(() => {
    window.heard = [];
    addEventListener('attache-tool-call', (event) => window.heard.push(event.detail.name));
    window.back = window.attache.registerTool({ name: 'page_title', description: 'The title', approval: true }, () => {
      throw new Error('there is no title');
    });
  });
  await ask(page, 'ask the page', { ends: false });
  const call = page.locator('.call', { hasText: 'In this page' });
  await call.getByText('Waits for this page').waitFor();
  assert.deepEqual(await page.evaluate(() => window.heard), []);
  await call.getByRole('button', { name: 'Approve' }).click();
  await page.getByText('The page told me.').waitFor();
  assert.deepEqual(await page.evaluate(() => window.heard), ['page_title']);
  const told = async () => (await results(page)).at(-1);
  assert.match(JSON.stringify(await told()), /there is no title/);
  assert.equal((await told()).isError, true);
  // A tool that was taken back after the question is answered by nobody: the user skips it.
  await settled(page);
  await page.evaluate(() => (window.attache.element.registerTool({ name: 'page_title', description: 'The title', approval: true }, () => 'never'), 0));
  await ask(page, 'ask the page again', { ends: false });
  await call.getByRole('button', { name: 'Approve' }).waitFor();
  await page.reload();
  await page.getByText('No open page offers this tool.').waitFor();
  await page.getByRole('button', { name: 'Skip' }).click();
  await page.getByText('The page told me.').nth(1).waitFor();
  assert.match(JSON.stringify(await told()), /The user skipped this/);
};

scenarios.failures_say_what_to_do = async (context) => {
  const page = await open(context);
  const answer = await ask(page, 'fail please');
  await answer.getByText('The answer failed: There are too many requests at the moment.').waitFor();
  await answer.getByText('The first half').waitFor();
  await answer.getByRole('button', { name: /Ask again/ }).waitFor();
  const next = await ask(page, 'what does the lease say?');
  await next.getByText('the meter does not answer').waitFor();
  // A limit says when to come again, counts down, and lets nobody ask before.
  const limited = await ask(page, 'too often');
  const again = limited.getByRole('button', { name: /Ask again: “too often”/ });
  await limited.getByText(/^Try again in [12] secs?$/).waitFor();
  assert.ok(await again.isDisabled());
  await limited.getByText(/^Try again in/).waitFor({ state: 'hidden' });
  await again.click();
  await page.locator('.versions').getByText('2 of 2').waitFor();
  await settled(page);
  // An answer that was too long goes on.
  const cut = await ask(page, 'cut short');
  await cut.getByText('The answer reached its longest length.').waitFor();
  await cut.getByRole('button', { name: 'Continue the answer' }).click();
  await page.locator('.bubble', { hasText: 'Please continue.' }).waitFor();
};

/** Waits until the clock of something under way shows a time, and another one. */
const ticks = async (place) => {
  const clock = place.locator('summary').getByText(/^\d secs?$/);
  const first = await clock.innerText();
  await clock.filter({ hasNotText: first }).waitFor();
};

scenarios.thinking_and_tools_fold = async (context) => {
  const page = await open(context);
  const answer = await ask(page, 'ponder slowly', { ends: false });
  const thinking = answer.locator('details.thinking');
  await thinking.getByText('I should').waitFor();
  // It says for how long, second by second.
  await ticks(thinking);
  assert.ok(await thinking.evaluate((each) => each.open), 'open while it streams');
  await answer.locator('.markdown').getByText('The rent is').waitFor();
  // Its time is not known where the page looked on too late.
  await thinking.getByText(/^Thought( for [\d.]+ secs?)?$/).waitFor();
  assert.ok(!(await thinking.evaluate((each) => each.open)), 'folded once the answer begins');
  await settled(page);
  // One line for several calls, and one with its name for several of one tool. They are folded, unless one has failed.
  const meters = await ask(page, 'three meters');
  await meters.getByText('Lease × 3').waitFor();
  assert.ok(!(await meters.locator('details.group').evaluate((each) => each.open)));
  const ledger = await ask(page, 'the ledger');
  const group = ledger.locator('details.group');
  await group.locator('> summary').getByText('Used 3 tools').click();
  const call = (name) => group.locator('details.call', { has: page.locator('summary', { hasText: name }) });
  for (const name of ['Ledger', 'Address', 'Minutes']) {
    await call(name).locator('summary .icon').nth(1).waitFor();
    assert.ok(!(await call(name).evaluate((each) => each.open)));
    await call(name).locator('summary').click();
  }
  // A list is a table, an address a link that leads out of the page, and what is long is clipped.
  assert.deepEqual(await call('Ledger').locator('th, td').allInnerTexts(), ['month', 'rent', 'May', '900', 'June', '918']);
  const link = call('Address').getByRole('link', { name: 'https://register.example/lease' });
  assert.deepEqual(await link.evaluate(({ target, rel }) => [target, rel]), ['_blank', 'noopener noreferrer nofollow']);
  const long = call('Minutes').locator('pre').last();
  assert.ok((await long.innerText()).length < 700);
  await call('Minutes').getByRole('button', { name: 'Show all' }).last().click();
  assert.equal((await long.innerText()).trim().split(' ').length, 400);
  assert.match(await call('Minutes').locator('pre').first().innerText(), /^\{\n  "about": "the rent/);
  // The line of a call says what it is about.
  assert.match(await call('Minutes').locator('summary').innerText(), /^Minutes\s+the rent/);
  await page.screenshot({ path: join(process.env.PICTURES, 'calls.png') });
};

scenarios.a_call_says_how_far_it_has_come = async (context) => {
  const page = await open(context);
  const answer = await ask(page, 'the archive, slowly', { ends: false });
  const card = answer.locator('details.call');
  const bar = card.getByRole('progressbar', { name: 'Archive' });
  await card.getByText('page 3 of 12').waitFor();
  assert.equal(await bar.evaluate((bar) => bar.value), 0.25);
  await ticks(card);
  for (const width of [390, 1280]) {
    await page.setViewportSize({ width, height: 500 });
    assert.ok(await log(page).evaluate((log) => log.scrollWidth <= log.clientWidth));
    await page.screenshot({ path: join(process.env.PICTURES, `progress-${width}.png`) });
  }
  // Whoever comes later is told, too.
  await page.reload();
  await card.getByText('page 3 of 12').waitFor();
  assert.equal(await bar.evaluate((bar) => bar.value), 0.25);
  await card.getByText('page 9 of 12').waitFor();
  await settled(page);
  assert.equal(await bar.count(), 0);
  await answer.getByText('It is archived.').waitFor();
};

scenarios.markdown_is_more_than_words = async (context) => {
  const loaded = [];
  context.on('request', (request) => loaded.push(new URL(request.url()).pathname));
  await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin: address });
  const page = await open(context);
  await page.setViewportSize({ width: 390, height: 800 });
  const wide = await ask(page, 'a wide one');
  // A table scrolls by itself; nothing else is wider than the window.
  const table = await wide.locator('.table').evaluate((table) => [table.scrollWidth > table.clientWidth, table.getBoundingClientRect().right <= innerWidth, table.tabIndex]);
  assert.deepEqual(table, [true, true, 0]);
  assert.ok(await log(page).evaluate((log) => log.scrollWidth <= log.clientWidth));
  const link = wide.getByRole('link', { name: 'The register' });
  assert.deepEqual(await link.evaluate(({ target, rel }) => [target, rel]), ['_blank', 'noopener noreferrer nofollow']);
  await page.screenshot({ path: join(process.env.PICTURES, 'wide-390.png') });
  const long = await ask(page, 'a long one');
  await long.locator('.code-head').getByText('rust').waitFor();
  await long.getByRole('button', { name: 'Copy code' }).click();
  await long.getByRole('button', { name: 'Copied' }).waitFor();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^fn rent\(year: u32\) -> u32 \{\n {4}\/\/ Indexed/);
  await long.getByRole('button', { name: 'Copy', exact: true }).click();
  await page.waitForFunction(async () => (await navigator.clipboard.readText()).startsWith('The *lease* runs'));
  // Formulas are made by a file that nobody loads before the first one. Prices are none.
  assert.ok(!loaded.includes('/attache-math.js'));
  const formulas = await ask(page, 'a formula');
  await formulas.locator('math').nth(2).waitFor();
  assert.ok(loaded.includes('/attache-math.js'));
  assert.equal(await formulas.locator('math').count(), 3);
  assert.equal(await formulas.locator('math mfrac').count(), 1);
  assert.match(await formulas.locator('p').first().innerText(), /, a chair costs \$5[^]* and a desk \$10/);
  assert.equal(await formulas.locator('p code').innerText(), '$x$');
  assert.equal(await formulas.locator('[href]').count(), 0);
  await page.screenshot({ path: join(process.env.PICTURES, 'formulas-390.png') });
  // A text that takes the place of another one is shown as if it stood alone.
  const differing = await page.evaluate(() => {
    const speaking = { copyCode: '', copied: '', blocked: () => '', source: () => '', unsupported: '', code: '/attache-code.js' };
    const texts = ['\n\nHello', 'Bye', '\nBye', 'One.\n\nTwo.\n\nThree.', 'One.\n\nTwo.\n\nFour.', '- one\n\nwords', '- one\n\n  words', 'words\n# head', 'words\n#head', ''];
    const show = (...all) => {
      const view = document.createElement('attache-markdown');
      all.forEach((text) => (view.content = { text, isMarked: false, isGrowing: false, speaking }));
      return view.innerHTML;
    };
    return texts.flatMap((before) => texts.filter((next) => show(before, next) !== show(next)).map((next) => [before, next]));
  });
  assert.deepEqual(differing, []);
};

scenarios.documents_of_all_kinds_are_shown = async (context) => {
  const page = await open(context);
  const answer = await ask(page, 'the folder');
  await answer.locator('details.call summary').click();
  const files = answer.locator('.file');
  assert.equal(await files.count(), 5);
  const pane = page.getByRole('complementary', { name: 'Document' });
  for (const [name, seen] of [['letter.docx', /\w+/], ['offer.eml', /The desks cost EUR 240 each\./], ['notes.md', /The deposit is 2,700\./]]) {
    await files.getByText(name).click();
    await pane.getByRole('heading', { name }).waitFor();
    await pane.locator('.plain').getByText(seen).first().waitFor();
  }
  await files.getByText('call.wav').click();
  await pane.locator('audio[controls]').waitFor();
  const card = files.filter({ hasText: 'supply.pdf' });
  await card.getByText('3 pages').waitFor();
  await card.click();
  await pane.locator('.leaf').nth(2).waitFor();
  // Its pages are as large as somebody wants them, and as sharp.
  const paper = pane.locator('.leaf').first().locator('.paper');
  const fitting = await paper.evaluate((paper) => paper.getBoundingClientRect().width);
  const sharper = page.waitForResponse((response) => /\/pages\/1$/.test(new URL(response.url()).pathname));
  await pane.getByRole('button', { name: 'Larger' }).click();
  await sharper;
  assert.ok((await paper.evaluate((paper) => paper.getBoundingClientRect().width)) > fitting * 1.2);
  await pane.getByRole('button', { name: 'Smaller' }).click();
  // All of it can be taken along.
  const [download] = await Promise.all([page.waitForEvent('download'), pane.getByRole('button', { name: 'Download' }).click()]);
  assert.equal(download.suggestedFilename(), 'supply.pdf');
  // Its side is as wide as somebody made it, also the next time, and no narrower than what can be read.
  const width = () => page.locator('.pane').evaluate((pane) => Math.round(pane.getBoundingClientRect().width));
  const divider = page.getByRole('separator', { name: 'Width of the document' });
  const before = await width();
  await divider.focus();
  await page.keyboard.press('ArrowLeft');
  await page.waitForFunction((before) => document.querySelector('attache-chat').shadowRoot.querySelector('.pane').getBoundingClientRect().width > before, before);
  const wider = await width();
  const at = await divider.boundingBox();
  await page.mouse.move(at.x + 4, at.y + 200);
  await page.mouse.down();
  await page.mouse.move(1200, at.y + 200, { steps: 4 });
  await page.mouse.up();
  assert.equal(await width(), 380);
  await divider.focus();
  for (let count = 0; count < 2; count += 1) {
    await page.keyboard.press('ArrowLeft');
  }
  const kept = await width();
  assert.ok(wider > before && kept > 380, `${before} ${wider} ${kept}`);
  await page.reload();
  await answers(page).locator('details.call summary').click();
  await files.getByText('notes.md').click();
  await pane.locator('.plain').waitFor();
  assert.equal(await width(), kept);
  // What a model did not get as it is has a badge, which opens the routing report.
  await answers(page).locator('.filed', { hasText: 'call.wav' }).locator('button.badge').click();
  await page.getByRole('complementary', { name: 'What the model saw' }).getByText('call.wav').waitFor();
};

scenarios.an_empty_chat_says_how_to_begin = async (context) => {
  const page = await open(context);
  await page.getByRole('heading', { name: 'Ask about your lease.' }).waitFor();
  await page.getByText('Drop files here, or paste them').waitFor();
  const examples = page.locator('.examples button');
  assert.deepEqual(await examples.allInnerTexts(), ['a long one', 'a wide one', 'the lease', 'a short one']);
  await page.screenshot({ path: join(process.env.PICTURES, 'examples.png') });
  await examples.last().click();
  await page.getByText('A short answer.').waitFor();
  // Tokens stand below the answer.
  await page.getByText('1,240 tokens in · 310 out').waitFor();
};

scenarios.a_key_is_asked_for = async (context) => {
  const page = await open(context, '/', { mayFail: true });
  const key = page.getByLabel('API key');
  // Whoever writes at once writes the key.
  await page.waitForFunction(() => document.querySelector('attache-chat').shadowRoot.activeElement?.matches('.key-form input'));
  await key.fill('not the key');
  await page.getByRole('button', { name: 'Connect' }).click();
  await page.getByText('The server does not take this key.').waitFor();
  assert.equal(await page.getByText('It is kept until this tab is closed.').count(), 0);
  assert.deepEqual(await faults(page), []);
  await page.screenshot({ path: join(process.env.PICTURES, 'key.png') });
  await key.fill('a-key-of-the-scenario-that-nobody-guesses');
  await page.getByRole('button', { name: 'Connect' }).click();
  await ask(page, 'hello');
  // It is kept in this tab alone.
  assert.ok(!(await page.evaluate(() => JSON.stringify(localStorage))).includes('a-key-of'));
  await page.reload();
  await page.getByText('A short answer.').waitFor();
  const other = await open(context, '/', { mayFail: true });
  await other.getByLabel('API key').waitFor();
};


scenarios.messages_wait_their_turn = async (context) => {
  const page = await open(context);
  await ask(page, 'word by word, slowly', { ends: false });
  for (const text of ['the second', 'the third']) {
    await box(page).fill(text);
    await box(page).press('Enter');
  }
  await page.getByRole('button', { name: 'Remove the third' }).click();
  await page.waitForFunction(() => document.querySelector('attache-chat').shadowRoot.querySelectorAll('.answer').length === 2);
  await settled(page);
  assert.deepEqual(await page.locator('.bubble').allInnerTexts(), ['word by word, slowly', 'the second']);
  // One that cannot wait is said while the answer is under way.
  await ask(page, 'word by word, slowly', { ends: false });
  await box(page).fill('make it short');
  await box(page).press('Enter');
  await page.getByRole('button', { name: 'Say it now' }).click();
  await page.locator('.bubble', { hasText: 'make it short' }).waitFor();
  assert.equal(await page.locator('.queue').count(), 0);
  await page.keyboard.press('Escape');
  await settled(page);
  // After a reload, too, what was said meanwhile is no question, and nothing stands twice.
  await page.keyboard.press('Control+Shift+O');
  await ask(page, 'look into the archive', { ends: false });
  await page.getByText('I look it up').waitFor();
  await box(page).fill('make it short');
  await box(page).press('Enter');
  await page.getByRole('button', { name: 'Say it now' }).click();
  await page.locator('.bubble', { hasText: 'make it short' }).waitFor();
  await page.reload();
  await page.getByText('A short answer.').waitFor();
  await settled(page);
  for (const text of ['I look it up', 'A short answer.']) {
    assert.equal(await page.getByText(text).count(), 1);
  }
  await answers(page).last().getByRole('button', { name: 'Answer again' }).click();
  await page.locator('.versions').getByText('2 of 2').waitFor();
  await page.getByText('It is archived.').waitFor();
  assert.deepEqual(await page.locator('.bubble').allInnerTexts(), ['look into the archive']);
  await settled(page);
  // A draft belongs to its session, and is there after a reload.
  await box(page).fill('a draft\nof two lines');
  await page.reload();
  await page.locator('.bubble').first().waitFor();
  await page.waitForFunction(() => document.querySelector('attache-chat').shadowRoot.querySelector('textarea').value === 'a draft\nof two lines');
  await page.keyboard.press('Control+Shift+O');
  await page.getByText('What would you like to know?').waitFor();
  assert.equal(await box(page).inputValue(), '');
  // The box grows with what is written, up to about ten lines.
  const height = () => box(page).evaluate((area) => area.getBoundingClientRect().height);
  const one = await height();
  await box(page).press('a');
  await box(page).press('Shift+Enter');
  await box(page).press('b');
  assert.equal(await box(page).inputValue(), 'a\nb');
  const two = await height();
  await box(page).fill('line\n'.repeat(60));
  const most = await height();
  assert.ok(one < two && two < most && most < 10.5 * (two - one) + one, `${one} ${two} ${most}`);
};

scenarios.citations_open_their_passage = async (context) => {
  const page = await open(context);
  const answer = await ask(page, 'what does the lease say?');
  const cite = answer.getByRole('button', { name: 'Source 1: lease.txt' });
  await cite.hover();
  await page.locator('.hint').getByText('The rent is EUR 900 a month').waitFor();
  await cite.click();
  const pane = page.getByRole('complementary', { name: 'Document' });
  await pane.locator('.plain mark').waitFor();
  assert.equal(await pane.locator('.plain mark').innerText(), 'The rent is EUR 900 a month');
  assert.match(await answer.locator('.unsupported').innerText(), /1,310/);
  await answer.getByText('1 figure has no source').waitFor();
  await page.keyboard.press('Escape');
  assert.equal(await pane.count(), 0);
  assert.ok(await cite.evaluate((button) => button.getRootNode().activeElement === button));
  await answer.getByRole('button', { name: 'What the model saw' }).click();
  await page.getByRole('complementary', { name: 'What the model saw' }).getByText('as text', { exact: true }).waitFor();
  await page.reload();
  await answers(page).getByRole('button', { name: 'Source 1: lease.txt' }).waitFor();
};

scenarios.the_keyboard_is_enough = async (context) => {
  const page = await open(context);
  await page.waitForFunction(() => document.querySelector('attache-chat').shadowRoot.activeElement?.tagName === 'TEXTAREA');
  await page.keyboard.type('what does the lease say?');
  await page.keyboard.press('Enter');
  await page.getByText('heating is about').waitFor();
  await settled(page);
  const focused = () => page.evaluate(() => {
    const { activeElement } = document.querySelector('attache-chat').shadowRoot;
    return `${activeElement?.getAttribute('aria-label') ?? ''}${activeElement?.textContent?.trim() ?? ''}`;
  });
  const reach = async (wanted) => {
    for (let count = 0; count < 60 && !(await focused()).includes(wanted); count += 1) {
      await page.keyboard.press('Shift+Tab');
    }
    assert.ok((await focused()).includes(wanted), `${wanted} cannot be reached`);
  };
  const order = await page.evaluate(() => {
    const root = document.querySelector('attache-chat').shadowRoot;
    const places = ['.sessions', '.log', '.composer'].map((name) => root.querySelector(name));
    return places.slice(1).every((place, at) => places[at].compareDocumentPosition(place) & Node.DOCUMENT_POSITION_FOLLOWING);
  });
  assert.ok(order, 'chats, messages, composer');
  await reach('Source 1');
  await page.keyboard.press('Enter');
  await page.locator('.pane mark').first().waitFor();
  assert.match(await focused(), /Close/);
  await page.keyboard.press('Escape');
  assert.match(await focused(), /Source 1/);
  await page.keyboard.press('Control+Shift+O');
  await page.getByText('What would you like to know?').waitFor();
  await page.keyboard.press('Control+/');
  await page.getByRole('dialog').getByText('Keyboard shortcuts').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
};

scenarios.an_input_method_sends_nothing = async (context) => {
  const page = await open(context);
  await box(page).fill('にほん');
  await box(page).evaluate((area) => {
    area.dispatchEvent(new CompositionEvent('compositionstart', { bubbles: true }));
    area.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', isComposing: true, bubbles: true, cancelable: true }));
    area.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', keyCode: 229, bubbles: true, cancelable: true }));
  });
  assert.equal(await box(page).inputValue(), 'にほん');
  assert.equal(await page.locator('.question').count(), 0);
  await box(page).dispatchEvent('compositionend');
  await box(page).press('Enter');
  await page.locator('.question').waitFor();
  await settled(page);
  // Nor does it say what is being written anew.
  await page.locator('.question').getByRole('button', { name: 'Edit' }).click();
  const editor = page.locator('.question textarea');
  await editor.evaluate((area) => {
    for (const facts of [{ key: 'Enter', keyCode: 229 }, { key: 'Escape', isComposing: true }]) {
      area.dispatchEvent(new KeyboardEvent('keydown', { ...facts, bubbles: true, cancelable: true }));
    }
  });
  await page.waitForTimeout(100);
  assert.equal(await editor.count(), 1);
};

scenarios.hostile_text_does_nothing = async (context) => {
  const foreign = [];
  context.on('request', (request) => request.url().startsWith(address) || /^(data|blob):/.test(request.url()) || foreign.push(request.url()));
  const page = await open(context, '/', { mayFail: true });
  const answer = await ask(page, 'be hostile');
  await answer.getByText('The end of the hostile answer.').waitFor();
  await page.waitForTimeout(300);
  assert.equal(await page.evaluate(() => window.attacked), undefined);
  assert.deepEqual(foreign, []);
  const found = await answer.evaluate((answer) => {
    const all = [...answer.querySelectorAll('*')];
    return {
      tags: all.map((each) => each.localName).filter((tag) => /^(script|style|iframe|form|input|svg|math|link|meta|object|embed)$/.test(tag) && !each_icon(tag, answer)),
      handlers: all.flatMap((each) => [...each.attributes].map((attribute) => attribute.name)).filter((name) => name.startsWith('on')),
      links: all.flatMap((each) => each.getAttribute('href') ?? []),
    };
    function each_icon(tag, root) {
      return tag === 'svg' && [...root.querySelectorAll('svg')].every((svg) => svg.classList.contains('icon'));
    }
  });
  assert.deepEqual(found, { tags: [], handlers: [], links: ['https://good.example'] });
  // An image of another server is loaded by a click alone.
  await page.route('https://evil.example/**', (route) => route.abort());
  await answer.getByRole('button', { name: /click to load/ }).first().click();
  // The policy of this page forbids it all the same, and a link takes its place.
  await answer.getByRole('link', { name: 'https://evil.example/leak.png?secret=1' }).waitFor();
  // Nothing but the click asked for it.
  assert.deepEqual(foreign.splice(0), ['https://evil.example/leak.png?secret=1']);
  const shop = await host(context, '<script src="/attache-chat.js" data-mode="popup" data-open defer></script>');
  const told = await ask(shop, 'be hostile');
  await told.getByText('The end of the hostile answer.').waitFor();
  assert.deepEqual(foreign, []);
  const pixel = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64');
  await shop.route('https://evil.example/**', (route) => route.fulfill({ contentType: 'image/png', body: pixel }));
  await told.getByRole('button', { name: /click to load/ }).first().click();
  await told.locator('img').first().waitFor();
  assert.deepEqual(foreign, ['https://evil.example/leak.png?secret=1']);
};

scenarios.a_hostile_page_changes_nothing = async (context) => {
  const hostile = '<style>* { all: unset !important } attache-chat, div, button { display: inline !important; font: 40px serif !important; color: red !important; text-transform: uppercase }</style>';
  const widget = '<script src="/attache-chat.js" data-mode="popup" data-open defer></script><p>A shop</p>';
  // The title comes from the server, after the rest.
  const ready = (page) => page.getByRole('heading', { name: 'papers', exact: true }).waitFor();
  const plain = await host(context, widget);
  await ready(plain);
  const looks = (page) => page.evaluate(() => {
    const root = document.querySelector('attache-chat').shadowRoot;
    return ['.shell', '.composer', '.send', '.head h1'].map((name) => {
      const { width, height } = root.querySelector(name).getBoundingClientRect();
      const { color, fontSize, fontFamily, textTransform, position } = getComputedStyle(root.querySelector(name));
      return [name, Math.round(width), Math.round(height), color, fontSize, fontFamily, textTransform, position];
    });
  });
  const wanted = await looks(plain);
  const page = await host(context, hostile + widget);
  await ready(page);
  // The font of the page is the chat's too, and nothing else.
  const withFont = wanted.map((each) => each.map((value, at) => (at === 5 ? 'serif' : value)));
  const found = await looks(page);
  const sizes = (all) => all.map(([name, , , ...rest]) => [name, ...rest]);
  assert.deepEqual(sizes(found), sizes(withFont));
  assert.deepEqual(found[0].slice(0, 3), wanted[0].slice(0, 3));
  const own = await host(context, `<style>body { font: 20px Georgia } attache-chat { --attache-font: monospace; --attache-accent: rgb(1, 2, 3) } attache-chat::part(send) { border-radius: 1px }</style>${widget}`);
  await ready(own);
  assert.deepEqual((await looks(own)).map((each) => each[5]), ['monospace', 'monospace', 'monospace', 'monospace']);
  const send = await own.locator('.send').evaluate((send) => [getComputedStyle(send).borderRadius, getComputedStyle(send.closest('.shell')).getPropertyValue('--accent')]);
  assert.deepEqual(send, ['1px', 'rgb(1, 2, 3)']);
};

scenarios.the_widget_opens_and_goes = async (context) => {
  const script = `window.attache = { q: [] };
    attache.q.push(['registerTool', { name: 'page_title', description: 'The title' }, () => document.title]);
    addEventListener('attache-message', (event) => (window.heard = [...(window.heard ?? []), event.detail.role]));`;
  const page = await host(context, '<script src="/host.js"></script><script src="/attache-chat.js" data-mode="sidebar" defer></script><p>A shop</p>', { policy: STRICT, script });
  await page.getByRole('button', { name: 'Open the chat' }).click();
  await ask(page, 'ask the page', { ends: false });
  await page.getByText('The page told me.').waitFor();
  await settled(page);
  assert.deepEqual(await page.evaluate(() => window.heard), ['user', 'assistant']);
  const id = await session(page);
  await page.reload();
  await page.getByText('The page told me.').waitFor();
  assert.equal(await session(page), id);
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  await page.getByRole('button', { name: 'Open the chat' }).waitFor();
  assert.match(await page.evaluate(() => document.querySelector('attache-chat').shadowRoot.activeElement.className), /launcher/);
  await page.evaluate(() => window.attache.destroy());
  assert.equal(await page.locator('attache-chat').count(), 0);
};

scenarios.a_lost_connection_is_told = async (context) => {
  const page = await open(context, '/', { mayFail: true });
  await ask(page, 'word by word, steadily', { ends: false });
  await answers(page).getByText(word(4)).waitFor();
  await context.setOffline(true);
  await page.getByText(/You are offline/).waitFor();
  await context.setOffline(false);
  await page.getByText(/You are offline/).waitFor({ state: 'hidden' });
  await settled(page);
  assert.deepEqual((await answers(page).locator('.markdown').innerText()).trim().split(/\s+/), Array.from({ length: 120 }, (_, at) => word(at)));
  // A chat that is opened meanwhile comes with the network.
  await page.keyboard.press('Control+Shift+O');
  await page.getByText('What would you like to know?').waitFor();
  await context.setOffline(true);
  await page.locator('.session-title').click();
  await page.locator('.messages .spinner').waitFor();
  await page.locator('.banner').waitFor();
  await context.setOffline(false);
  await answers(page).getByText(word(119)).waitFor();
  assert.equal(await page.locator('.banner').count(), 0);
  assert.equal(await page.getByRole('alert').count(), 0);
};

scenarios.languages_change_at_once = async (context) => {
  const page = await open(context);
  await page.locator('attache-chat').evaluate((chat) => (chat.language = 'en'));
  const answer = await ask(page, 'a long one');
  await answer.getByRole('button', { name: 'Copy code' }).waitFor();
  await page.getByRole('button', { name: 'Settings' }).click();
  const language = page.getByRole('dialog').getByRole('combobox').first();
  assert.equal(await language.locator('option').count(), 9);
  for (const [tag, words] of [['de', 'Neuer Chat'], ['fr', 'Nouvelle discussion'], ['ar', 'محادثة جديدة']]) {
    await language.selectOption(tag);
    await page.locator('.new-chat', { hasText: words }).waitFor();
  }
  // What is there speaks it, too.
  assert.match(await answer.locator('.copy-code').innerText(), /[\u0600-\u06ff]/);
  // A page that gives other headers does not change it.
  const asked = page.waitForResponse(/\/v1\/chat\/config/);
  await page.locator('attache-chat').evaluate((chat) => chat.setHeaders({}));
  await asked;
  assert.equal(await page.locator('.shell').getAttribute('dir'), 'rtl');
  await page.reload();
  await page.locator('.new-chat', { hasText: 'محادثة جديدة' }).waitFor();
};

scenarios.nothing_keeps_people_out = async (context) => {
  for (const colorScheme of ['light', 'dark']) {
    const page = await open(context);
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await page.emulateMedia({ colorScheme });
    // Where motion is not wanted, nothing moves: colours are there at once.
    const moving = await page.evaluate(() => document.querySelector('attache-chat').shadowRoot.getAnimations().length);
    assert.equal(moving, 0, `${moving} things move`);
    assert.deepEqual(await faults(page), [], `empty, ${colorScheme}`);
    await ask(page, 'a long one');
    // Nothing is read out while it streams; its end is.
    await page.locator('.only-heard[role=status]').getByText('The answer is there.').waitFor({ state: 'attached' });
    assert.equal(await log(page).getAttribute('aria-live'), 'off');
    await ask(page, 'think about it');
    await ask(page, 'a formula');
    const answer = await ask(page, 'what does the lease say?');
    await ask(page, 'please pay');
    await page.locator('.only-heard[role=status]').getByText('An approval is needed: pay.').waitFor({ state: 'attached' });
    assert.deepEqual(await faults(page), [], `conversation, ${colorScheme}`);
    await page.getByRole('button', { name: 'Edit', exact: true }).last().click();
    assert.deepEqual(await faults(page), [], `approval, ${colorScheme}`);
    await answer.getByRole('button', { name: 'Source 1: lease.txt' }).click();
    await page.locator('.pane mark').first().waitFor();
    assert.deepEqual(await faults(page), [], `document, ${colorScheme}`);
    await page.getByRole('button', { name: 'Settings' }).click();
    assert.deepEqual(await faults(page), [], `settings, ${colorScheme}`);
    await page.close();
  }
};

scenarios.a_telephone_has_room = async (context) => {
  const telephone = await context.browser().newContext({ viewport: { width: 390, height: 700 }, hasTouch: true, isMobile: true, locale: 'en-GB' });
  const widget = '<meta name="viewport" content="width=device-width"><script src="/attache-chat.js" data-mode="popup" data-open defer></script><p>A shop</p>';
  const page = await host(telephone, widget);
  await ask(page, 'a long one');
  const shell = await page.locator('.shell').evaluate((shell) => shell.getBoundingClientRect().toJSON());
  assert.deepEqual([shell.x, shell.y, shell.width, shell.height], [0, 0, 390, 700]);
  // Smaller letters make a telephone enlarge the page, and smaller buttons miss the finger.
  assert.equal(await box(page).evaluate((area) => getComputedStyle(area).fontSize), '16px');
  const wanting = new Set(['Copy code', 'What the model saw', 'agreement.pdf · page 2', 'Text', 'New chat', 'Settings', 'Send', 'a long one']);
  const fits = async () => {
    const all = await page.evaluate(() => [...document.querySelector('attache-chat').shadowRoot.querySelectorAll('button:not(.cite), summary, a.source')]
      .map((button) => [button.getAttribute('aria-label') ?? button.textContent.trim(), ...['width', 'height'].map((side) => button.getBoundingClientRect()[side])])
      .filter(([, width]) => width > 0));
    all.forEach(([label]) => wanting.delete(label.replace(/\s+/g, ' ')));
    assert.deepEqual(all.filter(([, width, height]) => width < 44 || height < 44), []);
    assert.ok(await log(page).evaluate((log) => log.scrollWidth <= log.clientWidth));
    // Nothing but the conversation and the document scrolls: the head stays.
    assert.deepEqual(await page.locator('.shell').evaluate((shell) => [shell.scrollTop, shell.scrollHeight]), [0, 700]);
  };
  await fits();
  const lease = await ask(page, 'what does the lease say?');
  await lease.locator('details.group .call summary').first().click();
  const cited = await ask(page, 'what does the agreement say?');
  await ask(page, 'think about it');
  await ask(page, 'please pay');
  await fits();
  await cited.getByRole('button', { name: 'agreement.pdf · page 2', exact: true }).tap();
  await page.locator('.pane .leaf').first().waitFor();
  await fits();
  await page.screenshot({ path: join(process.env.PICTURES, 'telephone-document.png') });
  await page.getByRole('button', { name: 'Close' }).last().tap();
  await page.screenshot({ path: join(process.env.PICTURES, 'telephone.png') });
  // The list of chats is a drawer, which a touch beside it closes.
  await page.getByRole('button', { name: 'Chats' }).tap();
  await page.locator('.sessions .session').waitFor();
  await fits();
  assert.deepEqual([...wanting], [], 'these were not looked at');
  await page.touchscreen.tap(380, 400);
  await page.locator('.sessions').waitFor({ state: 'hidden' });
  await telephone.close();
};

scenarios.paper_has_the_conversation_alone = async (context) => {
  const page = await open(context);
  for (let count = 0; count < 3; count += 1) {
    await ask(page, 'a long one');
  }
  await page.emulateMedia({ media: 'print' });
  const shown = await page.evaluate(() => {
    const root = document.querySelector('attache-chat').shadowRoot;
    const isShown = (name) => [...root.querySelectorAll(name)].some((each) => each.checkVisibility());
    return ['.head', '.foot', '.sessions', '.actions', '.answer', '.bubble'].map((name) => [name, isShown(name)]);
  });
  assert.deepEqual(shown, [['.head', false], ['.foot', false], ['.sessions', false], ['.actions', false], ['.answer', true], ['.bubble', true]]);
  // All of it, not what was in sight.
  const pages = (await page.pdf({ format: 'A5' })).toString('latin1').match(/\/Type\s*\/Page\b/g).length;
  assert.ok(pages > 1, `${pages} page`);
};

scenarios.pictures_are_made = async (context) => {
  for (const colorScheme of ['light', 'dark']) {
    for (const width of [1280, 390]) {
      const page = await open(context);
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      let count = 0;
      const picture = async (what) => {
        const path = join(process.env.PICTURES, `${colorScheme}-${width}-${(count += 1)}-${what}.png`);
        const bytes = await page.screenshot({ path, animations: 'disabled' });
        assert.ok(bytes.length > 5_000, what);
        const hasRoom = await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);
        assert.ok(hasRoom, `${what} is wider than the window`);
      };
      await picture('empty');
      await ask(page, 'a long one');
      await picture('long');
      await ask(page, 'think about it');
      const answer = await ask(page, 'what does the lease say?');
      await picture('tools');
      await answer.getByRole('button', { name: 'Source 1: lease.txt' }).click();
      await page.locator('.pane mark').first().waitFor();
      await picture('document');
      await page.keyboard.press('Escape');
      await answer.getByRole('button', { name: 'What the model saw' }).click();
      await picture('sight');
      await page.keyboard.press('Escape');
      await ask(page, 'please pay');
      await picture('approval');
      await page.getByRole('button', { name: 'Deny' }).click();
      await page.locator('attache-approval .primary').click();
      await page.getByText('It is settled.').waitFor();
      await settled(page);
      await page.locator('input[type=file]').setInputFiles([{ name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('The deposit is 2,700.') }]);
      // What is still under way is not sent.
      await page.locator('.chip').getByText('21 bytes').waitFor();
      await ask(page, 'word by word, slowly', { ends: false });
      await box(page).fill('And then?');
      await box(page).press('Enter');
      await picture('streaming');
      await page.keyboard.press('Escape');
      await settled(page);
      if (width === 390) {
        await page.getByRole('button', { name: 'Chats' }).click();
        await picture('chats');
      }
      await page.close();
    }
  }
};

scenarios.long_answers_stay_quick = async (context) => {
  const page = await open(context);
  await ask(page, 'hello');
  const took = await page.evaluate(async () => {
    const paragraph = 'The **rent** is 900 a month, `net`, and [due](https://example.org) on the third day.\n\n';
    const piece = `## A clause\n\n${paragraph}- one\n- two with *words*\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n\`\`\`rust\nfn rent() -> u32 { 900 }\n\`\`\`\n\n`;
    const text = piece.repeat(Math.ceil(50_000 / piece.length));
    const known = document.querySelector('attache-chat').shadowRoot.querySelector('attache-markdown');
    const view = document.createElement('attache-markdown');
    known.parentElement.append(view);
    const speaking = { copyCode: '', copied: '', blocked: () => '', source: () => '', unsupported: '', code: '/attache-code.js' };
    const show = (length) => {
      const before = performance.now();
      view.content = { text: text.slice(0, length), isMarked: false, isGrowing: true, speaking };
      return performance.now() - before;
    };
    show(text.length - 2000);
    const times = [];
    for (let length = text.length - 2000; length < text.length; length += 20) {
      times.push(show(length));
    }
    view.remove();
    times.sort((a, b) => a - b);
    return { middle: times[Math.floor(times.length / 2)], blocks: text.length };
  });
  console.log(JSON.stringify(took));
  assert.ok(took.blocks >= 50_000);
  assert.ok(took.middle < 2, `${took.middle} ms a frame`);
};

scenarios.a_question_is_written_anew = async (context) => {
  const page = await open(context);
  await ask(page, 'first');
  await ask(page, 'what does the lease say?');
  await box(page).press('ArrowUp');
  const editor = page.getByRole('textbox', { name: 'Edit the message' });
  await editor.fill('a long one');
  await editor.press('Enter');
  await page.getByText('Ask again if you want the clause itself.').waitFor();
  await settled(page);
  assert.equal(await answers(page).count(), 2);
  await page.getByText('2 of 2').waitFor();
  await page.getByRole('button', { name: 'Earlier version' }).click();
  await page.getByText('heating is about').waitFor();
  await page.getByText('1 of 2').waitFor();
  await page.getByRole('button', { name: 'Later version' }).click();
  await page.getByText('Ask again if you want the clause itself.').waitFor();
  // An answer that is made again is a version too.
  await answers(page).last().getByRole('button', { name: 'Answer again' }).click();
  await page.getByText('3 of 3').waitFor();
  await settled(page);
  assert.deepEqual(await page.locator('.bubble').allInnerTexts(), ['first', 'a long one']);
  assert.equal(await page.locator('.session').count(), 1);
};

scenarios.files_are_attached_within_limits = async (context) => {
  const page = await open(context);
  const input = page.locator('input[type=file]');
  await input.setInputFiles({ name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('The deposit is 2,700.') });
  await page.locator('.chip').getByText('21 bytes').waitFor();
  await input.setInputFiles({ name: 'large.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(200_000) });
  await page.getByText(/large\.bin is larger than/).waitFor();
  await page.screenshot({ path: join(process.env.PICTURES, 'too-large.png') });
  await page.getByRole('button', { name: 'Remove large.bin' }).click();
  await page.evaluate(() => {
    const data = new DataTransfer();
    data.items.add(new File(['a,b\n1,2\n'], 'table.csv', { type: 'text/csv' }));
    const shell = document.querySelector('attache-chat').shadowRoot.querySelector('.shell');
    shell.dispatchEvent(new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }));
    const pasted = new DataTransfer();
    const dot = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    pasted.items.add(new File([Uint8Array.from(atob(dot), (c) => c.charCodeAt(0))], 'dot.png', { type: 'image/png' }));
    const area = shell.querySelector('textarea');
    area.dispatchEvent(new ClipboardEvent('paste', { clipboardData: pasted, bubbles: true, cancelable: true }));
  });
  await page.locator('.chip img').waitFor();
  // Cells of a spreadsheet, which come with a picture of them, are words.
  const isTaken = await box(page).evaluate((area) => {
    const cells = new DataTransfer();
    cells.setData('text/plain', 'Rent\t900');
    cells.setData('text/html', '<table><tr><td>Rent</td><td>900</td></tr></table>');
    cells.items.add(new File([new Uint8Array(10)], 'image.png', { type: 'image/png' }));
    const event = new ClipboardEvent('paste', { clipboardData: cells, bubbles: true, cancelable: true });
    area.dispatchEvent(event);
    return event.defaultPrevented;
  });
  assert.ok(!isTaken);
  const invoice = readFileSync(new URL('../../../docs/examples/inbox/invoice-2026-0417.pdf', import.meta.url));
  await input.setInputFiles({ name: 'invoice.pdf', mimeType: 'application/pdf', buffer: invoice });
  await page.locator('.chip').getByText('7.4 kB').waitFor();
  await ask(page, 'have these');
  const files = page.locator('.question .file');
  assert.equal(await files.count(), 4);
  // An image, and the first page of a PDF, are seen before they are opened.
  await page.waitForFunction(() => {
    const pictures = [...document.querySelector('attache-chat').shadowRoot.querySelectorAll('.question .file attache-thumb img')];
    return pictures.length === 2 && pictures.every((picture) => picture.naturalWidth > 0);
  });
  await page.screenshot({ path: join(process.env.PICTURES, 'files.png') });
  await files.getByText('table.csv').click();
  await page.locator('.pane td', { hasText: '2' }).waitFor();
  await files.getByText('dot.png').click();
  await page.locator('.pane img.picture').waitFor();
};

scenarios.sessions_are_found_renamed_and_deleted = async (context) => {
  const page = await open(context);
  await ask(page, 'about apples');
  const apples = await session(page);
  await page.getByRole('button', { name: 'New chat' }).first().click();
  await ask(page, 'about pears');
  const rows = page.locator('.session');
  await rows.nth(1).waitFor();
  await page.getByRole('searchbox', { name: 'Search chats' }).fill('apples');
  await page.waitForFunction(() => document.querySelector('attache-chat').shadowRoot.querySelectorAll('.session').length === 1);
  await page.getByRole('searchbox', { name: 'Search chats' }).fill('');
  await rows.nth(1).waitFor();
  // The address is that of the session, also after going back.
  assert.equal(new URL(page.url()).hash, `#/s/${await session(page)}`);
  await rows.getByText('about apples').click();
  await page.locator('.question', { hasText: 'about apples' }).waitFor();
  assert.equal(new URL(page.url()).hash, `#/s/${apples}`);
  // Something else that changes in the moment in which the browser goes back does not take it forth again.
  await page.evaluate(() => addEventListener('popstate', () => {
    const { requestAnimationFrame } = window;
    window.requestAnimationFrame = (act) => (queueMicrotask(act), 1);
    dispatchEvent(new Event('online'));
    window.requestAnimationFrame = requestAnimationFrame;
  }, { once: true }));
  await page.goBack();
  await page.locator('.question', { hasText: 'about pears' }).waitFor();
  // One that is pinned stands above the others, also after a reload.
  const order = () => rows.locator('.session-title').allInnerTexts();
  assert.deepEqual(await order(), ['about pears', 'about apples']);
  await page.locator('.sessions h3', { hasText: 'Today' }).waitFor();
  await rows.getByText('about apples').hover();
  await page.getByRole('button', { name: 'Pin: about apples' }).click();
  await page.locator('.sessions h3', { hasText: 'Pinned' }).waitFor();
  await page.reload();
  await rows.nth(1).waitFor();
  assert.deepEqual(await order(), ['about apples', 'about pears']);
  await rows.first().hover();
  await page.getByRole('button', { name: 'Unpin: about apples' }).click();
  assert.deepEqual(await order(), ['about pears', 'about apples']);
  await rows.first().hover();
  await page.getByRole('button', { name: 'Rename: about pears' }).click();
  await page.getByRole('textbox', { name: 'Rename the chat' }).fill('Pears');
  await page.keyboard.press('Enter');
  await rows.getByText('Pears').waitFor();
  await rows.getByText('Pears').hover();
  await page.getByRole('button', { name: 'Delete: Pears' }).click();
  await page.getByRole('button', { name: 'Undo' }).click();
  await rows.getByText('Pears').waitFor();
  await rows.getByText('Pears').hover();
  await page.getByRole('button', { name: 'Delete: Pears' }).click();
  await page.getByText('What would you like to know?').waitFor();
  await page.getByRole('button', { name: 'Undo' }).waitFor();
  await page.getByRole('button', { name: 'Undo' }).waitFor({ state: 'detached' });
  await rows.getByText('Pears').waitFor({ state: 'detached' });
  for (let at = 0; at < 100 && (await api('/v1/sessions')).total > 1; at += 1) {
    await new Promise((next) => setTimeout(next, 50));
  }
  assert.deepEqual((await api('/v1/sessions')).sessions.map((each) => each.title), ['about apples']);
};

scenarios.a_citation_opens_a_pdf_at_its_page = async (context) => {
  const page = await open(context);
  const answer = await ask(page, 'what does the agreement say?');
  const quote = 'begins on 1 December 2025 and runs for two years';
  const words = async (place) => (await place.innerText()).replace(/\s+/g, ' ');
  const clause = page.locator('.pane .leaf[data-page="2"]');
  // A page that is on its way looks like paper, one that cannot be had like a broken picture.
  let lose;
  const isLost = new Promise((next) => (lose = next));
  await page.route(/\/pages\//, (route) => isLost.then(() => route.abort()));
  await answer.getByRole('button', { name: /Source 1: agreement\.pdf/ }).click();
  const looksLike = (opacity) => page.waitForFunction((opacity) => {
    const image = document.querySelector('attache-chat').shadowRoot.querySelector('.pane .leaf[data-page="2"] img');
    return image?.dataset.loaded !== undefined && getComputedStyle(image).opacity === opacity;
  }, opacity);
  await looksLike('0');
  lose();
  await looksLike('1');
  page.faults = page.faults.filter((fault) => !fault.includes('ERR_FAILED'));
  await page.unroute(/\/pages\//);
  await page.getByRole('button', { name: 'Close', exact: true }).click();
  await answer.getByRole('button', { name: /Source 1: agreement\.pdf/ }).click();
  await clause.locator('mark').waitFor();
  // The words around the quote are those of the page: nobody but the document has them.
  assert.equal(await words(clause.locator('mark')), quote);
  assert.match(await words(clause.locator('.passage-text')), /This agreement begins on .* two years\. It is extended by one year/);
  // The mark on the image stands where pdftotext (poppler 22.12) says that the words are, in parts of the page.
  const mark = clause.locator('.area');
  await mark.waitFor();
  await page.waitForFunction(() => document.querySelector('attache-chat').shadowRoot.querySelector('.pane .leaf[data-page="2"] img')?.naturalWidth > 300);
  const box = await clause.locator('.paper').evaluate((paper) => {
    const [sheet, image, at, body] = [paper, paper.querySelector('img'), paper.querySelector('.area'), paper.closest('.pane-body')].map((each) => each.getBoundingClientRect());
    const part = [(at.left - image.left) / image.width, (at.top - image.top) / image.height, (at.right - image.left) / image.width, (at.bottom - image.top) / image.height];
    return { part, isSame: Math.abs(sheet.height - image.height) < 1, isSeen: at.top >= body.top && at.bottom <= body.bottom };
  });
  [0.2875, 0.6549, 0.6891, 0.6672].forEach((wanted, at) => assert.ok(Math.abs(box.part[at] - wanted) < 0.008, `${box.part}`));
  assert.ok(box.isSame && box.isSeen, JSON.stringify(box));
  await page.screenshot({ path: join(process.env.PICTURES, 'pdf-marked.png') });
  await page.getByRole('button', { name: 'Text', exact: true }).click();
  const section = page.locator('.pane .text-page[data-page="2"]');
  await section.locator('mark').waitFor();
  assert.equal(await words(section.locator('mark')), quote);
  assert.match(await words(section), /This agreement begins on/);
  assert.equal(await page.locator('.pane mark').count(), 1);
  assert.ok(await section.locator('mark').evaluate((mark) => {
    const [at, body] = [mark, mark.closest('.pane-body')].map((each) => each.getBoundingClientRect());
    return at.top >= body.top && at.bottom <= body.bottom;
  }), 'the mark is in sight');
  // A quote that does not stand on the page that is cited is shown by itself.
  const other = await ask(page, 'what does the agreement say at the end?');
  await other.getByRole('button', { name: /Source 1: agreement\.pdf/ }).click();
  const leaf = page.locator('.pane .leaf[data-page="3"]');
  await leaf.locator('.passage-text').waitFor();
  assert.equal(await words(leaf.locator('.passage-text')), quote);
  assert.equal(await leaf.locator('mark, .area').count(), 0);
  await leaf.getByText('These words do not stand where they are cited.').waitFor();
  const image = leaf.locator('img');
  await page.waitForFunction(() => {
    const image = document.querySelector('attache-chat').shadowRoot.querySelector('.pane .leaf[data-page="3"] img');
    return image?.complete && image.naturalWidth > 300;
  });
  const seen = await leaf.evaluate((leaf) => {
    const [at, body] = [leaf, leaf.closest('.pane-body')].map((each) => each.getBoundingClientRect());
    return Math.abs(at.top - body.top);
  });
  assert.ok(seen < 60, `the page stands ${seen} px below the edge`);
  await image.screenshot({ path: join(process.env.PICTURES, 'pdf-page.png') });
  await page.screenshot({ path: join(process.env.PICTURES, 'pdf.png') });
  // Where they do stand is one click away, and marked.
  await leaf.getByRole('button', { name: 'page 2' }).click();
  await clause.locator('.area').waitFor();
};

scenarios.tools_of_the_browser_need_leave = async (context) => {
  const script = "localStorage.setItem('cart', '3 chairs'); localStorage.setItem('attache.theme', '\"dark\"');";
  const widget = (more) => `<script src="/host.js"></script><script src="/attache-chat.js" data-mode="popup" data-open ${more} defer></script><p>A shop</p>`;
  const closed = await host(context, widget(''), { policy: STRICT, script });
  await ask(closed, 'read the storage');
  await closed.getByText('No tool reads the storage.').waitFor();
  await ask(closed, 'read the biscuit');
  await closed.getByText('No tool reads the cookies.').waitFor();
  await closed.close();
  const page = await host(context, widget('data-page-tools="storage"'), { policy: STRICT, script });
  await page.evaluate(() => document.querySelector('attache-chat').newSession());
  await ask(page, 'read the storage');
  await page.getByText('The storage told me.').waitFor();
  const told = await results(page);
  // What the chat itself keeps is for no tool.
  assert.equal(told.length, 2);
  assert.match(JSON.stringify(told[0]), /3 chairs/);
  assert.match(JSON.stringify(told[1]), /not for tools/);
  // Leave for the one is none for the other.
  await ask(page, 'read the biscuit');
  await page.getByText('No tool reads the cookies.').waitFor();
  const cookies = await host(context, widget('data-page-tools="cookies"'), { policy: STRICT, script: "document.cookie = 'shop=17';" });
  await cookies.evaluate(() => document.querySelector('attache-chat').newSession());
  await ask(cookies, 'read the biscuit');
  await cookies.getByText('The cookies told me.').waitFor();
  assert.deepEqual((await results(cookies)).map((result) => result.content), ['17']);
  // Leave that was taken back is none, and may be given again.
  await cookies.evaluate(() => document.querySelector('attache-chat').removeAttribute('page-tools'));
  await ask(cookies, 'read the biscuit');
  await cookies.getByText('No tool reads the cookies.').waitFor();
  await cookies.evaluate(() => document.querySelector('attache-chat').setAttribute('page-tools', 'cookies'));
  await ask(cookies, 'read the biscuit');
  await cookies.getByText('The cookies told me.').nth(1).waitFor();
  // Each tool does what it says, and no more.
  const offering = `localStorage.clear(); localStorage.setItem('cart', '3 chairs'); localStorage.setItem('attache.theme', '"dark"'); document.cookie = 'shop=17'; document.cookie = 'tax=a=b'; document.cookie = 'plain';
    window.notices = []; window.Notification = class { constructor(title, { body }) { notices.push([title, body]); } static requestPermission() { return Promise.resolve(window.leave ?? 'granted'); } };
    window.attache = { q: [['registerTool', { name: 'cookies_get', description: 'The one of the page' }, () => 'from the page']] };`;
  const all = await host(context, widget('data-page-tools="page notify storage cookies"'), { policy: STRICT, script: offering });
  await all.evaluate(() => (document.querySelector('attache-chat').newSession(), document.title = 'A shop of chairs'));
  const call = async (name, given = {}) => {
    const answer = await ask(all, `call ${name} ${JSON.stringify(given)}`, { ends: false });
    await answer.getByText('It is called.').waitFor();
    const { content, isError } = (await results(all)).at(-1);
    return isError ? `failed: ${content}` : content;
  };
  assert.deepEqual(await call('page_info'), { url: `${address}/host`, title: 'A shop of chairs', language: 'en', selection: '' });
  assert.deepEqual(await call('storage_list'), ['cart']);
  assert.equal(await call('storage_set', { key: 'order', value: '17' }), 'written');
  assert.match(await call('storage_set', { key: 'attache.theme', value: 'none' }), /^failed: .*not for tools/);
  assert.equal(await call('storage_remove', { key: 'cart' }), 'removed');
  assert.match(await call('storage_remove', { key: 'attache.theme' }), /^failed: .*not for tools/);
  assert.deepEqual(await all.evaluate(() => ['cart', 'order', 'attache.theme'].map((key) => localStorage.getItem(key))), [null, '17', '"dark"']);
  assert.deepEqual(await call('cookies_list'), { shop: '17', tax: 'a=b', '': 'plain' });
  assert.equal(await call('notify', { title: 'Done', body: 'Two chairs' }), 'shown');
  await all.evaluate(() => (window.leave = 'denied'));
  assert.match(await call('notify', { title: 'Again' }), /^failed: .*does not allow notices/);
  assert.deepEqual(await all.evaluate(() => notices), [['Done', 'Two chairs']]);
  // A tool of the page has the name that one of the browser would have.
  assert.equal(await call('cookies_get', { name: 'shop' }), 'from the page');
  // The one of the browser is there again once the page takes its own back.
  await all.evaluate(() => window.attache.registerTool({ name: 'cookies_get' }, () => 'again')());
  assert.equal(await call('cookies_get', { name: 'shop' }), '17');
  assert.equal(await call('cookies_get', { name: '' }), 'plain');
};

scenarios.headers_and_facts_are_asked_for_each_time = async (context) => {
  const script = `window.attache = { q: [] }; let asked = 0; window.order = 'order-17';
    attache.q.push(['setHeaders', () => ({ 'x-shop': 'visit-' + (asked += 1) })]);
    attache.q.push(['setContext', 'order', () => window.order]);`;
  const heads = [];
  context.on('request', (request) => request.method() === 'POST' && heads.push(request.headers()['x-shop']));
  const page = await host(context, '<main id="here"></main><script src="/host.js"></script><script src="/attache-chat.js" data-mode="inline" data-container="#here" defer></script>', { policy: STRICT, script });
  assert.equal(await page.locator('#here > attache-chat').count(), 1);
  // A place without a height of its own: the chat has one nevertheless, whatever is said in it.
  const height = () => page.locator('attache-chat').evaluate((chat) => [chat, chat.shadowRoot.querySelector('.shell')].map((each) => Math.round(each.getBoundingClientRect().height)));
  assert.deepEqual(await height(), [480, 480]);
  await ask(page, 'a long one');
  await ask(page, 'another long one');
  assert.deepEqual(await height(), [480, 480]);
  await page.evaluate(() => (document.querySelector('#here').style.height = '600px'));
  assert.deepEqual(await height(), [600, 600]);
  heads.length = 0;
  await (await ask(page, 'my order?')).getByText('I know of order-17.').waitFor();
  await page.evaluate(() => (window.order = 'order-18'));
  await (await ask(page, 'and my order now?')).getByText('I know of order-18.').waitFor();
  const told = heads.slice();
  assert.equal(told.length, 2);
  assert.ok(told.every((head) => /^visit-\d+$/.test(head)) && told[0] !== told[1], told.join());
  // New headers leave whoever is in a chat there, also where another tab was in another one since.
  const mine = await session(page);
  const other = await host(context, '<script src="/attache-chat.js" data-mode="inline" defer></script>');
  await other.evaluate(() => window.attache.newSession());
  await ask(other, 'hello');
  await Promise.all([
    page.waitForResponse((response) => response.url().includes('/v1/sessions?')),
    page.evaluate(() => (document.activeElement?.blur(), window.attache.setHeaders(() => ({ 'x-shop': 'visit-9' })))),
  ]);
  assert.deepEqual([await session(page), await page.evaluate(() => document.activeElement === document.body)], [mine, true]);
};

scenarios.the_page_drives_the_chat = async (context) => {
  // The page is of another origin than the server, which allows it.
  const shop = 'http://127.0.0.1:18999';
  const body = `<!doctype html><html lang="en"><title>A shop</title><script>
    window.heard = [];
    for (const name of ['ready', 'open', 'close', 'message', 'error']) addEventListener('attache-' + name, (event) => heard.push(name));
    window.attache = { q: [['setAuth', async () => 'token-' + (window.tokens = (window.tokens ?? 0) + 1)]] };
    </script><script src="${address}/attache-chat.js" data-agent="letters" data-mode="popup" data-theme="dark" data-language="de" data-heading="Briefe" defer></script>`;
  await context.route(`${shop}/`, (route) => route.fulfill({ contentType: 'text/html', body }));
  const asked = [];
  context.on('request', (request) => request.url().includes('/runs') && request.method() === 'POST' && asked.push([request.url(), request.headers().authorization]));
  const page = await context.newPage();
  opened.push(Object.assign(page, { faults: [] }));
  page.on('console', (message) => console.error(message.text()));
  page.on('pageerror', (error) => page.faults.push(String(error)));
  await page.goto(`${shop}/`);
  await page.getByRole('button', { name: 'Chat öffnen' }).waitFor();
  assert.deepEqual(await page.evaluate(() => heard), ['ready']);
  await page.evaluate(() => attache.open());
  await page.getByRole('heading', { name: 'Briefe' }).waitFor();
  assert.equal(await page.locator('.shell').evaluate((shell) => getComputedStyle(shell).colorScheme), 'dark');
  await page.evaluate(() => attache.send('have this', [new File(['The deposit is 2,700.'], 'note.txt', { type: 'text/plain' })]));
  await page.getByText('I write letters.').waitFor();
  await page.locator('.question .file', { hasText: 'note.txt' }).waitFor();
  await settled(page);
  const first = await session(page);
  await page.evaluate(() => attache.newSession());
  await page.locator('.question').waitFor({ state: 'detached' });
  await page.evaluate((id) => attache.openSession(id), first);
  await page.locator('.question .file', { hasText: 'note.txt' }).waitFor();
  await page.evaluate(() => attache.close());
  await page.getByRole('button', { name: 'Chat öffnen' }).waitFor();
  assert.deepEqual(await page.evaluate(() => heard), ['ready', 'open', 'message', 'message', 'close']);
  assert.equal(asked.length, 1);
  assert.match(asked[0][1], /^Bearer token-\d+$/);
  // Whatever fails is told the page. A token may also be a text.
  await page.evaluate(() => attache.setAuth('token-of-ann'));
  await page.route('**/v1/sessions/**', (route) => route.abort());
  await page.evaluate(() => (attache.open(), attache.send('and now?')));
  await page.waitForFunction(() => heard.includes('error'));
  assert.equal(asked.at(-1)[1], 'Bearer token-of-ann');
};

scenarios.the_demo_fills_its_cart = async (context) => {
  const demo = readFileSync(new URL('../../../docs/examples/shop.html', import.meta.url), 'utf8');
  const body = demo.replaceAll('http://127.0.0.1:8080', address);
  await context.route(`${address}/shop`, (route) => route.fulfill({ contentType: 'text/html', body }));
  const page = await open(context, '/shop');
  await page.getByRole('button', { name: 'Open the chat' }).click();
  await ask(page, 'two stools and a bench into my cart');
  await page.getByText('They are in your cart.').waitFor();
  assert.equal(await page.locator('#cart').innerText(), '2 × Stool, 1 × Bench');
  await page.screenshot({ path: join(process.env.PICTURES, 'demo.png') });
};

scenarios.pictures_of_other_places_are_made = async (context) => {
  const picture = async (page, name) => {
    const bytes = await page.screenshot({ path: join(process.env.PICTURES, `${name}.png`), animations: 'disabled' });
    assert.ok(bytes.length > 3_000, name);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${name} is wider than the window`);
  };
  for (const [colorScheme, width] of [['light', 1280], ['dark', 390]]) {
    const view = async (page) => {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
    };
    for (const mode of ['popup', 'sidebar', 'inline']) {
      const body = `<style>html { color-scheme: light dark; font: 16px sans-serif }</style><h1>A shop</h1><p>Chairs and desks.</p>
        <script src="/attache-chat.js" data-mode="${mode}" ${mode === 'inline' ? '' : 'data-open'} defer></script>`;
      const page = await host(context, body);
      await view(page);
      await page.evaluate(() => document.querySelector('attache-chat').newSession());
      await ask(page, 'a long one');
      await ask(page, 'what does the lease say?');
      await picture(page, `${mode}-${colorScheme}-${width}`);
      await page.close();
    }
    const page = await open(context, '/', { mayFail: true });
    await view(page);
    await page.evaluate(() => (document.querySelector('attache-chat').language = 'ar'));
    await page.locator('.shell[dir=rtl]').waitFor();
    const area = page.locator('attache-composer textarea');
    await area.fill('متى يستحق الإيجار؟');
    await area.press('Enter');
    const answer = answers(page).first();
    await answer.locator('pre code').waitFor();
    await settled(page);
    // Words from right to left begin at the right; code from left to right does not.
    const sides = await answer.evaluate((answer) => ['p', 'pre code'].map((name) => getComputedStyle(answer.querySelector(name)).direction));
    assert.deepEqual(sides, ['rtl', 'ltr']);
    await picture(page, `rtl-${colorScheme}-${width}`);
    await context.setOffline(true);
    await page.locator('.banner').waitFor();
    await picture(page, `offline-${colorScheme}-${width}`);
    await context.setOffline(false);
    await page.close();
  }
};

/** The longest that a scenario takes. */
const late = setTimeout(() => {
  console.error('the scenario takes too long');
  process.exit(1);
}, 90_000);

// A page that a scenario makes up comes from nowhere, and might not ask a server of this machine.
const args = ['--no-sandbox', '--disable-features=LocalNetworkAccessChecks'];
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args });
try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, locale: 'en-GB' });
  await scenarios[name](context);
  for (const page of opened) {
    assert.deepEqual(page.faults, [], 'the page has faults');
  }
} catch (error) {
  for (const [at, page] of opened.entries()) {
    if (!page.isClosed()) {
      await page.screenshot({ path: join(process.env.PICTURES, `${name}-${at}.png`) }).catch(() => undefined);
    }
  }
  console.error(error);
  process.exitCode = 1;
} finally {
  clearTimeout(late);
  // A page may still be asking for something when its scenario is over.
  await Promise.all(browser.contexts().map((context) => context.unrouteAll({ behavior: 'ignoreErrors' })));
  await browser.close();
}
