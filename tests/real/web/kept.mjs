// Scenarios of things that must not be lost on the way: words, files, decisions, and the place of whoever uses the keyboard.
import assert from 'node:assert/strict';
import { answers, api, ask, box, host, open, picture, results, session, settled, shown, word } from './page.mjs';

export const kept = {};
const scenarios = kept;

/** Says something without waiting for what becomes of it. */
const say = async (page, text) => {
  await box(page).fill(text);
  await box(page).press('Enter');
};
const queued = (page, text) => page.locator('.queue li', { hasText: text });
const bubbles = (page) => page.locator('.bubble').allInnerTexts();
/** Waits until what has the focus fits. */
const focused = (page, selector) =>
  page.waitForFunction((selector) => document.querySelector('attache-chat').shadowRoot.activeElement?.matches(selector), selector);

scenarios.a_question_beside_an_approval_or_another_tab_waits = async (context) => {
  const first = await open(context, '/', { mayFail: true });
  await ask(first, 'please pay');
  await say(first, 'a short one');
  await queued(first, 'a short one').waitFor();
  assert.equal(await queued(first, 'a short one').getByRole('button', { name: 'Say it now' }).count(), 0);
  await picture(first, 'beside-an-approval');
  await first.reload();
  await queued(first, 'a short one').waitFor();
  await first.getByRole('alertdialog').getByRole('button', { name: 'Approve', exact: true }).click();
  await first.getByText('It is settled.').waitFor();
  await first.getByText('A short answer.').waitFor();
  assert.deepEqual(await bubbles(first), ['please pay', 'a short one']);
  // A tab that hears nothing of the other ones, as in another browser.
  await context.addInitScript(() => delete window.BroadcastChannel);
  const second = await open(context, `/#/s/${await session(first)}`, { mayFail: true });
  await second.getByText('A short answer.').waitFor();
  await ask(first, 'word by word, steadily', { ends: false });
  await answers(first).nth(2).getByText(word(1)).waitFor();
  await say(second, 'the lease');
  // It sees what is under way, and its own question comes behind that.
  await queued(second, 'the lease').waitFor();
  await answers(second).nth(2).getByText(word(9)).waitFor();
  await second.getByText('The lease says').waitFor();
  assert.deepEqual(await bubbles(second), ['please pay', 'a short one', 'word by word, steadily', 'the lease']);
};

scenarios.a_first_question_that_did_not_arrive_is_asked_again = async (context) => {
  const page = await open(context, '/', { mayFail: true });
  await page.route(/\/runs(\?|$)/, (route) => route.fulfill({ status: 502, body: 'no way' }), { times: 1 });
  const answer = await ask(page, 'a short one');
  await answer.getByText('The answer failed').waitFor();
  await answer.getByRole('button', { name: /Ask again/ }).click();
  await page.getByText('A short answer.').waitFor();
  assert.deepEqual(await bubbles(page), ['a short one']);
  assert.equal(await page.getByRole('alert').count(), 0);
};

scenarios.files_stay_until_they_are_sent = async (context) => {
  const page = await open(context, '/', { mayFail: true });
  const chips = page.locator('.chip');
  const attach = (name, size) => page.locator('attache-composer input[type=file]').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.alloc(size, 'a') });
  await attach('large.txt', 100_001);
  await chips.getByText('large.txt is larger than').waitFor();
  await attach('note.txt', 10);
  await chips.nth(1).getByText('10 bytes').waitFor();
  await ask(page, 'cut short');
  assert.equal(await page.locator('.question .file').count(), 1);
  // What was not sent is still there to be seen.
  assert.deepEqual(await chips.locator('.file-name').allInnerTexts(), ['large.txt']);
  await attach('later.txt', 10);
  await chips.nth(1).getByText('10 bytes').waitFor();
  await page.getByRole('button', { name: 'Continue the answer' }).click();
  await page.locator('.bubble', { hasText: 'Please continue.' }).waitFor();
  await settled(page);
  assert.deepEqual(await chips.locator('.file-name').allInnerTexts(), ['large.txt', 'later.txt']);
  // A page hears that a file was not taken, and nothing is said without it.
  const told = await page.evaluate(() =>
    window.attache.send('with a file', [new File([new Uint8Array(100_001)], 'huge.txt', { type: 'text/plain' })]).then(() => 'said', (error) => error.message));
  assert.match(told, /^huge\.txt is larger than/);
  assert.equal((await bubbles(page)).includes('with a file'), false);
  // Files belong to the conversation to which they were attached.
  await page.keyboard.press('Control+Shift+O');
  await page.getByText('What would you like to know?').waitFor();
  assert.equal(await chips.count(), 0);
};

