// Scenarios of single promises: the keys of the guide, tokens and cost, hidden reasoning, states of calls, uploads, sources.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { answers, api, ask, box, host, open, results, session, settled, word } from './page.mjs';

const scenarios = {};
export { scenarios as details };

/** The first cell of each row of the guide's table of keys. */
const guide = readFileSync(new URL('../../../docs/guide/web-chat.md', import.meta.url), 'utf8');
const rows = guide
  .split('\n## Keyboard shortcuts\n')[1]
  .split('\n')
  .map((line) => /^\| ([^|]+) \| [^|]+ \|$/.exec(line)?.[1])
  .filter((cell) => cell && cell !== '---');

/** What each row says, tried with a keyboard alone. */
const KEYS = {
  'Enter, Shift+Enter': async (page) => {
    await box(page).focus();
    await page.keyboard.type('one');
    await page.keyboard.press('Shift+Enter');
    await page.keyboard.type('two');
    assert.equal(await box(page).inputValue(), 'one\ntwo');
    assert.equal(await page.locator('.question').count(), 0);
    await page.keyboard.press('Enter');
    await settled(page);
    assert.deepEqual(await page.locator('.bubble').allInnerTexts(), ['one\ntwo']);
    assert.equal(await box(page).inputValue(), '');
  },
  Esc: async (page, context) => {
    const popup = await host(context, '<script src="/attache-chat.js" data-mode="popup" data-open defer></script><p>A shop</p>');
    const cited = await ask(popup, 'what does the lease say?');
    await cited.getByRole('button', { name: 'Source 1: lease.txt' }).click();
    const slow = await ask(popup, 'word by word, slowly', { ends: false });
    await slow.getByText(word(3)).waitFor();
    const pane = popup.getByRole('complementary', { name: 'Document' });
    // One thing each time: the answer first, with the document still there; then the document; then the chat.
    await popup.keyboard.press('Escape');
    await slow.getByText('Stopped').waitFor();
    assert.equal(await pane.count(), 1);
    await popup.keyboard.press('Escape');
    await pane.waitFor({ state: 'detached' });
    assert.equal(await answers(popup).count(), 2);
    await popup.keyboard.press('Escape');
    await popup.getByRole('button', { name: 'Open the chat' }).waitFor();
    await popup.close();
  },
  '↑ in an empty box': async (page) => {
    await ask(page, 'first');
    // In a box with words it moves the caret.
    await box(page).fill('words');
    await page.keyboard.press('ArrowUp');
    assert.equal(await page.getByRole('textbox', { name: 'Edit the message' }).count(), 0);
    await box(page).fill('');
    await page.keyboard.press('ArrowUp');
    const editor = page.getByRole('textbox', { name: 'Edit the message' });
    assert.equal(await editor.inputValue(), 'first');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('second');
    await page.keyboard.press('Enter');
    await page.getByText('2 of 2').waitFor();
    await settled(page);
    assert.deepEqual(await page.locator('.bubble').allInnerTexts(), ['second']);
  },
  'Ctrl/⌘+Shift+O, Ctrl/⌘+/': async (page) => {
    for (const command of ['Control', 'Meta']) {
      await ask(page, 'hello');
      await page.keyboard.press(`${command}+Shift+O`);
      await page.getByText('What would you like to know?').waitFor();
      await page.keyboard.press(`${command}+/`);
      const dialog = page.getByRole('dialog', { name: 'Settings' });
      await dialog.waitFor();
      // The list there has the keys of the guide, and no others.
      const listed = await dialog.locator('.keys dt').evaluateAll((all) => all.map((each) => [...each.querySelectorAll('kbd')].map((key) => key.textContent).join('+')));
      assert.deepEqual(listed.sort(), ['Enter', 'Shift+Enter', 'Esc', '↑', 'Ctrl+Shift+O', 'Ctrl+/', 'A+D+E'].sort());
      await page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'hidden' });
    }
  },
  'A, D, E on an approval': async (page) => {
    const card = page.getByRole('alertdialog');
    const active = () => page.evaluate(() => document.querySelector('attache-chat').shadowRoot.activeElement?.localName);
    // Letters that somebody writes decide nothing.
    await ask(page, 'please pay');
    await card.waitFor();
    await box(page).focus();
    await page.keyboard.type('ade');
    assert.equal(await box(page).inputValue(), 'ade');
    await box(page).fill('');
    await card.focus();
    // Nor do commands of the browser.
    await page.keyboard.press('Control+A');
    await page.keyboard.press('e');
    const to = card.getByRole('textbox', { name: 'To' });
    await to.waitFor();
    assert.ok(await to.evaluate((field) => field.getRootNode().activeElement === field), 'the first value has the focus');
    await page.keyboard.press('End');
    await page.keyboard.type(' ade');
    assert.equal(await to.inputValue(), 'Harbour Road GmbH ade');
    // The Esc of an input method is its own.
    await to.evaluate((field) => field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', isComposing: true, bubbles: true, cancelable: true })));
    await page.waitForTimeout(100);
    assert.equal(await to.inputValue(), 'Harbour Road GmbH ade');
    // Esc leaves the values as they were, and decides nothing.
    await page.keyboard.press('Escape');
    await to.waitFor({ state: 'detached' });
    await card.getByText('Harbour Road GmbH', { exact: true }).waitFor();
    assert.doesNotMatch(JSON.stringify(await results(page)), /"paid"/);
    assert.equal((await api('/v1/approvals')).approvals.length, 1);
    assert.equal(await active(), 'section', 'the approval has the focus again');
    // What was written is there again, until somebody cancels it.
    await page.keyboard.press('E');
    assert.equal(await to.inputValue(), 'Harbour Road GmbH ade');
    await card.getByRole('button', { name: 'Cancel' }).click();
    await to.waitFor({ state: 'detached' });
    await page.keyboard.press('E');
    assert.equal(await to.inputValue(), 'Harbour Road GmbH');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Control+A');
    await page.keyboard.type('12');
    await card.locator('tr.edited').getByText('before: 1845').waitFor();
    await card.getByRole('button', { name: 'Approve with changes' }).focus();
    await page.keyboard.press('Enter');
    await page.getByText(/^Pay: Approved with changes by local/).waitFor();
    await settled(page);
    await ask(page, 'pay again');
    await card.focus();
    await page.keyboard.press('d');
    assert.equal(await active(), 'textarea', 'the reason has the focus');
    await page.keyboard.type('too dear');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByText(/^Pay: Denied by local: too dear/).waitFor();
    await settled(page);
    await ask(page, 'pay once more');
    await card.focus();
    await page.keyboard.press('a');
    await page.getByText(/^Pay: Approved by local/).waitFor();
    await settled(page);
    const told = await results(page);
    assert.deepEqual(told.map((result) => result.isError), [false, true, false]);
    assert.deepEqual([told[0].content.arguments, told[0].content.result], [{ to: 'Harbour Road GmbH', amount: 12, currency: 'EUR' }, 'paid']);
    assert.match(told[1].content, /too dear/);
    assert.equal(told[2].content, 'paid');
  },
};

