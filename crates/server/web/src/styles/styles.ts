// All styles of the chat. They are constructed style sheets, so that a page may forbid inline styles.
import { unsafeCSS } from 'lit';
import controls from './controls.css';
import layout from './layout.css';
import messages from './messages.css';
import reading from './reading.css';
import tokens from './tokens.css';

export const styles = unsafeCSS(tokens + controls + layout + messages + reading);