scenarios.a_question_of_a_tool_is_skipped_or_ended = async (context) => {
  const page = await open(context);
  const card = page.getByRole('group', { name: 'Which year?' });
  await ask(page, 'call year {}');
  await card.waitFor();
  // Whoever may be writing stays in the box.
  await focused(page, 'attache-composer textarea');
  await picture(page, 'question-of-a-tool');
  await card.getByRole('button', { name: 'Skip' }).click();
  await page.getByText('It is called.').waitFor();
  assert.equal((await results(page)).at(-1).isError, true);
  await ask(page, 'call year {}');
  await card.waitFor();
  await ask(page, 'a short one');
  await page.getByText('A short answer.').waitFor();
  assert.equal(await card.count(), 0);
};

scenarios.a_deleted_chat_does_not_come_back = async (context) => {
  const page = await open(context);
  await ask(page, 'a short one');
  const question = page.locator('.question').first();
  await question.getByRole('button', { name: 'Edit' }).click();
  await question.getByRole('textbox').fill('another short one');
  await question.getByRole('textbox').press('Enter');
  await page.locator('.versions').getByText('2 of 2').waitFor();
  await settled(page);
  assert.equal((await api('/v1/sessions')).total, 2);
  const row = page.getByRole('navigation', { name: 'Chats' }).locator('.session');
  await row.hover();
  await row.getByRole('button', { name: /^Delete/ }).click();
  await row.waitFor({ state: 'detached' });
  // A page that goes away does not wait for the time in which it can be taken back.
  await page.goto('about:blank');
  for (let at = 0; at < 100 && (await api('/v1/sessions')).total > 0; at += 1) {
    await new Promise((next) => setTimeout(next, 50));
  }
  assert.equal((await api('/v1/sessions')).total, 0);
};

scenarios.what_is_written_after_a_deletion_is_of_a_new_chat = async (context) => {
  const page = await open(context);
  const row = page.getByRole('navigation', { name: 'Chats' }).locator('.session');
  const remove = async () => {
    await row.hover();
    await row.getByRole('button', { name: /^Delete/ }).click();
    await row.waitFor({ state: 'detached' });
  };
  await ask(page, 'a short one');
  await remove();
  await page.getByText('What would you like to know?').waitFor();
  await focused(page, 'attache-composer textarea');
  await page.keyboard.type('the lease');
  for (let at = 0; at < 200 && (await api('/v1/sessions')).total > 0; at += 1) {
    await new Promise((next) => setTimeout(next, 50));
  }
  assert.equal((await api('/v1/sessions')).total, 0);
  await page.getByRole('button', { name: 'Undo' }).waitFor({ state: 'detached' });
  assert.equal(await box(page).inputValue(), 'the lease');
  await box(page).press('Enter');
  await page.getByText('The lease says').waitFor();
  await settled(page);
  // One that is taken back is there again, and open as it was.
  await remove();
  await page.getByRole('button', { name: 'Undo' }).click();
  await page.getByText('The lease says').waitFor();
};

