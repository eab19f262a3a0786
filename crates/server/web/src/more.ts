// The parts of the chat that nobody sees at first: documents, decisions, settings, tools of the browser.
import './parts/approval.ts';
import './parts/call-body.ts';
import './parts/dialogs.ts';
import './parts/pane.ts';
import './parts/sessions.ts';
import './parts/thumb.ts';
import later from './styles/later.css';

const sheet = new CSSStyleSheet();
sheet.replaceSync(later);

/** The styles of all that. */
export { sheet as later };
export { offers } from './state/browser.ts';