scenarios.the_keys_of_the_guide_do_what_it_says = async (context) => {
  assert.deepEqual(rows, Object.keys(KEYS));
  for (const tried of Object.values(KEYS)) {
    const page = await open(context);
    await tried(page, context);
    await page.close();
  }
};

scenarios.tokens_and_cost_are_those_of_the_prices = async (context) => {
  // The two replies as `stage.rs` has the model count them, and its prices of a million tokens in millionths of a euro.
  const replies = [
    { input: 12_000n, cached: 8_000n, output: 340n },
    { input: 12_500n, cached: 12_000n, output: 1_260n },
  ];
  const price = { input: 3_000_000n, cached: 300_000n, output: 15_000_000n };
  const sum = (of) => replies.reduce((all, reply) => all + of(reply), 0n);
  const millionths = sum(({ input, cached, output }) => (input - cached) * price.input + cached * price.cached + output * price.output) / 1_000_000n;
  const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ',');
  const figures = (mark) => `0${mark}${String(millionths).padStart(6, '0').replace(/0+$/, '')}`;
  const wanted = `${grouped(sum(({ input }) => input))} tokens in · ${grouped(sum(({ output }) => output))} out · €${figures('.')}`;
  assert.equal(wanted, '24,500 tokens in · 1,600 out · €0.0435');
  const page = await host(context, '<script src="/attache-chat.js" data-agent="dear" data-mode="popup" data-open defer></script><p>A shop</p>');
  await page.getByRole('heading', { name: 'dear', exact: true }).waitFor();
  const counts = (of) => of.locator('.counts').allInnerTexts();
  assert.deepEqual(await counts(await ask(page, 'a dear one')), [wanted]);
  // Each answer has its own, also after a reload.
  assert.deepEqual(await counts(await ask(page, 'another dear one')), [wanted]);
  await page.reload();
  await page.locator('.counts').nth(1).waitFor();
  await page.waitForFunction((wanted) => [...document.querySelector('attache-chat').shadowRoot.querySelectorAll('.counts')].every((each) => each.innerText === wanted), wanted);
  await page.evaluate(() => (document.querySelector('attache-chat').language = 'de'));
  await page.locator('.counts', { hasText: '24.500' }).first().waitFor();
  assert.ok((await counts(page))[0].endsWith(` · ${figures(',')}\u00A0€`), (await counts(page))[0]);
  // Where no price is known no cost is made up.
  const other = await open(context);
  assert.deepEqual(await counts(await ask(other, 'a short one')), ['1,240 tokens in · 310 out']);
};