scenarios.the_focus_stays_in_the_chat = async (context) => {
  const page = await open(context);
  const inBox = () => focused(page, 'attache-composer textarea');
  const card = page.getByRole('alertdialog');
  for (const [at, decide] of [
    () => card.getByRole('button', { name: 'Approve', exact: true }).press('Enter'),
    () => page.keyboard.press('a'),
    async () => {
      await page.keyboard.press('d');
      await page.keyboard.type('too much');
      await card.getByRole('button', { name: 'Deny' }).press('Enter');
    },
    () => card.getByRole('button', { name: 'Always in this chat' }).press('Enter'),
  ].entries()) {
    await ask(page, 'please pay');
    await card.focus();
    await decide();
    await inBox();
    await page.getByText('It is settled.').nth(at).waitFor();
    await settled(page);
    await inBox();
  }
  // A message that is written anew, or not.
  const edit = page.locator('.question').last();
  await edit.getByRole('button', { name: 'Edit' }).press('Enter');
  await edit.getByRole('button', { name: 'Cancel' }).press('Enter');
  await inBox();
  // A file that is taken out.
  await page.locator('attache-composer input[type=file]').setInputFiles({ name: 'note.txt', mimeType: 'text/plain', buffer: Buffer.from('a') });
  await page.locator('.chip').getByRole('button', { name: 'Remove note.txt' }).press('Enter');
  await inBox();
  // A line that waits is taken out.
  await ask(page, 'word by word, slowly', { ends: false });
  await say(page, 'a short one');
  await queued(page, 'a short one').getByRole('button', { name: 'Remove a short one' }).press('Enter');
  await inBox();
  await page.getByRole('button', { name: 'Stop' }).press('Enter');
  await settled(page);
  await inBox();
  // The list of chats.
  const list = page.getByRole('navigation', { name: 'Chats' });
  await list.locator('.session').getByRole('button', { name: /^Rename/ }).press('Enter');
  await list.getByRole('textbox', { name: 'Rename the chat' }).fill('Bills');
  await list.getByRole('textbox', { name: 'Rename the chat' }).press('Enter');
  await inBox();
  await list.locator('.session').getByRole('button', { name: /^Delete/ }).press('Enter');
  await inBox();
  await page.setViewportSize({ width: 390, height: 800 });
  await page.getByRole('button', { name: 'Chats' }).press('Enter');
  await list.getByRole('button', { name: 'Close' }).press('Enter');
  await inBox();
  // Whoever goes away goes, and is not called back by an element of the chat that goes later.
  await page.setViewportSize({ width: 1280, height: 800 });
  await ask(page, 'word by word, slowly', { ends: false });
  const stop = page.getByRole('button', { name: 'Stop' });
  await stop.focus();
  const place = await page.evaluateHandle(() => {
    const place = document.body.appendChild(document.createElement('button'));
    place.focus();
    return place;
  });
  // The time in which the chat looks where the focus went.
  await page.evaluate(() => new Promise((next) => setTimeout(next)));
  await stop.evaluate((stop) => stop.click());
  await stop.waitFor({ state: 'detached' });
  await place.evaluate((place) => place.remove());
  // An element of the chat goes, after which it looks again.
  await page.evaluate(async () => {
    const root = document.querySelector('attache-chat').shadowRoot;
    root.querySelector('.shell').appendChild(document.createElement('i')).remove();
    await new Promise((next) => setTimeout(next, 0));
    await new Promise((next) => setTimeout(next, 0));
  });
  assert.equal(await page.evaluate(() => document.querySelector('attache-chat').shadowRoot.activeElement), null);
};

scenarios.a_call_that_is_open_stays_so_beside_another_one = async (context) => {
  const page = await open(context);
  const answer = await ask(page, 'one by one', { ends: false });
  const call = answer.locator('details.call', { hasText: 'Archive' });
  await call.locator('summary').click();
  await call.evaluate((call) => (call.isSame = true));
  await answer.locator('details.group').waitFor();
  assert.ok(await call.evaluate((call) => call.isSame && call.open && call.parentElement.closest('details').open));
  await focused(page, 'details.call > summary');
  await settled(page);
  assert.ok(await call.isVisible());
};

scenarios.a_letter_that_is_being_written_decides_nothing = async (context) => {
  const page = await open(context);
  await ask(page, 'a short one');
  const card = page.getByRole('alertdialog');
  const pays = (text) => page.evaluate((text) => void window.attache.send(text), text);
  const search = page.getByRole('searchbox');
  await search.focus();
  await pays('please pay');
  await card.waitFor();
  await page.keyboard.type('ad');
  assert.equal(await search.inputValue(), 'ad');
  await card.focus();
  await page.keyboard.press('a');
  await page.getByText('It is settled.').waitFor();
  await settled(page);
  // A letter that was on its way when the card took the focus is not meant for it.
  await page.evaluate(() => {
    const root = document.querySelector('attache-chat').shadowRoot;
    root.querySelector('.log').focus();
    root.addEventListener('focusin', ({ target }) => {
      window.took = target.matches('.approval');
      queueMicrotask(() => target.dispatchEvent(new KeyboardEvent('keydown', { key: 'a', bubbles: true })));
    }, { once: true });
  });
  await pays('pay again');
  await page.waitForFunction(() => window.took);
  await card.waitFor();
  assert.equal((await api('/v1/approvals')).approvals.length, 1);
  // A moment later it is.
  for (let at = 0; at < 100 && (await card.count()) > 0; at += 1) {
    await page.keyboard.press('a');
    await new Promise((next) => setTimeout(next, 50));
  }
  await page.getByText('It is settled.').nth(1).waitFor();
  await settled(page);
  // Of two cards the first one has the focus.
  await page.getByRole('log').focus();
  await pays('pay both');
  await card.nth(1).waitFor();
  assert.ok(await card.first().evaluate((card) => card.getRootNode().activeElement === card));
};

