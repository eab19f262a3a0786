// The parts of the chat that nobody sees at first: documents, decisions, settings, tools of the browser.
import './parts/approval.ts';
import './parts/call-body.ts';
import './parts/dialogs.ts';
import { PATHS } from './parts/icons.ts';
import { pictures } from './parts/later-icons.ts';
import './parts/pane.ts';
import './parts/sessions.ts';
import './parts/thumb.ts';
import sheetOfLater from './styles/later.css';
import sheetOfList from './styles/list.css';
import sheetOfWriting from './styles/writing.css';
import { en } from './words/en.ts';
import { later as words } from './words/later.ts';

Object.assign(en, words);
Object.assign(PATHS, pictures);

const sheet = new CSSStyleSheet();
sheet.replaceSync(sheetOfList + sheetOfWriting + sheetOfLater);

/** The styles of all that. */
export { sheet as later };
export { hint } from './parts/hint.ts';
export { offers } from './state/browser.ts';