scenarios.thoughts_that_a_provider_keeps_have_a_label_only = async (context) => {
  const page = await open(context);
  const answer = await ask(page, 'think secretly');
  const label = answer.locator('.thinking');
  for (const isReloaded of [false, true]) {
    if (isReloaded) {
      await page.reload();
      await settled(page);
    }
    assert.deepEqual(await label.allInnerTexts(), ['Thought']);
    // There is nothing to open.
    assert.equal(await answer.locator('details.thinking').count(), 0);
    assert.match(await answer.innerText(), /^Thought\s+The rent is 900/);
  }
  // It is that answer's alone.
  const next = await ask(page, 'a short one');
  assert.equal(await next.locator('.thinking').count(), 0);
  // Reasoning that can be read is no mere label.
  const readable = await ask(page, 'think about it');
  await readable.locator('details.thinking summary').click();
  await readable.getByText('I should look at the lease first.').waitFor();
  assert.deepEqual(await answers(page).first().locator('.thinking').allInnerTexts(), ['Thought']);
};

scenarios.calls_that_do_not_end_well_say_how = async (context) => {
  const page = await open(context);
  const stopped = await ask(page, 'the archive', { ends: false });
  await stopped.getByText('page 3 of 12').waitFor();
  assert.equal(await stopped.locator('.call .state').innerText(), 'Running');
  await page.keyboard.press('Escape');
  await stopped.getByText('Stopped').waitFor();
  assert.equal(await stopped.locator('.call .state').innerText(), 'Cancelled');
  assert.equal(await stopped.getByRole('progressbar').count(), 0);
  const denied = await ask(page, 'please pay');
  await page.getByRole('alertdialog').getByRole('button', { name: 'Deny' }).click();
  await page.getByRole('alertdialog').getByRole('button', { name: 'Deny' }).click();
  await denied.getByText('It is settled.').waitFor();
  assert.equal(await denied.locator('.call .state').innerText(), 'Denied');
  await page.reload();
  await denied.locator('.call .state').getByText('Denied').waitFor();
  // Each has a sign beside its word: nobody needs to see colours.
  for (const answer of [stopped, denied]) {
    assert.equal(await answer.locator('.call .state svg').count(), 1);
  }
};