scenarios.words_and_files_that_were_not_taken_stay = async (context) => {
  const page = await open(context, '/', { mayFail: true });
  await ask(page, 'a short one');
  const question = page.locator('.question');
  // A message that could not be written anew is still being written.
  await page.route(/\/fork(\?|$)/, (route) => route.fulfill({ status: 503, body: 'no way' }), { times: 2 });
  await question.getByRole('button', { name: 'Edit' }).click();
  const editor = question.getByRole('textbox');
  await editor.fill('another short one');
  for (const _ of ['first', 'again']) {
    const refused = page.waitForResponse(/\/fork(\?|$)/);
    await editor.press('Enter');
    await refused;
    await page.getByRole('alert').waitFor();
    await editor.waitFor();
    assert.equal(await editor.inputValue(), 'another short one');
  }
  await editor.press('Enter');
  await page.locator('.versions').getByText('2 of 2').waitFor();
  await settled(page);
  // The page sends its own files, and not those of the user.
  const names = page.locator('.chip .file-name');
  await page.locator('attache-composer input[type=file]').setInputFiles({ name: 'mine.txt', mimeType: 'text/plain', buffer: Buffer.from('a') });
  await page.locator('.chip .muted').waitFor();
  const send = (size, name) => page.evaluate(([size, name]) =>
    window.attache.send('with a file', [new File([new Uint8Array(size).fill(97)], name, { type: 'text/plain' })]).then(() => 'said', (error) => error.message), [size, name]);
  assert.match(await send(100_001, 'huge.txt'), /^huge\.txt is larger than/);
  assert.deepEqual(await names.allInnerTexts(), ['mine.txt']);
  assert.equal(await send(10, 'theirs.txt'), 'said');
  await question.nth(1).getByText('theirs.txt').waitFor();
  assert.equal(await question.nth(1).locator('.file').count(), 1);
  assert.deepEqual(await names.allInnerTexts(), ['mine.txt']);
};

scenarios.words_of_a_chat_that_was_left_are_there_again = async (context) => {
  const page = await open(context, '/', { mayFail: true });
  await ask(page, 'a short one');
  const leave = async () => {
    await page.keyboard.press('Control+Shift+O');
    await page.getByText('What would you like to know?').waitFor();
  };
  const comeBack = () => page.getByRole('navigation', { name: 'Chats' }).locator('.session-title').click();
  // A message that could not be written anew, which was known too late.
  let fail = () => undefined;
  await page.route(/\/fork(\?|$)/, (route) => new Promise((failed) => {
    fail = () => route.fulfill({ status: 503, body: 'no way' }).then(failed);
  }), { times: 1 });
  const question = page.locator('.question');
  await question.getByRole('button', { name: 'Edit' }).click();
  await question.getByRole('textbox').fill('another short one');
  const asked = page.waitForRequest(/\/fork(\?|$)/);
  await question.getByRole('textbox').press('Enter');
  await asked;
  await leave();
  await fail();
  await comeBack();
  await question.getByRole('textbox').waitFor();
  assert.equal(await question.getByRole('textbox').inputValue(), 'another short one');
  await picture(page, 'written-anew-too-late');
  await page.keyboard.press('Escape');
  // A question that failed.
  await page.route(/\/runs(\?|$)/, (route) => route.fulfill({ status: 502, body: 'no way' }), { times: 1 });
  const answer = await ask(page, 'the lease');
  await answer.getByText('The answer failed').waitFor();
  await leave();
  assert.equal(await page.locator('.queue li').count(), 0);
  await comeBack();
  await queued(page, 'the lease').getByRole('button', { name: 'Say it now' }).click();
  await page.getByText('The lease says').waitFor();
  assert.deepEqual(await bubbles(page), ['a short one', 'the lease']);
};

scenarios.drafts_belong_to_their_chats = async (context) => {
  const page = await open(context);
  await ask(page, 'a short one');
  const list = page.getByRole('navigation', { name: 'Chats' });
  await page.keyboard.press('Control+Shift+O');
  await page.getByText('What would you like to know?').waitFor();
  await box(page).fill('of the new chat');
  await list.locator('.session-title').click();
  await page.getByText('A short answer.').waitFor();
  assert.equal(await box(page).inputValue(), '');
  // What is being written stays where the conversation gets another version.
  await box(page).fill('of this chat');
  await answers(page).getByRole('button', { name: 'Answer again' }).click();
  await page.locator('.versions').getByText('2 of 2').waitFor();
  await settled(page);
  assert.equal(await box(page).inputValue(), 'of this chat');
  await page.keyboard.press('Control+Shift+O');
  await page.getByText('What would you like to know?').waitFor();
  assert.equal(await box(page).inputValue(), 'of the new chat');
};

