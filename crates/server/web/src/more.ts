// The parts of the chat that nobody sees at first: documents, decisions, settings, tools of the browser.
import './parts/approval.ts';
import './parts/dialogs.ts';
import './parts/pane.ts';
import './parts/thumb.ts';

export { offers } from './state/browser.ts';