scenarios.a_question_beside_a_decision_waits = async (context) => {
  const page = await open(context);
  await ask(page, 'please pay');
  let go;
  const held = new Promise((next) => (go = next));
  let isAsked = false;
  await page.route(/\/v1\/approvals\//, async (route) => {
    await held;
    await route.continue();
  });
  page.on('request', (request) => (isAsked ||= request.method() === 'POST' && request.url().includes('/runs')));
  await page.getByRole('alertdialog').getByRole('button', { name: 'Approve', exact: true }).click();
  // The server does not know of the decision yet, and would refuse the question.
  await box(page).fill('a short one');
  await box(page).press('Enter');
  await page.locator('.queue li', { hasText: 'a short one' }).waitFor();
  assert.ok(!isAsked);
  go();
  await page.getByText('It is settled.').waitFor();
  await page.getByText('A short answer.').waitFor();
  assert.equal(await page.locator('.queue').count(), 0);
  assert.deepEqual(await page.locator('.bubble').allInnerTexts(), ['please pay', 'a short one']);
  // A decision of one conversation holds up no other one.
  await page.unroute(/\/v1\/approvals\//);
  const heldAgain = new Promise((next) => (go = next));
  await page.route(/\/v1\/approvals\//, async (route) => {
    await heldAgain;
    await route.continue();
  });
  await ask(page, 'pay again');
  const first = await session(page);
  await page.getByRole('alertdialog').getByRole('button', { name: 'Approve', exact: true }).click();
  await page.keyboard.press('Control+Shift+O');
  await page.getByText('What would you like to know?').waitFor();
  await (await ask(page, 'another short one')).getByText('A short answer.').waitFor();
  assert.equal(await page.locator('.queue').count(), 0);
  go();
  await page.evaluate((first) => document.querySelector('attache-chat').openSession(first), first);
  await page.getByText('It is settled.').nth(1).waitFor();
};

scenarios.what_waits_behind_a_failure_can_be_said = async (context) => {
  const page = await open(context);
  let go;
  const held = new Promise((next) => (go = next));
  await page.route(/\/runs(\?|$)/, async (route) => {
    await held;
    await route.continue();
  });
  for (const text of ['fail please', 'a short one']) {
    await box(page).fill(text);
    await box(page).press('Enter');
  }
  const waiting = page.locator('.queue li', { hasText: 'a short one' });
  await waiting.waitFor();
  go();
  await answers(page).getByText('The answer failed').waitFor();
  // Nothing is said by itself after a failure, and nothing is lost.
  await waiting.getByRole('button', { name: 'Say it now' }).click();
  await page.getByText('A short answer.').waitFor();
  assert.equal(await page.locator('.queue').count(), 0);
  assert.deepEqual(await page.locator('.bubble').allInnerTexts(), ['fail please', 'a short one']);
};

scenarios.an_upload_is_seen_and_may_fail = async (context) => {
  const page = await open(context, '/', { mayFail: true });
  const note = { name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('The deposit is 2,700.') };
  const input = page.locator('input[type=file]');
  let go;
  const held = new Promise((next) => (go = next));
  const uploads = /\/v1\/documents(\?|$)/;
  await page.route(uploads, async (route) => {
    await held;
    await route.continue();
  });
  await input.setInputFiles(note);
  await page.getByRole('progressbar', { name: 'Uploading note.txt' }).waitFor();
  await box(page).fill('have this');
  assert.ok(await page.getByRole('button', { name: 'Send' }).isDisabled(), 'what is under way is not left behind');
  go();
  await page.locator('.chip').getByText('21 bytes').waitFor();
  assert.ok(await page.getByRole('button', { name: 'Send' }).isEnabled());
  await page.unroute(uploads);
  await page.route(uploads, (route) => route.abort());
  await input.setInputFiles({ ...note, name: 'other.txt' });
  await page.locator('.chip').getByRole('alert').getByText('other.txt was not uploaded.').waitFor();
  await page.getByRole('button', { name: 'Remove other.txt' }).click();
  await box(page).press('Enter');
  await page.locator('.question .file', { hasText: 'note.txt' }).waitFor();
  assert.equal(await page.locator('.question .file').count(), 1);
};