scenarios.words_that_are_typed_before_the_list_has_come_are_looked_for = async (context) => {
  const page = await open(context);
  await ask(page, 'the lease');
  await page.keyboard.press('Control+Shift+O');
  await page.getByText('What would you like to know?').waitFor();
  await ask(page, 'a short one');
  /** Reloads a page, which is told nothing of its chats for now. */
  const reload = async (page) => {
    let come;
    const isThere = new Promise((next) => (come = next));
    await page.route(/\/v1\/sessions/, (route) => isThere.then(() => route.continue()));
    await page.reload();
    return come;
  };
  const come = await reload(page);
  const list = page.getByRole('navigation', { name: 'Chats' });
  const search = list.getByRole('searchbox');
  await search.click();
  await page.keyboard.type('short');
  come();
  await page.getByText('A short answer.').waitFor();
  await shown(page);
  await page.keyboard.type(' one');
  assert.deepEqual([await search.inputValue(), await box(page).inputValue()], ['short one', '']);
  await page.waitForFunction(() => document.querySelector('attache-chat').shadowRoot.querySelectorAll('.session').length === 1);
  await list.locator('.session').getByText('a short one').waitFor();
  // A page around the chat has fields of its own.
  const shop = await host(context, '<input aria-label="Goods"><script src="/attache-chat.js" data-mode="inline" defer></script>');
  await ask(shop, 'a short one');
  const comeBack = await reload(shop);
  const goods = shop.getByLabel('Goods');
  await goods.click();
  await shop.keyboard.type('two');
  comeBack();
  await shop.getByText('A short answer.').waitFor();
  await shown(shop);
  await shop.keyboard.type(' stools');
  // The page shows another chat, too.
  const chat = shop.locator('attache-chat');
  await chat.evaluate((chat) => chat.newSession());
  await shop.getByText('What would you like to know?').waitFor();
  await shown(shop);
  await shop.keyboard.type(' and a table');
  assert.equal(await goods.inputValue(), 'two stools and a table');
  // A key that begins one, and a button that shows one, go to the box from any place in the chat.
  await search.click();
  await page.keyboard.press('Control+Shift+O');
  await page.getByText('What would you like to know?').waitFor();
  await shown(page);
  await page.keyboard.type('by key');
  assert.equal(await box(page).inputValue(), 'by key');
  await list.locator('.session-title').first().click();
  await page.getByText('A short answer.').waitFor();
  await shown(page);
  await page.keyboard.type('by button');
  assert.equal(await box(page).inputValue(), 'by button');
};

scenarios.files_of_other_encodings_are_shown_as_they_are = async (context) => {
  const page = await open(context, '/', { mayFail: true });
  const files = [
    { name: 'old.txt', mimeType: 'text/plain', buffer: Buffer.from('Der M\u00fcll kostet viel. F\u00fcr alle W\u00f6rter gilt das gr\u00fcne Ger\u00e4t.', 'latin1') },
    { name: 'new.txt', mimeType: 'text/plain', buffer: Buffer.from('Der M\u00fcll kostet wenig.') },
    { name: 'old.csv', mimeType: 'text/csv', buffer: Buffer.from('Ort;Preis\nK\u00f6ln;5\n', 'latin1') },
    { name: 'wide.csv', mimeType: 'text/csv', buffer: Buffer.from('\ufeffOrt;Preis\nK\u00f6ln;6\n', 'utf16le') },
  ];
  await page.locator('attache-composer input[type=file]').setInputFiles(files);
  await page.locator('.chip .muted').nth(3).waitFor();
  await ask(page, 'a short one');
  const pane = page.getByRole('complementary', { name: 'Document' });
  for (const [name, words] of [['old.txt', 'Der M\u00fcll kostet viel'], ['new.txt', 'Der M\u00fcll kostet wenig'], ['old.csv', 'K\u00f6ln'], ['wide.csv', 'K\u00f6ln']]) {
    await page.locator('.question .file').getByText(name).click();
    await pane.getByRole('heading', { name }).waitFor();
    await pane.locator('.pane-body').getByText(words).waitFor();
  }
  // A download that fails is told.
  await page.route(/\/v1\/(sessions|documents)\//, (route) => route.fulfill({ status: 503, json: { error: { message: 'the store is away', code: 'unavailable' } } }));
  await pane.getByRole('button', { name: 'Download' }).click();
  await page.getByRole('alert').getByText('the store is away').waitFor();
};