scenarios.an_answer_names_its_sources_with_their_pages = async (context) => {
  const page = await open(context);
  const answer = await ask(page, 'what does the agreement say?');
  const source = answer.locator('.sources .source');
  assert.deepEqual((await source.allInnerTexts()).map((text) => text.trim()), ['agreement.pdf · page 2']);
  // Whoever has no mouse reads the passage too.
  const hint = page.locator('.hint');
  await answer.getByRole('button', { name: 'Source 1: agreement.pdf' }).focus();
  await hint.getByText('agreement.pdf · page 2').waitFor();
  await hint.getByText('begins on 1 December 2025 and runs for two years').waitFor();
  await box(page).focus();
  await hint.waitFor({ state: 'hidden' });
  // It stays under the pointer, and goes with Escape alone.
  const cite = answer.getByRole('button', { name: 'Source 1: agreement.pdf' });
  await cite.hover();
  await hint.hover();
  await page.evaluate(() => new Promise((next) => setTimeout(next, 500)));
  assert.equal(await cite.getAttribute('aria-describedby'), await hint.getAttribute('id'));
  await page.keyboard.press('Escape');
  await hint.waitFor({ state: 'detached' });
  assert.equal(await cite.getAttribute('aria-describedby'), null);
  await source.click();
  await page.locator('.pane .leaf[data-page="2"] .area').waitFor();
};

scenarios.what_the_model_makes_stands_once = async (context) => {
  const page = await open(context);
  await ask(page, 'draw it');
  await ask(page, 'hello');
  const files = async () => Promise.all([0, 1].map((at) => answers(page).nth(at).locator('.file').allInnerTexts()));
  const wanted = [[1, /^sketch\.png/], [0]];
  for (const isReloaded of [false, true]) {
    if (isReloaded) {
      await page.reload();
      await settled(page);
    }
    const found = await files();
    found.forEach((names, at) => assert.equal(names.length, wanted[at][0], `${isReloaded ? 'again: ' : ''}${JSON.stringify(found)}`));
    assert.match(found[0][0], wanted[0][1]);
  }
};

scenarios.the_language_is_that_of_the_reader_or_of_the_page = async (context) => {
  const browser = context.browser();
  // Who opens the page of the chat is greeted as their browser asks; in a language that is not there, in English.
  for (const [locale, words] of [['de-DE', 'Was möchten Sie wissen?'], ['ar-EG', undefined], ['nl-NL', 'What would you like to know?']]) {
    const reader = await browser.newContext({ locale });
    const page = await open(reader);
    await page.locator('.empty h2').waitFor();
    words ? await page.getByRole('heading', { name: words }).waitFor() : await page.locator('.shell[dir=rtl][lang=ar]').waitFor();
    await reader.close();
  }
  // Elsewhere it is that of the page around, unless that says something else of the chat.
  const german = await browser.newContext({ locale: 'de-DE' });
  for (const [attribute, words] of [['', 'What would you like to know?'], ['data-language="fr"', undefined]]) {
    const page = await host(german, `<script src="/attache-chat.js" data-mode="popup" data-open ${attribute} defer></script><p>A shop</p>`);
    words ? await page.getByRole('heading', { name: words }).waitFor() : await page.locator('.shell[lang=fr] .empty').waitFor();
  }
  await german.close();
  // Times are written as they are where the reader is.
  for (const [locale, isTwelve] of [['en-GB', false], ['en-US', true]]) {
    const reader = await browser.newContext({ locale });
    const page = await open(reader);
    await ask(page, 'please pay');
    await page.getByRole('alertdialog').getByRole('button', { name: 'Approve', exact: true }).click();
    const told = await page.getByText(/^Pay: Approved by local · /).innerText();
    assert.match(told, isTwelve ? /· \d{1,2}:\d{2}\s[AP]M$/ : /· \d{2}:\d{2}$/, locale);
    await reader.close();
  }
};

scenarios.questions_of_tools_are_answered = async (context) => {
  const page = await open(context, '/', { mayFail: true });
  const card = (name) => page.getByRole('group', { name });
  const called = (count) => page.getByText('It is called.').nth(count - 1).waitFor();
  // One of several answers.
  await ask(page, 'call year {}');
  assert.deepEqual(await card('Which year?').getByRole('button').allInnerTexts(), ['2025', '2026', 'Skip']);
  await card('Which year?').getByRole('button', { name: '2026' }).click();
  await called(1);
  await settled(page);
  // One that the server does not take is said to be wrong, and the question stays.
  await ask(page, 'call amount {}');
  const amount = card('How much?').getByRole('spinbutton', { name: 'Your answer' });
  await amount.fill('11');
  await card('How much?').getByRole('button', { name: 'Answer' }).click();
  const wrong = page.locator('.notice.bad[role=alert]');
  await wrong.waitFor();
  assert.match(await wrong.innerText(), /10/);
  await amount.fill('7.5');
  await amount.press('Enter');
  await called(2);
  await settled(page);
  assert.equal(await wrong.count(), 0);
  // A form sends nothing before it has all that it needs; what was left empty is left out.
  await ask(page, 'call order {}');
  const form = card('What shall be ordered?');
  await form.getByRole('button', { name: 'Answer' }).click();
  assert.ok(await form.getByRole('textbox', { name: 'Article' }).evaluate((field) => field.matches(':invalid')));
  await form.getByRole('textbox', { name: 'Article' }).fill('Stool');
  await form.getByRole('spinbutton', { name: 'Count' }).fill('2');
  await form.getByRole('combobox', { name: 'Size' }).selectOption('large');
  await form.getByRole('checkbox', { name: 'Is gift' }).check();
  await form.getByRole('button', { name: 'Answer' }).click();
  await called(3);
  await settled(page);
  // What was offered is answered, and of the rest what somebody chose, as the schema writes it.
  await ask(page, 'call ticket {}');
  const ticket = card('Which ticket?');
  await ticket.getByRole('button', { name: 'Answer' }).click();
  const colour = ticket.getByRole('combobox', { name: 'Colour' });
  assert.ok(await colour.evaluate((field) => field.matches(':invalid')));
  await colour.selectOption('Green');
  await ticket.getByRole('listbox', { name: 'Tags' }).selectOption(['a', 'c']);
  await ticket.getByRole('combobox', { name: 'Floor' }).selectOption('2');
  // Once, however often it is clicked.
  await ticket.getByRole('button', { name: 'Answer' }).dblclick();
  await called(4);
  await settled(page);
  assert.equal(await wrong.count(), 0);
  const wanted = ['2026', 7.5, { article: 'Stool', count: 2, size: 'large', is_gift: true }, { urgent: true, priority: 'low', colour: '#0f0', tags: ['a', 'c'], floor: 2 }];
  assert.deepEqual((await results(page)).map((result) => result.content), wanted);
  assert.equal(await page.locator('attache-question').count(), 0);
};

scenarios.details_that_are_hidden_are_not_there = async (context) => {
  const page = await open(context);
  const answer = await ask(page, 'what does the lease say?');
  for (const isReloaded of [false, true]) {
    if (isReloaded) {
      await page.reload();
      await settled(page);
    }
    const group = answer.locator('details.group');
    (await group.evaluate((each) => each.open)) || (await group.locator('> summary').click());
    const call = group.locator('details.call', { hasText: 'Lease' });
    await call.locator('summary').click();
    await call.getByText('Details are not shown.').waitFor();
    const written = await page.evaluate(() => document.querySelector('attache-chat').shadowRoot.innerHTML);
    // The year of the arguments, the words of the meter, the file that the tool found.
    assert.doesNotMatch(written, /"year"|does not answer|Arguments|Result|class="value"|class="file"/);
  }
};

scenarios.old_answers_tell_their_cost_once_they_are_seen = async (context) => {
  const page = await host(context, '<script src="/attache-chat.js" data-agent="dear" data-mode="popup" data-open defer></script><p>A shop</p>');
  const wanted = '24,500 tokens in · 1,600 out · €0.0435';
  for (let count = 0; count < 9; count += 1) {
    await ask(page, `a dear one, number ${count}`);
  }
  const asked = [];
  page.on('request', (request) => /\/v1\/runs\/[^/]+$/.test(new URL(request.url()).pathname) && asked.push(request.url()));
  await page.reload();
  const counts = (at) => answers(page).nth(at).locator('.counts').getByText(wanted);
  await counts(8).waitFor();
  // Nobody has seen the first one.
  assert.ok(asked.length < 9, `${asked.length} runs`);
  assert.equal(await counts(0).count(), 0);
  await answers(page).nth(0).scrollIntoViewIfNeeded();
  await counts(0).waitFor();
  for (let at = 1; at < 8; at += 1) {
    await answers(page).nth(at).scrollIntoViewIfNeeded();
    await counts(at).waitFor();
  }
  // Each of them was asked for once, also where another tab has news.
  const told = page.waitForResponse((response) => /\/v1\/sessions\/[^/]+$/.test(new URL(response.url()).pathname));
  await page.evaluate(() => new BroadcastChannel('attache').postMessage({ session: document.querySelector('attache-chat').session }));
  await told;
  // The answers that are in sight are seen anew in the next pictures: what they ask is asked before a request of ours.
  await page.evaluate(async () => {
    await document.querySelector('attache-chat').updateComplete;
    for (let count = 0; count < 3; count += 1) {
      await new Promise(requestAnimationFrame);
    }
    await fetch('/v1/models');
  });
  await counts(0).waitFor();
  assert.equal(asked.length, 9);
  assert.equal(new Set(asked).size, 9);
};

scenarios.a_call_of_an_agent_inside_is_decided = async (context) => {
  const page = await open(context);
  const card = page.getByRole('alertdialog');
  const states = async (answer) => Object.fromEntries(await answer.locator('.call').evaluateAll((all) => all.map((call) => [call.querySelector('.call-name').textContent, call.querySelector('.state').innerText])));
  const approved = await ask(page, 'call clerk {"task": "Pay Ann"}');
  await card.getByText('Ann Smith').waitFor();
  assert.deepEqual(await states(approved), { Clerk: 'Running' });
  await card.getByRole('button', { name: 'Approve', exact: true }).click();
  await approved.getByText('It is called.').waitFor();
  await settled(page);
  await approved.locator('details.group > summary').click();
  assert.deepEqual(await states(approved), { Clerk: 'Done', Pay: 'Done' });
  await page.getByText(/^Pay: Approved by local/).waitFor();
  // After a reload the question is there again, and its call comes to its own end, too.
  const denied = await ask(page, 'call clerk {"task": "Pay Ann again"}');
  await page.reload();
  await card.getByText('Ann Smith').waitFor();
  await card.getByRole('button', { name: 'Deny' }).click();
  await card.getByRole('button', { name: 'Deny' }).click();
  await denied.getByText('It is called.').waitFor();
  await settled(page);
  await denied.locator('details.group > summary').click();
  assert.deepEqual(await states(denied), { Clerk: 'Done', Pay: 'Denied' });
};
